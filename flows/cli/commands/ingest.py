"""Commands that ingest contests from files, databases, a generator and sites."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import click

from ..terminal.file_options import (
    contest_options,
    query_options,
    query_text,
    read_options,
    result_options,
    table_options,
)
from ..terminal.parameters import DATASET, LakeAddress
from ..terminal.terminal import (
    dataset_option,
    lake_option,
    print_line,
    print_wait,
    progress,
    rewrite_option,
    steal_option,
    usage,
)

if TYPE_CHECKING:
    from ranklake.storage import Contest
    from ranklake.storage.datasets.ingest import IngestOrder

    from ...ingestion.report import SourceReport
    from ...sources.base import IngestReport

__all__ = ["ingest", "normalise"]


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


@click.group()
def ingest() -> None:
    """Ingest contests into the lake; unchanged contests are not written again."""


def file_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options that `ingest files` and `follow` share for reading files."""
    return table_options(contest_options(command))


@ingest.command("files", short_help="Ingest contests from tables, folders and archives.")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@dataset_option
@lake_option
@file_options
@rewrite_option
@steal_option
def ingest_files(
    paths: tuple[str, ...],
    dataset: str,
    lake: LakeAddress,
    mirror: bool,
    rewrite: bool,
    steal: bool,
    **choices: Any,
) -> None:
    """Ingest contests from PATH, which is one of

    \b
      results.csv     a table, one row a participation (.csv .tsv .jsonl
                      .json .parquet; all but the last also as .gz .bz2
                      .zst .xz)
      results/*.csv   several tables as one
      results/        a folder of tables, or of contests N.json
      archive.tar.xz  an archive of contests N.json (.tar .tar.gz .zip)
      -               a table from standard input

    A table needs the columns contest, player and one of rank (1 is best),
    score (higher is better), or lo and hi (first and last place of the tie
    group, from 0); equal ranks or scores tie. It may have time (or
    time_seconds), weight, perf_ceiling, name (or contest_name), url and rated.
    Other columns are ignored; a line lists the columns in use.

    \b
    Examples:
      ranklake ingest files results.csv --dataset chess --lake lake
      ranklake ingest files results.csv --column contest=event_id \\
          --column score=points --dataset chess --lake lake
      ranklake ingest files days.tsv --time-format %d/%m/%Y \\
          --dataset chess --lake lake
      ranklake ingest files old.csv --delimiter ';' --encoding latin-1 \\
          --duplicates best --dataset chess --lake lake
      zcat rows.gz | ranklake ingest files - --input-format jsonl \\
          --dataset chess --lake lake
    """
    from ...sources.base import IngestReport
    from ...sources.files.contests import read_contests

    options = read_options(**choices)
    report = IngestReport()
    order: IngestOrder = "time" if options.order == "time" else "source"
    with usage():
        contests = read_contests(paths, report=report, options=options)
    _ingest(lake, dataset, contests, report, order, mirror=mirror, rewrite=rewrite, steal=steal)


@ingest.command("sql", short_help="Ingest contests from a query of a database.")
@query_options
@dataset_option
@lake_option
@result_options
@contest_options
@rewrite_option
@steal_option
def ingest_database(
    url: str | None,
    query: str | None,
    watermark: str | None,
    dataset: str,
    lake: LakeAddress,
    rewrite: bool,
    steal: bool,
    **choices: Any,
) -> None:
    """Ingest contests from a query of PostgreSQL, MariaDB, MySQL or SQLite.

    The columns are those of a table of `ingest files`: contest, player and one of rank, score, or lo and hi; time,
    weight, perf_ceiling, name and url if there are any. Contests with a time are rated in its order.

    \b
    Examples:
      ranklake ingest sql --url postgresql://judge@db/judge --dataset judge \\
          --query @results.sql --lake lake
      ranklake ingest sql --url sqlite:///judge.db --dataset judge \\
          --query 'select contest, player, score, time from results' \\
          --lake lake
    """
    from ...ingestion.databases import check_query, ingest_sql
    from ...ingestion.files import non_default

    options = non_default(choices)
    with usage():
        text = query_text(query)
        check_query(url, text, watermark, options)
    opened = lake.open(create=True)
    with progress("ingesting") as on_progress:
        how: dict[str, Any] = {"on_wait": print_wait, "on_progress": on_progress, "rewrite": rewrite, "steal": steal}
        report = ingest_sql(opened, url or "", text, dataset, watermark=watermark, options=options, **how)
    _print_report(report)


