"""Commands that ingest the contests of sites, and parse their archived responses again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import click

from ...terminal.options import DATASET, LakeAddress, lake_option, steal_option, usage, writing_options
from .output import ingesting, print_report

_SITE_OPTIONS = (
    click.option("--dataset", type=DATASET, help="Name of the data set; by default the site's."),
    click.option("--since", metavar="TIME", help="Request only contests that ended then or later; older ones stay."),
    click.option("--base-url", metavar="URL", help="Address of a mirror of the site."),
    click.option("--again", is_flag=True, help="Request stored contests again. By default a contest is requested again "
                 "when its age has doubled, in its first thirty days."),
    steal_option,
    lake_option,
)  # fmt: skip


_SITES = {
    "codeforces": (
        "Ingest the rated rounds of Codeforces.",
        "Ingest the rated rounds of Codeforces.\n\n"
        "The first call requests every contest, one every two seconds, which takes about an hour. After an "
        "interrupt, the same command continues. Rounds of teams are left out, see `ingest codeforces-teams`.",
    ),
    "codeforces-teams": (
        "Ingest the rounds of teams of Codeforces.",
        "Ingest the rounds of Codeforces in which teams took places: 17 rounds of the years 2015 to 2018.\n\n"
        "With --dataset codeforces they are in one data set with the other rounds. Only systems with a rule "
        "for teams rate it.",
    ),
    "ctftime": (
        "Ingest the events of CTFtime.",
        "Ingest the events of CTFtime: the results of each year, and the names of teams, 300 a request.\n\n"
        "Teams are identified by their ids. If teams have the same name, the id is appended to all but the "
        "first.",
    ),
    "topcoder": (
        "Ingest the rounds of TopCoder from its closed data feed.",
        "Ingest the rounds of TopCoder from the files of its data feed, which is closed.\n\n"
        "--base-url is the folder or address of dd_round_list.xml and dd_round_results_rd=ROUND.xml. Each "
        "division of a round is a contest.",
    ),
    "atcoder": (
        "Ingest the rated contests of AtCoder.",
        "Ingest the rated contests of AtCoder, without marathons (AHC).",
    ),
    "dmoj": (
        "Ingest the rated contests of DMOJ or a similar site.",
        "Ingest the rated contests of DMOJ, or of another site with its software (--base-url).",
    ),
    "lichess": (
        "Ingest tournaments of lichess.",
        "Ingest the named tournaments of lichess; without names, arenas that ended recently.\n\n"
        "The environment variable RANKLAKE_LICHESS_TOKEN may have an access token.",
    ),
}  # short help, help
_OF_CODEFORCES = (
    click.option("--results", is_flag=True, help="Request the standings of each rated round, too, for the results "
                 "of its problems: one more request a round."),
)  # fmt: skip
_OF_LICHESS = (
    click.option("--team", "teams", multiple=True, metavar="ID", help="Tournaments of this team; repeatable."),
    click.option("--arena", "arenas", multiple=True, metavar="ID", help="This arena; repeatable."),
    click.option("--swiss", "swisses", multiple=True, metavar="ID", help="This swiss tournament; repeatable."),
)
_OF_SITE = {"codeforces": _OF_CODEFORCES, "lichess": _OF_LICHESS}


def site_commands() -> Iterator[click.Command]:
    """The commands that ingest the contests of a site."""
    for name, (short, text) in _SITES.items():
        command: Callable[..., None] = partial(_ingest_site, name)
        for option in reversed((*_OF_SITE.get(name, ()), *_SITE_OPTIONS)):
            command = option(command)
        yield click.command(name, short_help=short, help=text)(command)


@click.command()
@click.option("--source", required=True, help="Name of the site, as in `ranklake ingest`.")
@click.option("--dataset", type=DATASET, help="Name of the data set; by default the site's.")
@writing_options
@lake_option
def normalise(source: str, dataset: str | None, writing: dict[str, Any], lake: LakeAddress) -> None:
    """Parse all stored responses of a site again and bring the data set up to date; no request is sent."""
    from ....ingestion.sites import normalise_source
    from ....sources.sites.site import find_site

    with usage():
        find_site(source)
    with ingesting("reading", "responses", **writing) as how:
        report = normalise_source(lake.open(), source, dataset, how)
    print_report(report)


def _ingest_site(
    source: str, *, lake: LakeAddress, dataset: str | None, since: str | None, steal: bool, **where: Any
) -> None:
    """Bring a data set up to date with a site, and print the counts."""
    from ....common.times import parse_time
    from ....ingestion.source_update import SourceRequest, update

    with usage():
        if since is not None:
            parse_time(since, "--since")
        address, again = where.pop("base_url"), where.pop("again")
        request = SourceRequest(source, dataset or source, since, address, again=again, choices=where)
    with ingesting(source, "responses", steal=steal) as how:
        report = update(lake.open(create=True), request, how)
    print_report(report)


@click.command("kaggle", short_help="Ingest the competitions of Kaggle from files.")
@click.option("--base-url", required=True, metavar="FOLDER", help="Folder of Competitions.csv, Teams.csv, "
              "TeamMemberships.csv and Users.csv.")  # fmt: skip
@click.option("--dataset", type=DATASET, default="kaggle", show_default=True, help="Name of the data set.")
@click.option("--since", metavar="TIME", help="Only competitions that ended at this time or later; older ones stay.")
@steal_option
@lake_option
def ingest_kaggle(base_url: str, dataset: str, since: str | None, steal: bool, lake: LakeAddress) -> None:
    """Ingest the competitions of Kaggle from the files of the "Meta Kaggle" set.

    The ranks are those of the private leaderboard; every member of a team has the rank of the team.
    """
    from pathlib import Path

    from ....common.times import parse_time
    from ....ingestion.files import KAGGLE, ingest_kaggle
    from ....ingestion.report import SourceReport

    with usage():
        if since is not None:
            parse_time(since, "--since")
        if not Path(base_url).is_dir():
            raise ValueError(f"--base-url must be a folder, got {base_url!r}")
    with ingesting("kaggle", steal=steal) as how:
        report = ingest_kaggle(lake.open(create=True), base_url, SourceReport(KAGGLE, dataset), since, how)
    print_report(report)
