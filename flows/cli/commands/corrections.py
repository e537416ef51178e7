"""Commands for manual changes of a data set: removed contests, disqualified players, changed names, seasons."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

import click

from ...common.text import count
from ...common.times import spelled
from ..terminal.options import TIME, LakeAddress, dataset_option, lake_option, rows_format, usage, wide_option
from ..terminal.output import Form, print_freshness, print_line, print_table, print_wait, write_rows

if TYPE_CHECKING:
    from ranklake.storage import Dataset, Entry, Ingest, Log

why_option = click.option("--why", default="", metavar="TEXT", help="The reason, for the log.")


@click.command()
@click.argument("contests", nargs=-1, required=True, metavar="CONTEST...")
@dataset_option
@why_option
@lake_option
def remove(contests: tuple[str, ...], dataset: str, why: str, lake: LakeAddress) -> None:
    """Remove contests from a data set.

    The next update from a source that still has a contest adds it again. `ranklake rate --run RUN --exclude CONTEST`
    skips it permanently.
    """
    distinct = list(dict.fromkeys(contests))
    with _changing(lake, dataset) as ingest:
        for contest in distinct:
            ingest.remove(contest, why)
    print_line(f"data set {dataset}: {count(len(distinct), 'contest')} removed")
    _print_freshness(lake, dataset)


@click.command()
@click.argument("contest")
@click.option("--remove", "handles", multiple=True, metavar="HANDLE", help="Player to disqualify; repeatable.")
@click.option("--undo", is_flag=True, help="Undo the disqualification of these players.")
@dataset_option
@why_option
@wide_option
@lake_option
def amend(contest: str, handles: tuple[str, ...], undo: bool, dataset: str, why: str, lake: LakeAddress) -> None:
    """Disqualify players of a contest in retrospect; without --remove, list the corrections of the contest.

    The players below move up. The disqualification stays in force when the source corrects the contest, also if the
    source has removed the player.
    """
    if not handles:
        with usage():
            if undo or why:
                raise ValueError("name the players with --remove HANDLE")
        _list_amendments(_open(lake, dataset), contest)
        return
    with _changing(lake, dataset) as ingest:
        for handle in dict.fromkeys(handles):
            if undo:
                ingest.reinstate(contest, handle, why)
            elif not ingest.disqualify(contest, handle, why):
                print_line(f"contest {contest}: {handle!r} is already disqualified")
    _print_changes(lake, dataset, ingest)


@click.command()
@click.argument("file", metavar="FILE")
@dataset_option
@lake_option
def attributes(file: str, dataset: str, lake: LakeAddress) -> None:
    """Record attributes of players, such as country and organisation, from a table with a column `handle`.

    FILE is CSV, Parquet or a Delta table and replaces all attributes recorded before. Every other column is an
    attribute; an empty cell is none. `leaderboard --where` and `--by` read them, and some
    systems: fide a player's first rating, games, peak and birth_year, elo a player's own k, elo-r the gamma.
    """
    from ...ingestion.attributes import record_attributes

    report = record_attributes(lake.open(), dataset, file, on_wait=print_wait)
    print_line(f"data set {dataset}: {report.line()}")
    for note in report.notes:
        print_line(note, err=True)


@click.command()
@click.argument("names", nargs=-1, metavar="[OLD NEW]")
@click.option("--since", type=TIME, help="Time of the change of name, UTC; OLD in later "
              "contests is another player. By default OLD is always this player.")  # fmt: skip
@click.option("--list", "listing", is_flag=True, help="List the aliases.")
@dataset_option
@why_option
@wide_option
@lake_option
def alias(names: tuple[str, ...], since: int | None, listing: bool, dataset: str, why: str, lake: LakeAddress) -> None:
    """Record that player OLD is now called NEW: one history, under NEW."""
    with usage():
        if len(names) != (0 if listing else 2):
            raise ValueError("give an old and a new name, or --list")
        if listing and (since is not None or why):
            raise ValueError("--list takes no other arguments")
    if listing:
        from ..terminal.show import log_table

        log = _open(lake, dataset).log()
        rows = [entry for entry in log.entries if entry.kind == "alias" and log.in_force(entry)]
        table = log_table(f"aliases of {dataset}", [(entry, "") for entry in rows])
        print_table(table, f"data set {dataset} has no aliases; `ranklake alias` records them")
        return
    from ...results.player_names import candidate_names, new_names

    old, new = names
    opened = _open(lake, dataset)
    candidate_names(opened, old)  # an unknown player is an error
    for note in new_names(opened, [new]):
        print_line(note, err=True)
    with _changing(lake, dataset) as ingest:
        known = ingest.alias(old, new, since, why)
    if not known:
        print_line(f"{old!r} is already an alias of {new!r}")
    _print_changes(lake, dataset, ingest)


@click.command()
@click.argument("old")
@dataset_option
@why_option
@lake_option
def unalias(old: str, dataset: str, why: str, lake: LakeAddress) -> None:
    """Remove an alias: the contests of OLD belong to player OLD again."""
    with _changing(lake, dataset) as ingest:
        ingest.unalias(old, why)
    _print_changes(lake, dataset, ingest)


@click.group()
def season() -> None:
    """Start seasons, with a soft reset of the ratings or without one; list, remove and restore them.

    The next `rate` of each run applies a reset between the contests before its time and those from then on.
    """


@season.command("start")
@click.argument("name")
@click.option("--at", type=TIME, required=True, help="When it begins, UTC: before the contests that end then or later.")
@click.option(
    "--keep", type=float, help="Share of the distance from the centre that ratings keep, 0 to 1.  [default: 1]"
)
@click.option("--widen", type=float, help="Rating points of doubt that are added.  [default: 0]")
@click.option("--centre", metavar="RATING|mean|mu_init", help="What ratings are pulled to: a rating, the mean of all "
              "players, or that of a newcomer.  [default: mu_init]")  # fmt: skip
@click.option("--forget", is_flag=True, help="Beliefs lose their history: elo-mmr and elo-r.")
@click.option("--restart-counts", is_flag=True, help="Rules that count games of a player, as k_rule, count anew.")
@click.option("--who", metavar="all|ATTRIBUTE=VALUE|active_since=DATE", help="Players to reset.  [default: all]")
@click.option("--no-reset", is_flag=True, help="A name from this time on; ratings stay as they are.")
@dataset_option
@why_option
@lake_option
def start_season(
    name: str,
    at: int,
    keep: float | None,
    widen: float | None,
    centre: str | None,
    forget: bool,
    restart_counts: bool,
    who: str | None,
    no_reset: bool,
    dataset: str,
    why: str,
    lake: LakeAddress,
) -> None:
    """Start season NAME of a data set at a time.

    Ratings become centre + keep (rating - centre), and the uncertainty grows by widen, at most to that of a newcomer.
    """
    from ...events.seasons import reset_line
    from ...events.start import check_event, season_event

    given = {"keep": keep, "widen": widen, "centre": centre, "who": who}
    given |= {"forget": forget or None, "restart_counts": restart_counts or None}
    chosen = {key: value for key, value in given.items() if value is not None}
    with usage():
        if no_reset and chosen:
            raise ValueError(f"--no-reset and --{next(iter(chosen)).replace('_', '-')} exclude each other")
        event = season_event(name, at, reset=not no_reset, **chosen)  # type: ignore[arg-type]
    warning = check_event(_open(lake, dataset), event)
    with _changing(lake, dataset) as ingest:
        ingest.start_season(event, why)
    print_line(f"data set {dataset}: season {name} starts at {spelled(at)}, {reset_line(event)}")
    if warning:
        print_line(warning, err=True)
    _print_freshness(lake, dataset)


@season.command("list")
@dataset_option
@rows_format()
@wide_option
@lake_option
def list_seasons(dataset: str, form: Form, lake: LakeAddress) -> None:
    """List the seasons of a data set, in order of time."""
    from ...events.seasons import seasons
    from ..terminal.reports.show_seasons import SCHEMA, seasons_table

    found = seasons(_open(lake, dataset))
    if form.name == "table":
        nothing = f"data set {dataset} has no seasons; `ranklake season start` records them"
        print_table(seasons_table(f"seasons of {dataset}", found), nothing)
    else:
        import pyarrow as pa

        write_rows(pa.Table.from_pylist([one.to_json() for one in found], schema=SCHEMA), form)


@season.command("remove")
@click.argument("name")
@dataset_option
@why_option
@lake_option
def remove_season(name: str, dataset: str, why: str, lake: LakeAddress) -> None:
    """Remove season NAME with its reset; `season undo` restores it."""
    with _changing(lake, dataset) as ingest:
        ingest.remove_season(name, why)
    print_line(f"data set {dataset}: season {name} removed")
    _print_freshness(lake, dataset)


@season.command("undo")
@click.argument("name")
@dataset_option
@why_option
@lake_option
def restore_season(name: str, dataset: str, why: str, lake: LakeAddress) -> None:
    """Undo the removal of season NAME."""
    from ...events.seasons import reset_line
    from ...events.start import check_position

    with _changing(lake, dataset) as ingest:
        event = ingest.restore_season(name, why)
        check_position(_open(lake, dataset), event)
    print_line(f"data set {dataset}: season {name} restored, {reset_line(event)}")
    _print_freshness(lake, dataset)


@click.command()
@dataset_option
@rows_format()
@wide_option
@lake_option
def log(dataset: str, form: Form, lake: LakeAddress) -> None:
    """List the manual corrections of a data set: author, time and reason."""
    found = _open(lake, dataset).log()
    if form.name == "table":
        from ..terminal.show import log_table

        table = log_table(f"corrections of {dataset}", [(entry, _state(found, entry)) for entry in found.entries])
        print_table(table, f"data set {dataset} has no manual corrections")
    else:
        write_rows(found.table, form)


def _open(lake: LakeAddress, dataset: str) -> Dataset:
    from ranklake.storage import Dataset

    return Dataset.open(lake.open(), dataset)


def _changing(lake: LakeAddress, dataset: str) -> AbstractContextManager[Ingest]:
    """Open a transaction on an existing data set."""
    from ranklake.storage import Dataset

    return Dataset.ingest(_open(lake, dataset).lake, dataset, on_wait=print_wait)


def _print_changes(lake: LakeAddress, dataset: str, ingest: Ingest) -> None:
    n = ingest.recomputed
    print_line(f"data set {dataset}: {count(n, 'contest')} changed")
    if n:
        _print_freshness(lake, dataset)


def _print_freshness(lake: LakeAddress, dataset: str) -> None:
    """Print the runs that are out of date, each with the command that rates it again."""
    from ranklake.storage import Run

    opened = lake.open()
    print_freshness(opened, *Run.names_over_dataset(opened, dataset))


def _list_amendments(dataset: Dataset, contest: str) -> None:
    from ranklake.storage import LakeError

    from ..terminal.show import log_table

    ids = dataset.contests.column("contest_id").to_pylist()
    entries = [entry for entry in dataset.log().entries if entry.contest_id == contest]
    if not entries and contest not in ids:
        raise LakeError(f"no contest {contest!r} in data set {dataset.name}, and no corrections of it")
    if not entries:
        print_line(f"contest {contest}: no corrections")
        return
    rows = []
    for entry in entries:
        state = _state(dataset.log(), entry)
        if state == "in force" and contest in ids and not dataset.participated(ids.index(contest), entry.handle or ""):
            state = "in force, but not in the standings"
        rows.append((entry, state))
    print_table(log_table(f"contest {contest}", rows))


def _state(log: Log, entry: Entry) -> str:
    if entry.kind not in ("disqualify", "alias", "season", "season restored"):
        return ""
    return "in force" if log.in_force(entry) else "undone"
