"""What the Elo-MMR paper printed, and the systems that are set beside it.

Source: Ebtekar and Liu, "An Elo-like System for Massive Multiplayer Competitions" (arXiv:2101.00400), Tables 1 and 3;
for Table 2 and the hyperparameters behind it see :mod:`ranklake.flows.experiments.published`. The data sets published
beside the paper have grown since.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ranklake.rating_kernels import SYSTEMS

from ..published import PRINTED, TUNED

__all__ = ["LIKE", "NAMES", "PRINTED", "PRINTED_CONTESTS", "SECONDS", "SHAPES", "Contender", "contenders"]

NAMES = {
    "cf-general": "Codeforces", "topcoder": "TopCoder", "trueskill": "TrueSkill", "elo-mmx": "Elo-MMχ",
    "elo-mmr": "Elo-MMR",
}  # fmt: skip
"""What the paper calls them."""

SHAPES = {
    "codeforces": (1087, 2999), "topcoder": (2023, 403), "reddit": (1000, 20), "synthetic": (50, 2500)
}  # fmt: skip
"""Table 1: contests, mean participants."""

PRINTED_CONTESTS = {"codeforces": 1087}
"""What of a data set that has grown since was there when the paper was written."""

_SECONDS = {
    "codeforces": [212.9, 72.5, 67.2, 31.4, 35.4],
    "topcoder": [9.60, 4.25, 16.8, 7.00, 7.52],
    "reddit": [1.19, 1.14, 0.44, 1.14, 1.42],
    "synthetic": [3.26, 1.00, 2.93, 0.81, 0.85],
}
SECONDS = {data: dict(zip(NAMES, printed, strict=True)) for data, printed in _SECONDS.items()}
"""Table 3: seconds, on 24 cores of 2.0 GHz."""

LIKE = {"paper": "synthetic", "paper-quarter": "synthetic"}
"""Data sets of ours that stand for one of the paper's."""

_BASELINES = {  # the engine's own baselines: beta and sig_drift of glicko-allpairs and of bar, for either metric
    "codeforces": (((125.0, 25.0), (125.0, 25.0)), ((25.0, 63.0), (25.0, 63.0))),
    "topcoder": (((165.0, 23.0), (165.0, 23.0)), ((55.0, 38.0), (55.0, 38.0))),
    "reddit": (((315.0, 80.0), (600.0, 38.0)), ((315.0, 29.0), (315.0, 29.0))),
    "ctf": (((70.0, 29.0), (35.0, 23.0)), ((30.0, 62.0), (45.0, 80.0))),
    "dance": (((70.0, 5.0), (70.0, 5.0)), ((30.0, 18.0), (30.0, 18.0))),
    "synth-sm": (((390.0, 29.0), (315.0, 80.0)), ((55.0, 80.0), (55.0, 80.0))),
    "synthetic": (((150.0, 8.0), (75.0, 10.0)), ((75.0, 13.0), (75.0, 5.0))),
}


class Contender(NamedTuple):
    """A system with hyperparameters; ``printed`` if it is one of the paper's rows."""

    label: str
    system: str
    settings: Mapping[str, Any]
    printed: bool = False


def contenders(data: str, metric: int) -> list[Contender]:
    """All systems; those of the paper and of its engine tuned for a data set where that is published.

    Parameters
    ----------
    metric
        0: tuned for pair inversion; 1: for rank deviation.
    """
    data = "synthetic" if data == "synth-la" else data  # it is the engine's that was tuned
    found: dict[str, Mapping[str, Any]] = {name: pair[metric] for name, pair in TUNED.get(data, {}).items()}
    for name, pair in zip(("glicko-allpairs", "bar"), _BASELINES.get(data, ()), strict=False):
        found[name] = dict(zip(("beta", "sig_drift"), pair[metric], strict=True))
    trueskill = found.pop("trueskill", {"model": "place", "convention": "half_variance"})
    exact = {name: value for name, value in trueskill.items() if name != "convention"}
    rows = [
        Contender("trueskill, as the engine", "trueskill", trueskill, True),
        Contender("trueskill, exact", "trueskill", exact),
    ]
    others = [Contender(name, name, found.get(name, {}), name in NAMES) for name in SYSTEMS if name != "trueskill"]
    # the paper's rows first, in its order
    return sorted(rows[:1] + others, key=lambda one: (not one.printed, [*NAMES, *SYSTEMS].index(one.system))) + rows[1:]
