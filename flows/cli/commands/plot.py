"""Commands that draw histories of players, distributions of ratings, and chances of games."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from ..terminal.options import (
    RUN,
    ChosenRun,
    LakeAddress,
    chosen_run,
    lake_option,
    places_options,
    run_option,
    shown_places,
    usage,
)
from ..terminal.output import print_freshness, print_line, progress
from ..terminal.process import without_pandas

if TYPE_CHECKING:
    from matplotlib.figure import Figure

output_option = click.option(
    "-o", "--output", required=True, type=click.Path(dir_okay=False, writable=True), metavar="FILE",
    help="File of the figure: .png, .svg or .pdf.",
)  # fmt: skip


@click.group()
def plot() -> None:
    """Draw players' histories, distributions of ratings, or chances of games; needs the extra `report`."""


@plot.command("player", short_help="Draw the ratings of players over time.")
@click.argument("handles", nargs=-1, required=True, metavar="HANDLE...")
@run_option
@output_option
@chosen_run(wide=False)
def player(handles: tuple[str, ...], chosen: ChosenRun, output: str) -> None:
    """Draw the ratings of players over time, with their uncertainty and the colours of the titles.

    If the run has a current smoothing, the skills given all contests are drawn, too.
    """
    from ...plotting.plots import MOST_PLAYERS, players_figure

    with usage():
        if len(handles) > MOST_PLAYERS:
            raise ValueError(f"a figure has room for {MOST_PLAYERS} players, got {len(handles)}")

    def draw() -> Figure:
        from ...answers.rated_run import RatedRun
        from ...common.configuration.settings import check_rounds_matter

        rated = RatedRun(chosen.lake.open(), chosen.run, chosen.deviations, chosen.titles)
        check_rounds_matter(rated.system, "curve of a player's ratings")
        found = [rated.player(handle, smoothed=True) for handle in handles]
        distinct = {history.handle: history for history in found}
        players = [history.rows.column("player")[0].as_py() for history in distinct.values()]
        apart = rated.component_note(players, list(distinct))
        for note in filter(None, (*(history.note for history in found), apart)):
            print_line(note, err=True)
        return players_figure(list(distinct.values()), chosen.run, rated.seasons())

    _write(chosen.lake, [chosen.run], output, draw)


@plot.command("distribution", short_help="Draw the distribution of ratings.")
@run_option
@output_option
@chosen_run(wide=False)
def distribution(chosen: ChosenRun, output: str) -> None:
    """Draw the distribution of a run's ratings, over time and at its end."""

    def draw() -> Figure:
        from ...plotting.quantiles import distribution_figure

        with progress(f"reading {chosen.run}", "participations") as update:
            return distribution_figure(chosen.lake.open(), chosen.run, chosen.deviations, chosen.titles, update)

    _write(chosen.lake, [chosen.run], output, draw)


@plot.command("places", short_help="Draw how sure the places of the best players are.")
@run_option
@click.option("--top", type=click.IntRange(1), default=30, show_default=True, help="Number of players.")
@places_options
@output_option
@chosen_run(titles=False, wide=False)
def places(top: int, places: dict[str, Any], chosen: ChosenRun, output: str) -> None:
    """Draw the bounds of the skills of the best players, with the places that each may have, and the tiers."""
    from ...plotting.plots import MOST_PLACES, places_figure

    with usage():
        if top > MOST_PLACES:
            raise ValueError(f"a figure has room for {MOST_PLACES} players, got --top {top}")

    def draw() -> Figure:
        from ranklake.storage import LakeError

        from ...answers.rated_run import RatedRun
        from ...results.ranks import chosen as with_provisional
        from ...results.ranks import in_tiers

        rated = RatedRun(chosen.lake.open(), chosen.run, chosen.deviations)
        options = shown_places(rated, places, "plot places")
        board = in_tiers(with_provisional(rated.leaderboard(places=options), "hide")).slice(0, top)
        if not board.num_rows:
            raise LakeError(f"run {chosen.run} has no ranked player: all are provisional")
        return places_figure(board, options, rated.system.uncertainty, chosen.run)

    _write(chosen.lake, [chosen.run], output, draw)


@plot.command("chances", short_help="Draw the chances of games beside what happened.")
@run_option
@output_option
@lake_option
def chances(run: str, output: str, lake: LakeAddress) -> None:
    """Draw the chances of a win, a draw and a loss of the first player over the difference of the ratings.

    The chances are those known before each game, by what the run had learnt then; dots are the shares of the games that
    ended so. If the chances are right, 95 % of the dots are within their bars of the line.
    """

    def draw() -> Figure:
        from ...evaluation.seen_chances import PredictedGames, SeenChances
        from ...plotting.plots import chances_figure
        from ...results.rated_rounds import RatedRounds

        predicted, known = PredictedGames.of(RatedRounds(lake.open(), run))
        if known.note:
            print_line(known.note, err=True)
        return chances_figure(SeenChances.of(predicted), run)

    _write(lake, [run], output, draw)


@plot.command("comparison", short_help="Draw the distributions of two runs' ratings.")
@click.argument("runs", nargs=2, type=RUN, metavar="RUN_A RUN_B")
@output_option
@lake_option
def comparison(runs: tuple[str, str], output: str, lake: LakeAddress) -> None:
    """Draw the distributions of two runs' ratings, of the players that both have, and how each rating changes."""

    def draw() -> Figure:
        from ...answers.diff import compare_boards
        from ...answers.rated_run import RatedRun
        from ...plotting.plots import comparison_figure

        opened = lake.open()
        boards = [RatedRun(opened, run).leaderboard() for run in runs]
        return comparison_figure(compare_boards(runs, *boards))

    _write(lake, runs, output, draw)


def _write(lake: LakeAddress, runs: Sequence[str], output: str, draw: Callable[[], Figure]) -> None:
    """Check all arguments, draw, and write the file at once."""
    from pathlib import Path

    from ...plotting.figures import check_path, drawing, encode, font_line

    without_pandas()
    with usage():
        form = check_path(output)
        if not Path(output).absolute().parent.is_dir():
            raise ValueError(f"there is no folder {str(Path(output).parent)!r} for {Path(output).name}")
    with drawing("drawing") as undrawn:
        print_freshness(lake.open(), *runs)
        figure = encode(draw(), form)
    if line := font_line(undrawn):
        print_line(line, err=True)
    Path(output).write_bytes(figure)
    print_line(f"wrote {output}, {len(figure) / 1000:,.0f} kB")
