"""Commands that show results: leaderboard, one player's history, one change explained, and two runs compared."""

from __future__ import annotations

from typing import Any

import click

from ...common.text import count
from ..terminal.apart import REMEDY, say_apart, strict_option
from ..terminal.options import (
    AGE,
    RUN,
    TIME,
    ChosenRun,
    LakeAddress,
    chosen_run,
    format_option,
    lake_option,
    places_options,
    provisional_option,
    rows_format,
    run_option,
    shown_places,
    usage,
    wide_option,
)
from ..terminal.output import (
    Form,
    print_freshness,
    print_hidden,
    print_line,
    print_table,
    progress,
    write_json,
    write_rows,
)
from ..terminal.process import without_pandas


@click.command()
@run_option
@click.option("--top", type=click.IntRange(1, 2**31), default=20, show_default=True, help="Number of players.")
@click.option("--all", "everybody", is_flag=True, help="All players.")
@click.option("--all-time", is_flag=True, help="The best level that each player ever had, given all contests before "
              "and after: smooth_mu - 2 smooth_sigma of `ranklake smooth`.")  # fmt: skip
@click.option("--at", type=TIME, help="The state at this time, UTC: after the contests that had ended, with the "
              "uncertainty of the days since.")  # fmt: skip
@click.option("--season", metavar="NAME", help="The players of this season, or of `current`: the state at its end, "
              "with their contests and the change of their rating in it.")  # fmt: skip
@click.option("--placement", type=click.IntRange(1, 2**31 - 1), metavar="N", help="Contests of the season that a "
              "player needs for a place, 1 by default; others are provisional.")  # fmt: skip
@click.option("--active", type=AGE, help="Only players with a contest in this time, as 90d, 26w or 1y, before --at "
              "or the last contest; places and percentiles are among them.")  # fmt: skip
@click.option("--where", "conditions", multiple=True, metavar="ATTRIBUTE=VALUE", help="Only players with this value of "
              "`ranklake attributes`; repeatable. Places are among all players.")  # fmt: skip
@click.option("--among", "among_each_other", is_flag=True, help="Places, intervals and percentiles among the players "
              "of --where.")  # fmt: skip
@click.option("--by", "attribute", metavar="ATTRIBUTE", help="Show groups of players instead, as countries, each with "
              "a rating of its own.")  # fmt: skip
@places_options
@provisional_option
@click.option("--tiers", is_flag=True, help="Order by mu, with a line between tiers: nobody of a tier can be told "
              "from its first player.")  # fmt: skip
@click.option("--component", type=int, metavar="K", help="Only players of this component of who met whom, 0 for the "
              "largest; places and percentiles are among them.")  # fmt: skip
@rows_format("csv and json have full precision.")
@strict_option
@chosen_run()
def leaderboard(
    chosen: ChosenRun,
    top: int,
    everybody: bool,
    all_time: bool,
    at: int | None,
    season: str | None,
    placement: int | None,
    active: int | None,
    conditions: tuple[str, ...],
    among_each_other: bool,
    attribute: str | None,
    places: dict[str, Any],
    provisional: str,
    tiers: bool,
    component: int | None,
    form: Form,
) -> None:
    """Show the players of a run, best first.

    If large groups of players never met, places are within them, and the column `component` has the group of each.
    """
    without_pandas()
    from ...results.ranks import chosen as with_provisional
    from ...results.ranks import in_tiers

    with usage():
        if all_time and (at is not None or active is not None or conditions or (attribute, component) != (None, None)):
            refused = "--at, --active, --where, --component or --by"
            raise ValueError(f"--all-time takes no {refused}: its levels are of all contests")
        if all_time and (places or provisional != "hide" or tiers):
            raise ValueError("--all-time has neither provisional players nor intervals of places nor tiers")
        if tiers and (attribute is not None or form.name != "table"):
            raise ValueError("--tiers draws lines in a table of players; csv and json have the column tier")
        if season is not None and (at is not None or all_time):
            raise ValueError("--season takes neither --at nor --all-time: its state is that at its end")
        if placement is not None and season is None:
            raise ValueError("--placement counts the contests of a season: give --season")
        if season is not None and "min_rounds" in places:
            raise ValueError("--min-rounds counts all contests; with --season, give --placement")
        if among_each_other and not conditions:
            raise ValueError("--among is for the players of --where: give a condition")
        if wrong := [condition for condition in conditions if "=" not in condition]:
            raise ValueError(f"--where is ATTRIBUTE=VALUE, got {wrong[0]!r}")
        if at is not None:
            from ranklake.rating_kernels.core.limits import TIME_SECONDS

            if not TIME_SECONDS.contains(at):
                raise ValueError(f"--at must be {TIME_SECONDS.rule}, got {at}")
    rated, n_hidden = chosen.rated(), 0
    if all_time:
        from ...answers.leaderboard import all_time_leaderboard

        table = all_time_leaderboard(rated.lake, chosen.run, chosen.deviations)
    else:
        where = [(name, value) for name, _, value in (condition.partition("=") for condition in conditions)]
        options = shown_places(rated, places, "--tiers" if tiers else "")
        if season is not None:
            options = options.changed(min_rounds=placement or 1)
        with progress(f"reading {chosen.run}", "participations") as update, usage():
            table = rated.leaderboard(at, active, where, component, update, options, among_each_other, season)
        n_players, table = table.num_rows, with_provisional(table, provisional)
        n_hidden = n_players - table.num_rows if provisional == "hide" else 0
        table = in_tiers(table) if tiers else table
    if attribute is not None:
        table = rated.groups(attribute, table)
    if component is None:
        say_apart(rated.components_line(at, REMEDY))
    shown = table if everybody else table.slice(0, top)
    if form.name == "table":
        from ..terminal.show import all_time_table, groups_table, leaderboard_table

        if all_time or attribute is not None:
            made = (all_time_table if all_time else groups_table)(shown, table.num_rows, rated.format)
        else:
            made = leaderboard_table(shown, table.num_rows, rated.format, options, tiers)
        kind = "provisional" if provisional == "only" else "ranked" if n_hidden else "rated"
        print_table(made, _without_rows(chosen.run, kind, active, conditions, attribute))
    else:
        write_rows(shown, form)
    print_hidden(n_hidden, err=form.name != "table")