@ingest.command("synthetic", short_help="Generate a history of players with known skills.")
@click.option("--preset", required=True, help="paper, paper-quarter, synth-sm or synth-la.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the history.")
@click.option("--dataset", type=DATASET, help="Name of the data set; by default the preset's.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Change the preset, as n_rounds=100.")
@rewrite_option
@steal_option
@lake_option
def ingest_synthetic(
    preset: str,
    seed: int,
    dataset: str | None,
    settings: tuple[str, ...],
    lake: LakeAddress,
    rewrite: bool,
    steal: bool,
) -> None:
    """Ingest a synthetic history of players with known skills; the same seed gives the same contests."""
    from ...common.configuration.settings import convert_fields, parse_settings
    from ...sources.base import IngestReport, filter_contests
    from ...sources.synthetic import PRESETS, generate

    with usage():
        if preset not in PRESETS:
            raise ValueError(f"preset must be one of {', '.join(PRESETS)}, got {preset!r}")
        changes = convert_fields(type(PRESETS[preset]), parse_settings(settings), f"preset {preset}")
        chosen = dataclasses.replace(PRESETS[preset], **changes)
    report = IngestReport()
    contests = filter_contests(generate(chosen, seed), report)
    _ingest(lake, dataset or preset, contests, report, rewrite=rewrite, steal=steal)


@ingest.command("codeforces", short_help="Ingest the rated rounds of Codeforces.")
@site_options
def ingest_codeforces(**choices: Any) -> None:
    """Ingest the rated rounds of Codeforces.

    The first call requests every contest, one every two seconds, which takes about an hour. After an interrupt, the
    same command continues. Rounds of teams are left out, see `ingest codeforces-teams`.
    """
    _ingest_site("codeforces", **choices)


@ingest.command("codeforces-teams", short_help="Ingest the rounds of teams of Codeforces.")
@site_options
def ingest_codeforces_teams(**choices: Any) -> None:
    """Ingest the rounds of Codeforces in which teams took places: 17 rounds of the years 2015 to 2018.

    With --dataset codeforces they are in one data set with the other rounds. Only systems with a rule for teams rate
    it.
    """
    _ingest_site("codeforces-teams", **choices)


@ingest.command("ctftime", short_help="Ingest the events of CTFtime.")
@site_options
def ingest_ctftime(**choices: Any) -> None:
    """Ingest the events of CTFtime: the results of each year, and the names of teams, 300 a request.

    Teams are identified by their ids. If teams have the same name, the id is appended to all but the first.
    """
    _ingest_site("ctftime", **choices)


@ingest.command("topcoder", short_help="Ingest the rounds of TopCoder from its closed data feed.")
@site_options
def ingest_topcoder(**choices: Any) -> None:
    """Ingest the rounds of TopCoder from the files of its data feed, which is closed.

    --base-url is the folder or address of dd_round_list.xml and dd_round_results_rd=ROUND.xml. Each division of a
    round is a contest.
    """
    _ingest_site("topcoder", **choices)


@ingest.command("atcoder", short_help="Ingest the rated contests of AtCoder.")
@site_options
def ingest_atcoder(**choices: Any) -> None:
    """Ingest the rated contests of AtCoder, without marathons (AHC)."""
    _ingest_site("atcoder", **choices)


@ingest.command("dmoj", short_help="Ingest the rated contests of DMOJ or a similar site.")
@site_options
def ingest_dmoj(**choices: Any) -> None:
    """Ingest the rated contests of DMOJ, or of another site with its software (--base-url)."""
    _ingest_site("dmoj", **choices)


