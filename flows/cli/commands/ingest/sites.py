"""Commands that ingest the contests of sites, and parse their archived responses again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from ...terminal.parameters import DATASET, LakeAddress
from ...terminal.terminal import lake_option, print_wait, progress, rewrite_option, steal_option, usage
from .output import ingest_requested, print_report

__all__ = [
    "ingest_atcoder",
    "ingest_codeforces",
    "ingest_codeforces_teams",
    "ingest_ctftime",
    "ingest_dmoj",
    "ingest_lichess",
    "ingest_topcoder",
    "normalise",
]


def site_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options of all sites."""
    for option in reversed(_SITE_OPTIONS):
        command = option(command)
    return command


_SITE_OPTIONS = (
    click.option("--dataset", type=DATASET, help="Name of the data set; by default the site's."),
    click.option("--since", metavar="TIME", help="Request only contests that ended then or later; older ones stay."),
    click.option("--base-url", metavar="URL", help="Address of a mirror of the site."),
    click.option("--again", is_flag=True, help="Request stored contests again. By default a contest is requested again "
                 "when its age has doubled, in its first thirty days."),
    steal_option,
    lake_option,
)  # fmt: skip


@click.command("codeforces", short_help="Ingest the rated rounds of Codeforces.")
@site_options
def ingest_codeforces(**choices: Any) -> None:
    """Ingest the rated rounds of Codeforces.

    The first call requests every contest, one every two seconds, which takes about an hour. After an interrupt, the
    same command continues. Rounds of teams are left out, see `ingest codeforces-teams`.
    """
    _ingest_site("codeforces", **choices)


@click.command("codeforces-teams", short_help="Ingest the rounds of teams of Codeforces.")
@site_options
def ingest_codeforces_teams(**choices: Any) -> None:
    """Ingest the rounds of Codeforces in which teams took places: 17 rounds of the years 2015 to 2018.

    With --dataset codeforces they are in one data set with the other rounds. Only systems with a rule for teams rate
    it.
    """
    _ingest_site("codeforces-teams", **choices)


@click.command("ctftime", short_help="Ingest the events of CTFtime.")
@site_options
def ingest_ctftime(**choices: Any) -> None:
    """Ingest the events of CTFtime: the results of each year, and the names of teams, 300 a request.

    Teams are identified by their ids. If teams have the same name, the id is appended to all but the first.
    """
    _ingest_site("ctftime", **choices)


@click.command("topcoder", short_help="Ingest the rounds of TopCoder from its closed data feed.")
@site_options
def ingest_topcoder(**choices: Any) -> None:
    """Ingest the rounds of TopCoder from the files of its data feed, which is closed.

    --base-url is the folder or address of dd_round_list.xml and dd_round_results_rd=ROUND.xml. Each division of a
    round is a contest.
    """
    _ingest_site("topcoder", **choices)


@click.command("atcoder", short_help="Ingest the rated contests of AtCoder.")
@site_options
def ingest_atcoder(**choices: Any) -> None:
    """Ingest the rated contests of AtCoder, without marathons (AHC)."""
    _ingest_site("atcoder", **choices)


@click.command("dmoj", short_help="Ingest the rated contests of DMOJ or a similar site.")
@site_options
def ingest_dmoj(**choices: Any) -> None:
    """Ingest the rated contests of DMOJ, or of another site with its software (--base-url)."""
    _ingest_site("dmoj", **choices)


@click.command("lichess", short_help="Ingest tournaments of lichess.")
@click.option("--team", "teams", multiple=True, metavar="ID", help="Tournaments of this team; repeatable.")
@click.option("--arena", "arenas", multiple=True, metavar="ID", help="This arena; repeatable.")
@click.option("--swiss", "swisses", multiple=True, metavar="ID", help="This swiss tournament; repeatable.")
@site_options
def ingest_lichess(**choices: Any) -> None:
    """Ingest the named tournaments of lichess; without names, arenas that ended recently.

    The environment variable RANKLAKE_LICHESS_TOKEN may have an access token.
    """
    _ingest_site("lichess", **choices)


@click.command()
@click.option("--source", required=True, help="Name of the site, as in `ranklake ingest`.")
@click.option("--dataset", type=DATASET, help="Name of the data set; by default the site's.")
@rewrite_option
@steal_option
@lake_option
def normalise(source: str, dataset: str | None, rewrite: bool, steal: bool, lake: LakeAddress) -> None:
    """Parse all stored responses of a site again and bring the data set up to date; no request is sent."""
    from ....ingestion.sites import normalise_source
    from ....sources.sites.site import find_site

    with usage():
        find_site(source)
    with progress("reading", "responses") as update:
        how: dict[str, Any] = {"rewrite": rewrite, "steal": steal, "on_progress": update, "on_wait": print_wait}
        report = normalise_source(lake.open(), source, dataset, **how)
    print_report(report)


def _ingest_site(
    source: str, *, lake: LakeAddress, dataset: str | None, since: str | None, steal: bool, **where: Any
) -> None:
    """Bring a data set up to date with a site, and print the counts."""
    from ....common.times import parse_time
    from ....ingestion.source_update import SourceRequest

    with usage():
        if since is not None:
            parse_time(since, "--since")
        address, again = where.pop("base_url"), where.pop("again")
        request = SourceRequest(source, dataset or source, since, address, again=again, choices=where)
    ingest_requested(lake, request, source, "responses", steal=steal)
