"""Processor time of all of Codeforces by phase, on one thread, so that phases do not overlap."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from types import ModuleType
from typing import Any
from unittest.mock import patch

import numpy as np
from against_peer import CODEFORCES
from history import load, rate_pieces
from timing import Options, Result

from ranklake.flows.engines.serial import Serial
from ranklake.rating_kernels.fields import field
from ranklake.rating_kernels.fields.field import NEAR
from ranklake.rating_kernels.fields.panels import LEVEL_RATIO, NODES
from ranklake.rating_kernels.inference import logistic_field
from ranklake.rating_kernels.systems import elo_mmr

Call = Mapping[str, Any]  # the arguments of a call of a kernel by name, and its "answer"


def _rows(call: Call) -> int:
    return int(call["end"] - call["begin"])


def _groups(call: Call) -> int:
    return int(call["stop"] - call["start"])


def count_nodes(call: Call) -> int:
    """Nodes to which the terms are added: those of the panels near a term, in pairs (:func:`.field.accumulate`)."""
    rate, mu = (call[name][call["start"] : call["stop"]] for name in ("rate", "mu"))
    plan = call["plan"]
    offset, panels = plan.offset, np.diff(plan.offset)
    levels = np.floor(np.log(plan.top_rate / rate) / np.log(LEVEL_RATIO)).astype(int)
    levels = np.clip(levels, 0, len(offset) - 2)
    half, count = plan.half_width[levels], panels[levels]
    at = (mu - plan.middle) / (2 * half) - (plan.first[levels] + 0.5)  # in panels, from the level's first one
    reach = NEAR / (2 * half * rate) + 0.5
    near = np.clip(np.floor(at - reach), 0, count) // 2 * 2
    beyond = np.clip(np.ceil(at + reach) + 1, near, count)
    return NODES * int((beyond - near + (beyond - near) % 2).sum())


def _terms(call: Call) -> int:
    """Factors of the rows' histories, the new ones included."""
    return int(call["history"].length[call["rounds"].player[call["begin"] : call["end"]]].sum())


def _participations(call: Call) -> int:
    """Rows of the completed rounds of the call; a call may return early for more memory."""
    offsets = call["rounds"].offsets
    return int(offsets[call["answer"][0]] - offsets[call["r"]])


# by module and kernel: the phase, the unit of its work, the number of units of a call
PHASES: dict[tuple[ModuleType, str], tuple[str, str, Callable[[Call], int]]] = {
    (elo_mmr, "diffuse_rows"): ("diffuse", "participation", _rows),
    (field, "accumulate"): ("build", "participant x node", count_nodes),
    (logistic_field, "solve_groups"): ("roots", "root", _groups),
    (elo_mmr, "absorb_rows"): ("absorb", "history term", _terms),
    (elo_mmr, "_rate_small"): ("small rounds, all steps", "participation", _participations),
}


class Stopwatch:
    """A kernel that records its time and units; the time for counting units is subtracted from the total."""

    asking = 0.0

    def __init__(self, kernel: Any, count: Callable[[Call], int]) -> None:
        self.kernel, self.count = kernel, count
        self.names = inspect.signature(kernel.py_func).parameters
        self.seconds, self.units = 0.0, 0

    def __call__(self, *args: Any) -> Any:
        began = time.thread_time()
        answer = self.kernel(*args)
        ended = time.thread_time()
        self.seconds += ended - began
        self.units += self.count({**dict(zip(self.names, args, strict=True)), "answer": answer})
        Stopwatch.asking += time.thread_time() - ended
        return answer


def profile(options: Options) -> Iterator[Result]:
    """Processor seconds, shares and nanoseconds a unit of the phases of all of Codeforces, on one thread."""
    history = load(options.file(CODEFORCES), options.limit)
    rate_pieces(history.rounds, len(history.handles), Serial())  # compiles, and allocates memory
    watches = {key: Stopwatch(getattr(*key), count) for key, (_, _, count) in PHASES.items()}
    Stopwatch.asking = 0.0
    with ExitStack() as stack:
        for key, watch in watches.items():
            stack.enter_context(patch.object(*key, watch))
        began = time.thread_time()
        rate_pieces(history.rounds, len(history.handles), Serial())
        whole = time.thread_time() - began - Stopwatch.asking
    for key, watch in watches.items():
        phase, unit, _ = PHASES[key]
        if watch.units == 0:  # without large rounds
            continue
        each = watch.seconds / watch.units * 1e9
        what = f"{phase}: {watch.seconds / whole:.1%}; {each:.2f} ns a {unit} ({watch.units:,})"
        figures = {"share": watch.seconds / whole, "units": watch.units, "ns_per_unit": each}
        yield Result("profile", what, watch.seconds, figures=figures, case=phase)
    other = whole - sum(watch.seconds for watch in watches.values())
    yield Result("profile", f"other: {other / whole:.1%}", other, figures={"share": other / whole}, case="other")
    yield Result("profile", f"whole, on one thread: {history}", whole, case="whole")