def _without_rows(run: str, kind: str, active: int | None, conditions: tuple[str, ...], attribute: str | None) -> str:
    """Why a leaderboard has no rows: what was asked for."""
    asked = ["a contest in the time of --active"] if active is not None else []
    asked += [*conditions, *([f"a value of {attribute}"] if attribute is not None else [])]
    return f"run {run} has no {kind} player{' with ' if asked else ''}{' and '.join(asked)}"


@click.command()
@click.argument("handle")
@run_option
@click.option("--between", "dates", type=TIME, nargs=2, metavar="DATE DATE", help="Show the difference of the skill "
              "between two dates instead, given all contests: `ranklake smooth` first.")  # fmt: skip
@rows_format()
@chosen_run()
def player(handle: str, chosen: ChosenRun, dates: tuple[int, int] | None, form: Form) -> None:
    """Show every rated round of one player, in order; HANDLE may be an alias."""
    without_pandas()
    if dates is not None:
        _between(handle, chosen, dates, form)
        return
    rated = chosen.rated()
    history = rated.player(handle)
    if history.note:
        print_line(history.note, err=True)
    if form.name == "table":
        from ..terminal.show import player_table

        print_table(player_table(history, *rated.place_of(history)))
    else:
        write_rows(history.rows, form)


def _between(handle: str, chosen: ChosenRun, dates: tuple[int, int], form: Form) -> None:
    from ...answers.dates import check_dates
    from ...results.player_names import alias_note

    with usage():
        check_dates(*dates)
    rated = chosen.rated()
    found = rated.between(handle, *dates)
    if note := alias_note(rated.dataset, handle, found.handle):
        print_line(note, err=True)
    if form.name == "csv":
        import pyarrow as pa

        write_rows(pa.Table.from_pylist([found.to_json()]), form)
    elif form.name == "json":
        write_json(found.to_json())
    else:
        print_line(found.line(rated.format.decimals))


@click.command()
@click.argument("before", type=RUN, metavar="RUN_A")
@click.argument("after", type=RUN, metavar="RUN_B")
@click.option("--top", type=click.IntRange(1, 2**31), default=10, show_default=True,
              help="Number of players who gain, and who lose.")  # fmt: skip
@rows_format("csv has a row for each common player; json these and the quantiles.")
@wide_option
@lake_option
def diff(before: str, after: str, top: int, form: Form, lake: LakeAddress) -> None:
    """Compare the ratings of two runs, as for a change of the system from RUN_A to RUN_B.

    Players are the same if their handles are; places are among the common players. `plot comparison` draws both
    distributions.
    """
    from ...answers.diff import compare_boards
    from ...answers.rated_run import RatedRun
    from ...common.finite import finite_rows
    from ...common.progress import in_parts

    with usage():
        if before == after:
            raise ValueError(f"two different runs are compared, got {before} twice")
    opened = lake.open()
    print_freshness(opened, before, after)
    with progress("comparing", "participations") as update:
        runs = [RatedRun(opened, run) for run in (before, after)]
        boards = [run.leaderboard(on_progress=in_parts(update, number, 2)) for number, run in enumerate(runs)]
        update(0, None, "common players")
        found = compare_boards((before, after), *boards)
        correlation = found.rank_correlation()
    if form.name == "csv":
        write_rows(found.players, form)
    elif form.name == "json":
        only = dict(zip(("before", "after"), found.only, strict=True))
        facts = {"before": before, "after": after, "only": only, "rank_correlation": correlation}
        rows = finite_rows(found.players).to_pylist()
        write_json({**facts, "quantiles": found.quantiles(), "players": rows})
    else:
        from ..terminal.show_changes import migration_tables

        for table in migration_tables(found, (runs[0].format, runs[1].format), top):
            print_table(table)
        text = "" if correlation is None else f"; rank correlation {correlation:.4f}"
        both = count(found.players.num_rows, "player")
        alone = f"{found.only[0]:,} in {before} alone, {found.only[1]:,} in {after} alone"
        print_line(f"{both} in both, {alone}{text}")


@click.command()
@click.argument("handle")
@click.argument("contest")
@run_option
@click.option("--caps", is_flag=True, help="Also show how far the contest could have moved mu at most.")
@format_option("table", "json")
@chosen_run()
def explain(handle: str, contest: str, chosen: ChosenRun, form: str, caps: bool) -> None:
    """Explain how one contest changed a rating: the belief before, the expected place, and the parts of the change.

    CONTEST is an id, or a name that only one contest has. With ratings by fide it is a period, as 2026-01: each game
    with the expected score of the table, K and its tier, the sum and its rounding, or the pool of a first rating.
    """
    from ...answers.explanations.explanation import explain as explain_change
    from ...answers.explanations.period_explanation import PeriodExplanation

    opened = chosen.open()
    found, ratings = explain_change(opened, chosen.run, handle, contest, chosen.deviations, chosen.titles, caps)
    if form == "json":
        write_json(found.to_json())
    elif isinstance(found, PeriodExplanation):
        from ..terminal.show_period import period_tables

        for table in period_tables(found):
            print_table(table)
    else:
        from ..terminal.show_changes import explanation_table

        print_table(explanation_table(found, ratings))
