"""The commands that predict a round or rate a team, and preview the rating changes from standings."""

from __future__ import annotations

import math
from typing import IO, TYPE_CHECKING

import click

from ..terminal.apart import refuse_option
from ..terminal.file_options import read_options
from ..terminal.options import (
    FINITE,
    TIME,
    ChosenRun,
    F,
    chances_of_option,
    chosen_run,
    format_option,
    handles_in,
    rows_format,
    run_option,
    usage,
)
from ..terminal.output import Form, print_line, print_table, write_json, write_rows
from ..terminal.process import without_pandas

if TYPE_CHECKING:
    from ...frames.prediction import Prediction
    from ...sources.options import ReadOptions

_MATRIX = 8  # maximum number of entrants for a table with the chances of every pair
_LADDER = 25  # maximum number of places in a table


def _match_options(command: F) -> F:
    """Options of the commands about a match to come."""
    for option in (
        click.option("--new", is_flag=True, help="Unknown handles are newcomers; without it they are errors."),
        click.option("--time", "time_seconds", type=TIME, help="End of the match, UTC; by default the end of the last "
                     "rated round."),
    ):  # fmt: skip
        command = option(command)
    return command


@click.command()
@click.argument("handles", nargs=-1, metavar="[HANDLE]...")
@run_option
@click.option(
    "--field", type=click.File(encoding="utf-8"), help="File of further entrants, one handle a line; - is stdin."
)
@click.option(
    "--newcomers", type=click.IntRange(0, 10_000), default=0, help="Number of further entrants without a rating."
)
@click.option("--of", "player", metavar="HANDLE", help="Show this entrant's rating after each place.")
@click.option("--target", type=FINITE, metavar="RATING", help="Show the place that --of needs for this rating.")
@click.option("--pairs", is_flag=True, help="Show the chances of every pair, one row a pair.")
@click.option("--neutral", is_flag=True, help="Of a game between two: on neutral ground, without the advantage of the "
              "first entrant that the run has learnt.")  # fmt: skip
@click.option("--covariate", "covariates", multiple=True, metavar="NAME=NUMBER", help="Of a game of bt: a covariate, "
              "as the first entrant sees it; 0 by default. Repeatable.")  # fmt: skip
@chances_of_option
@click.option("--time", "time_seconds", type=TIME, help="End of the round, UTC; by default the end "
              "of the last rated round.")  # fmt: skip
@click.option("--weight", type=float, default=1.0, show_default=True, help="Weight of the round.")
@click.option("--precision", type=float, default=1.0, show_default=True, help="Precision of the round, as its length "
              "in units.")  # fmt: skip
@refuse_option
@rows_format("csv and json have full precision and all places.")
@chosen_run(titles=False)
def predict(
    handles: tuple[str, ...],
    chosen: ChosenRun,
    field: IO[str] | None,
    newcomers: int,
    player: str | None,
    target: float | None,
    pairs: bool,
    neutral: bool,
    covariates: tuple[str, ...],
    chances_of: str | None,
    time_seconds: int | None,
    weight: float,
    precision: float,
    strict: bool,
    form: Form,
) -> None:
    """Predict the result of a future round from a run's ratings and its system's model.

    With --of, show the rating of a player after each place, with the others in the order of their ratings. With
    --target, show the place that the player needs. A tie counts half in a chance. HANDLE+HANDLE is a team; --of is then
    a member, and places are those of its team. Of a game between two, show the chances of a win, a draw and a loss of
    the first entrant, and the difference of the skills.
    """
    from ranklake.rating_kernels.core.limits import PRECISION, TIME_SECONDS, WEIGHT

    from ...answers.run_prediction import predict_run

    with usage():
        if target is not None and player is None:
            raise ValueError("--target needs --of HANDLE")
        if pairs and player is not None:
            raise ValueError("--pairs and --of exclude each other; give one")
        for option, value, limits in (("weight", weight, WEIGHT), ("precision", precision, PRECISION)):
            if not limits.contains(value):
                raise ValueError(f"--{option} must be {limits.rule}, got {value}")
        if time_seconds is not None and not TIME_SECONDS.contains(time_seconds):
            raise ValueError(f"--time must be {TIME_SECONDS.rule}, got {time_seconds}")
        named = [*handles, *handles_in(field, "--field")]
        if player is not None and not any(player == entrant or player in entrant.split("+") for entrant in named):
            named.append(player)
        if len(named) + newcomers < 2:
            raise ValueError("give at least two entrants: as arguments, by --field FILE or by --newcomers N")
        x = _numbers(covariates)
        known = weight, precision, chosen.deviations, chances_of, x
        prediction, names = predict_run(chosen.open(), chosen.run, named, newcomers, time_seconds, *known)
        if strict and prediction.apart:
            raise ValueError(f"{prediction.apart}; without --strict, this is a warning")
        if prediction.games is None and (neutral or chances_of is not None):
            raise ValueError("--neutral and --chances-of are for a game between two entrants of a run of such games")
    learnt = prediction.games.note if prediction.games is not None else ""
    for note in filter(None, (*prediction.notes, learnt)):
        print_line(note, err=True)
    if player is not None:
        _print_places(prediction, names[player], target, form)
    elif pairs:
        _print_pairs(prediction, neutral, form)
    else:
        _print_entrants(prediction, neutral, form)


