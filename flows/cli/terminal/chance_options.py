"""Options of `rate` about what runs learn from games: draws, and the advantage of the first player."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

_NAMES = ("draws", "by", "no_advantage", "weighted", "advantage")


def chance_options(command: F) -> F:
    """Add the options; the command takes them as ``chances``, by the names of
    :class:`ranklake.flows.chances.settings.ChanceOptions`.
    """

    @wraps(command)
    def with_chances(*args: Any, **kwargs: Any) -> Any:
        chances = {name: kwargs.pop(name) for name in _NAMES}
        return command(*args, chances=chances, **kwargs)

    options = [
        click.option(
            "--draws", type=click.Choice(["preserving", "davidson", "none"]),
            help="How a run of games learns the chances of draws: a model that keeps expected scores, Davidson's, "
            "or nothing. Stored in the run.  [default: as stored, else preserving]",
        ),
        click.option(
            "--chances-by", "by", metavar="COLUMN",
            help="Learn draws and advantage for each value of a column that --keep of `ingest games` kept, as league; "
            "an empty name ends it. Stored in the run.",
        ),
        click.option(
            "--no-advantage", callback=_values, metavar="VALUE,...",
            help="Values of that column without an advantage of the first player, as true of neutral; they share the "
            "draws of all games.",
        ),
        click.option(
            "--chances-weighted/--chances-unweighted", "weighted", default=None,
            help="Count a game by its weight when draws and advantage are learnt, or once.  [default: as stored, else "
            "once]",
        ),
        click.option(
            "--advantage", type=click.Choice(["learnt", "stored"]),
            help="Rate with the advantage of the first player that earlier games have taught, besides that of each "
            "game, or with that alone. A setting of the run.  [default: as the run, else stored]",
        ),
    ]  # fmt: skip
    decorated: Any = with_chances
    for option in reversed(options):
        decorated = option(decorated)
    return decorated  # type: ignore[no-any-return]


def _values(context: click.Context, parameter: click.Parameter, text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(value.strip() for value in text.split(",")) if text else ()