@ingest.command("lichess", short_help="Ingest tournaments of lichess.")
@click.option("--team", "teams", multiple=True, metavar="ID", help="Tournaments of this team; repeatable.")
@click.option("--arena", "arenas", multiple=True, metavar="ID", help="This arena; repeatable.")
@click.option("--swiss", "swisses", multiple=True, metavar="ID", help="This swiss tournament; repeatable.")
@site_options
def ingest_lichess(**choices: Any) -> None:
    """Ingest the named tournaments of lichess; without names, arenas that ended recently.

    The environment variable RANKLAKE_LICHESS_TOKEN may have an access token.
    """
    _ingest_site("lichess", **choices)


@ingest.command("kaggle", short_help="Ingest the competitions of Kaggle from files.")
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

    from ...common.times import parse_time
    from ...ingestion.sites import ingest_source

    with usage():
        if since is not None:
            parse_time(since)
        if not Path(base_url).is_dir():
            raise ValueError(f"--base-url must be a folder, got {base_url!r}")
    with progress("kaggle") as update:
        opened = lake.open(create=True)
        report = ingest_source(
            opened,
            "kaggle",
            dataset,
            since=since,
            base_url=base_url,
            steal=steal,
            on_wait=print_wait,
            on_progress=update,
        )
    _print_report(report)


@click.command()
@click.option("--source", required=True, help="Name of the site, as in `ranklake ingest`.")
@click.option("--dataset", type=DATASET, help="Name of the data set; by default the site's.")
@rewrite_option
@steal_option
@lake_option
def normalise(source: str, dataset: str | None, rewrite: bool, steal: bool, lake: LakeAddress) -> None:
    """Parse all stored responses of a site again and bring the data set up to date; no request is sent."""
    from ...ingestion.sites import normalise_source
    from ...sources.sites.site import find_site

    with usage():
        find_site(source)
    with progress("reading", "responses") as update:
        how: dict[str, Any] = {"rewrite": rewrite, "steal": steal, "on_progress": update, "on_wait": print_wait}
        report = normalise_source(lake.open(), source, dataset, **how)
    _print_report(report)


def _ingest_site(source: str, *, lake: LakeAddress, dataset: str | None, since: str | None, **choices: Any) -> None:
    """Bring a data set up to date with a site, and print the counts."""
    from ...common.times import parse_time
    from ...ingestion.sites import ingest_source, open_client
    from ...sources.sites.site import find_site

    with usage():
        beside = {name: value for name, value in choices.items() if name not in ("again", "steal")}
        client = open_client(find_site(source, **beside), lambda why: print_line(why, err=True))
        if since is not None:
            parse_time(since)
    with client, progress(source, "responses") as update:
        opened = lake.open(create=True)
        report = ingest_source(
            opened, source, dataset, since=since, on_progress=update, on_wait=print_wait, client=client, **choices
        )
    _print_report(report)


def _print_report(report: SourceReport) -> None:
    *details, counts = report.lines()
    for line in details:
        print_line(line, err=True)
    print_line(f"data set {report.dataset}: {counts}")


def _ingest(
    lake: LakeAddress,
    dataset: str,
    contests: Iterator[Contest],
    report: IngestReport,
    order: IngestOrder = "source",
    **how: Any,
) -> None:
    """Add contests to a data set, all or none, and print the counts."""
    from ...ingestion.files import FILES, ingest_contests
    from ...ingestion.report import FilesReport, counted

    opened, taken = lake.open(create=True), FilesReport(FILES, dataset, read=report)
    with progress("ingesting") as update:
        ingest_contests(opened, contests, taken, order, on_wait=print_wait, on_progress=update, **how)
    for line in report.lines():
        print_line(line, err=line.startswith(("time", "left", "column", "duplicate")))
    kinds = ("new", "corrected", "removed", "unchanged")
    counts = counted({kind: getattr(taken, kind) for kind in kinds}, "contest")
    counts += f"; {taken.moved:,} of them moved" if taken.moved else ""
    print_line(f"data set {dataset}: {counts or 'no contests'}")