def _numbers(texts: tuple[str, ...]) -> dict[str, float]:
    """``("length=0.5",)`` as numbers by name; ``ValueError`` for another form, or a repeated name."""
    from ...common.configuration.settings import parse_settings

    found: dict[str, float] = {}
    for name, value in parse_settings(texts).items():
        try:
            found[name] = float(value)
        except ValueError:
            found[name] = math.nan
        if not math.isfinite(found[name]):
            raise ValueError(f"--covariate is NAME=NUMBER, got {f'{name}={value}'!r}")
    return found


@click.command()
@click.argument("handles", nargs=-1, required=True, metavar="HANDLE...")
@run_option
@format_option("table", "json", help="json has full precision, and the rating of each member.")
@chosen_run(titles=False, wide=False)
def teamrate(handles: tuple[str, ...], chosen: ChosenRun, form: str) -> None:
    """Show the rating of a team: the level that beats all members at once half of the time.

    The members can be any rated players; a handle may be an alias. 400 points are odds of ten to one.
    """
    without_pandas()
    from ...common.text import quoted

    with usage():
        if twice := next((handle for handle in handles if handles.count(handle) > 1), None):
            raise ValueError(f"player {twice!r} is named twice")
    rated = chosen.rated()
    team = rated.team_rating(handles)
    if note := team.pop("note"):
        print_line(note, err=True)
    if form == "json":
        write_json(team)
        return
    listed = ", ".join(f"{quoted(one['handle'])} {rated.format.rating(one['rating'])}" for one in team["players"])
    print_line(f"team rating {rated.format.rating(team['rating'])}: {listed}")


def _print_entrants(prediction: Prediction, neutral: bool, form: Form) -> None:
    import pyarrow as pa

    if form.name == "table":
        from ..terminal.show import entrants_table
        from ..terminal.show_pairs import matrix_table, pair_lines

        print_table(entrants_table(prediction))
        if len(prediction) > _MATRIX:
            pairs = len(prediction) * (len(prediction) - 1) // 2
            print_line(f"not shown: the chances of {pairs:,} pairs; --pairs shows them")
        else:
            print_table(matrix_table(prediction))
        if len(prediction) == 2:
            for line in pair_lines(prediction, neutral):
                print_line(line)
    else:
        rows = prediction.table().reset_index(names="handle")
        if len(prediction) == 2:
            rows = rows.assign(**prediction.game_columns(neutral))
        rows = rows.sort_values("expected_place", kind="stable")
        write_rows(pa.Table.from_pandas(rows, preserve_index=False), form)


def _print_pairs(prediction: Prediction, neutral: bool, form: Form) -> None:
    import pyarrow as pa

    rows = pa.Table.from_pandas(
        prediction.pairs(neutral=neutral).rename(columns={"player": "handle"}), preserve_index=False
    )
    if form.name == "table":
        from ..terminal.show_pairs import pairs_table

        print_table(pairs_table(rows, prediction.format))
    else:
        write_rows(rows, form)


def _print_places(prediction: Prediction, player: str, target: float | None, form: Form) -> None:
    import numpy as np
    import pyarrow as pa

    n = len(prediction)
    places = np.arange(1, n + 1)
    if form.name == "table" and n > _LADDER:
        places = np.unique(np.rint(np.geomspace(1, n, _LADDER)).astype(np.int64))
    if target is not None:
        needed = prediction.place_needed(player, target)
        if form.name == "table":
            if needed:
                place = "the first place" if needed == 1 else f"place {needed:,} or better"
                answer = f"needs {place} of {n:,} for a rating of {target:g}"
            else:
                best = prediction.outcomes(player, [1])["rating"].iloc[0]
                most = prediction.format.rating(best)
                answer = f"cannot reach a rating of {target:g} in this round: the first place gives {most}"
            print_line(f"{player!r} {answer}")
            return
        places = np.array([] if needed is None else [needed], dtype=np.int64)
    rows = prediction.outcomes(player, places.tolist())
    if form.name == "table":
        from ..terminal.show import outcomes_table

        print_table(outcomes_table(player, rows, n, prediction.format))
    else:
        write_rows(pa.Table.from_pandas(rows, preserve_index=False), form)


