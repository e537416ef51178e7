"""Where the time of all of Codeforces goes: one thread, so that phases do not overlap."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any
from unittest.mock import patch

import numpy as np
from against_peer import CODEFORCES
from history import load, rate_pieces
from timing import Options, Result

from flows.engines.serial import Serial
from rating_kernels import elo_mmr
from rating_kernels.field import LEVEL_RATIO, NODES

__all__ = ["profile"]


def _rows(args: tuple[Any, ...]) -> int:
    return int(args[1] - args[0])


def _cells(args: tuple[Any, ...]) -> int:
    """Participants times the nodes of the panels of their level."""
    rate, start, stop, top_rate, offset = args[1], args[3], args[4], args[6], args[9]
    levels = np.floor(np.log(top_rate / rate[start:stop]) / np.log(LEVEL_RATIO)).astype(int)
    return NODES * int(np.diff(offset)[np.clip(levels, 0, len(offset) - 2)].sum())


def _terms(args: tuple[Any, ...]) -> int:
    """Factors of the rows' histories, the new ones included."""
    begin, end, player, length = args[0], args[1], args[2], args[-7]
    return int(length[player[begin:end]].sum())


def _participations(args: tuple[Any, ...]) -> int:
    """Rows from the first round of the call to where it came: it may return early, to be given more room."""
    start, offsets, stop = args[0], args[1], args[-1][0]
    return int(offsets[stop] - offsets[start])


# function of rating_kernels.elo_mmr: what it does, the unit of its work, how many units a call did, given its arguments
# and, as the last of them, its answer
PHASES: dict[str, tuple[str, str, Callable[[tuple[Any, ...]], int]]] = {
    "diffuse_rows": ("diffuse", "participation", _rows),
    "accumulate": ("build", "participant x node", _cells),
    "solve_groups": ("roots", "root", _rows),
    "absorb_rows": ("absorb", "history term", _terms),
    "_rate_small": ("small rounds, all steps", "participation", _participations),
}


class Stopwatch:
    """A kernel that notes its own time and units; asking for the units is taken out of the whole."""

    asking = 0.0

    def __init__(self, kernel: Callable[..., Any], count: Callable[[tuple[Any, ...]], int]) -> None:
        self.kernel, self.count = kernel, count
        self.seconds, self.units = 0.0, 0

    def __call__(self, *args: Any) -> Any:
        began = time.perf_counter()
        answer = self.kernel(*args)
        ended = time.perf_counter()
        self.seconds += ended - began
        self.units += self.count((*args, answer))
        Stopwatch.asking += time.perf_counter() - ended
        return answer


def profile(options: Options) -> Iterator[Result]:
    """Seconds, shares and nanoseconds a unit of the phases of all of Codeforces, on one thread."""
    history = load(options.file(CODEFORCES), options.limit)
    rate_pieces(history.rounds, len(history.handles), Serial())  # compiled, and memory touched
    watches = {name: Stopwatch(getattr(elo_mmr, name), count) for name, (_, _, count) in PHASES.items()}
    Stopwatch.asking = 0.0
    with ExitStack() as stack:
        for name, watch in watches.items():
            stack.enter_context(patch.object(elo_mmr, name, watch))
        began = time.perf_counter()
        rate_pieces(history.rounds, len(history.handles), Serial())
        whole = time.perf_counter() - began - Stopwatch.asking
    for name, watch in watches.items():
        phase, unit, _ = PHASES[name]
        each = watch.seconds / max(watch.units, 1) * 1e9
        what = f"{phase}: {watch.seconds / whole:.1%}; {each:.2f} ns a {unit} ({watch.units:,})"
        figures = {"share": watch.seconds / whole, "units": watch.units, "ns_per_unit": each}
        yield Result("profile", what, watch.seconds, figures=figures)
    other = whole - sum(watch.seconds for watch in watches.values())
    yield Result("profile", f"other: {other / whole:.1%}", other, figures={"share": other / whole})
    yield Result("profile", f"whole, on one thread: {history}", whole)