@click.command()
@click.argument("sides", nargs=-1, required=True, metavar="SIDE...")
@run_option
@click.option("--neutral", is_flag=True, help="Of games: without the advantage of the first side that the run has "
              "learnt.")  # fmt: skip
@_match_options
@format_option("table", "json", help="json has full precision.")
@chosen_run(titles=False, wide=False)
def quality(
    sides: tuple[str, ...], chosen: ChosenRun, neutral: bool, time_seconds: int | None, new: bool, form: str
) -> None:
    """Show how even a match between sides would be: the chance of each to finish first.

    SIDE is a player, or a team HANDLE+HANDLE. Two sides also have the chances of a win, a draw and a loss of the first
    one, as far as the run knows them. The quality is 1 for sides with equal and certain skills, less for others.
    """
    from ...answers.run_prediction import predict_run

    with usage():
        if len(sides) < 2:
            raise ValueError("a match needs at least two sides")
        prediction, _ = predict_run(
            chosen.open(), chosen.run, sides, time_seconds=time_seconds, deviations=chosen.deviations, new=new
        )
    found = prediction.quality(neutral=neutral)
    for note in prediction.notes:
        print_line(note, err=True)
    if form == "json":
        write_json({"sides": [str(side) for side in prediction.players], **found.to_json()})
        return
    from ..terminal.reports.show_matches import match_line, sides_table

    print_table(sides_table(prediction, found))
    print_line(match_line(found))


@click.command()
@click.argument("parties", nargs=-1, required=True, metavar="PARTY...")
@run_option
@click.option("--sizes", metavar="N,M", help="Sizes of the first team and of the second one; by default equal.")
@_match_options
@format_option("table", "json", help="json has full precision.")
@chosen_run(titles=False, wide=False)
def balance(
    parties: tuple[str, ...], chosen: ChosenRun, sizes: str | None, time_seconds: int | None, new: bool, form: str
) -> None:
    """Split players into two teams whose match is as even as possible.

    PARTY is a player, or players who stay together: HANDLE,HANDLE. Up to twelve parties all splits are compared, beyond
    a local search exchanges parties. The chance is by the run's ratings and its system's rule for teams.
    """
    from ...answers.run_prediction import balance_run

    with usage():
        of_teams = None if sizes is None else _whole_numbers(sizes)
        found, prediction = balance_run(
            chosen.open(), chosen.run, parties, of_teams, time_seconds, chosen.deviations, new
        )
    for note in prediction.notes:
        print_line(note, err=True)
    if form == "json":
        write_json(found.to_json())
        return
    from ..terminal.reports.show_matches import balance_table, match_line

    print_table(balance_table(prediction, found))
    print_line(match_line(found.quality))
    print_line("all splits compared" if found.exact else "found by a local search: another split may be more even")


def _whole_numbers(text: str) -> list[int]:
    try:
        return [int(number) for number in text.split(",")]
    except ValueError:
        raise ValueError(f"--sizes is N,M, as 4,3; got {text!r}") from None


@click.command()
@click.argument("standings", metavar="STANDINGS")
@run_option
@click.option("--entrants", type=click.File(encoding="utf-8"), metavar="FILE", help="All entrants, one handle a "
              "line. Those without a place count in the field, behind all others.")  # fmt: skip
@click.option("--time", "time_seconds", type=TIME, help="End of the contest, UTC; by default that in the file, else "
              "the end of the last rated round.")  # fmt: skip
@click.option("--top", type=click.IntRange(1, 2**31), default=50, show_default=True, help="Rows of the table.")
@rows_format("csv and json have full precision and all participants.")
@read_options
@chosen_run()
def preview(
    standings: str,
    chosen: ChosenRun,
    entrants: IO[str] | None,
    time_seconds: int | None,
    top: int,
    form: Form,
    options: ReadOptions,
) -> None:
    """Show the rating changes that follow from the standings of a contest; nothing is written.

    STANDINGS is a file of one contest, as `ingest files` reads it, or - for stdin; a table needs no column contest. It
    may be partial. The ratings are those of the run, to the bit as if the contest were ingested and rated.
    """
    without_pandas()
    from ...preview.run_preview import RunPreview
    from ...preview.standings import standings_from_file

    with usage():
        names = handles_in(entrants, "--entrants")
        read = standings_from_file(standings, options, names, time_seconds)
        opened = chosen.open()
        found = RunPreview.open(opened, chosen.run, chosen.deviations, chosen.titles, read.players).preview(read)
    for note in found.notes:
        print_line(note, err=True)
    if form.name == "table":
        from ..terminal.show_changes import preview_table

        print_table(preview_table(found, top))
    else:
        write_rows(found.table(joined=form.name == "csv"), form)
