"""What documents printed, and the hyperparameters they printed it with.

Source: Ebtekar and Liu, "An Elo-like System for Massive Multiplayer Competitions" (arXiv:2101.00400), Tables 1 to 3;
tuned hyperparameters are those of the configurations published with the authors' engine, made on the first tenth of
each data set, for pair inversion and for rank deviation. The data sets published beside it have grown since.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

__all__ = ["ACCURACY", "LIKE", "PRINTED_CONTESTS", "SECONDS", "SHAPES", "SYSTEMS", "Contender", "contenders"]

SHAPES = {
    "codeforces": (1087, 2999), "topcoder": (2023, 403), "reddit": (1000, 20), "synthetic": (50, 2500)
}  # fmt: skip
"""Table 1: contests, mean participants."""

PRINTED_CONTESTS = {"codeforces": 1087}
"""What of a data set that has grown since was there when the paper was written."""

SYSTEMS = ("Codeforces", "TopCoder", "TrueSkill", "Elo-MMχ", "Elo-MMR")
_ACCURACY = {
    "codeforces": [(78.3, 14.9), (78.5, 15.1), (61.7, 25.4), (78.5, 14.8), (78.6, 14.7)],
    "topcoder": [(72.6, 18.5), (72.3, 18.7), (68.7, 20.9), (73.0, 18.3), (73.1, 18.2)],
    "reddit": [(61.5, 27.3), (61.4, 27.4), (61.5, 27.2), (61.6, 27.3), (61.6, 27.3)],
    "synthetic": [(81.7, 12.9), (81.7, 12.8), (81.3, 13.1), (81.7, 12.8), (81.7, 12.8)],
}
ACCURACY = {data: dict(zip(SYSTEMS, printed, strict=True)) for data, printed in _ACCURACY.items()}
"""Table 2: pair inversion and rank deviation, percent."""

_SECONDS = {
    "codeforces": [212.9, 72.5, 67.2, 31.4, 35.4],
    "topcoder": [9.60, 4.25, 16.8, 7.00, 7.52],
    "reddit": [1.19, 1.14, 0.44, 1.14, 1.42],
    "synthetic": [3.26, 1.00, 2.93, 0.81, 0.85],
}
SECONDS = {data: dict(zip(SYSTEMS, printed, strict=True)) for data, printed in _SECONDS.items()}
"""Table 3: seconds, on 24 cores of 2.0 GHz."""

LIKE = {"paper": "synthetic", "paper-quarter": "synthetic"}
"""Data sets of ours that stand for one of the paper's."""


class Contender(NamedTuple):
    """A system with hyperparameters: its name in the paper, empty if it is not there."""

    label: str
    printed: str
    system: str
    settings: Mapping[str, Any]


# for each data set, of mmr: weight_limit, sig_limit, split, rho; mmx: without rho; cfsys: beta, weight; tcsys:
# multiplier; trueskill: eps, beta, drift; glicko and bar: beta, drift; tuned for (pair inversion, rank deviation)
_TUNED: Mapping[str, Mapping[str, tuple[tuple[float, ...], tuple[float, ...]]]] = {
    "codeforces": {
        "mmr": ((0.23, 54, 0, 0.04), (0.23, 54, 0, 0)), "mmx": ((0.16, 74, 0),) * 2, "cfsys": ((65, 0.631),) * 2,
        "tcsys": ((0.905,),) * 2, "trueskill": ((11.5, 40, 10),) * 2, "glicko": ((125, 25),) * 2,
        "bar": ((25, 63),) * 2,
    },
    "topcoder": {
        "mmr": ((0.07, 79, 0, 0), (0.11, 81, 0, 0)), "mmx": ((0.07, 79, 0),) * 2, "cfsys": ((30, 0.56),) * 2,
        "tcsys": ((0.68,),) * 2, "trueskill": ((21.5, 110, 18), (21.5, 85, 11)), "glicko": ((165, 23),) * 2,
        "bar": ((55, 38),) * 2,
    },
    "reddit": {
        "mmr": ((0.11, 190, 0, 5), (0.02, 76, 1, math.inf)), "mmx": ((0.03, 95, 1), (0.04, 120, 1)),
        "cfsys": ((30, 0.05),) * 2, "tcsys": ((0.21,),) * 2, "trueskill": ((100, 485, 23),) * 2,
        "glicko": ((315, 80), (600, 38)), "bar": ((315, 29),) * 2,
    },
    "ctf": {
        "mmr": ((0.11, 81, 0, 0.04), (0.19, 28, 0, 0)), "mmx": ((0.19, 12, 1),) * 2, "cfsys": ((30, 0.56),) * 2,
        "tcsys": ((0.62,), (0.89,)), "trueskill": ((21.5, 85, 11), (10, 30, 8)), "glicko": ((70, 29), (35, 23)),
        "bar": ((30, 62), (45, 80)),
    },
    "dance": {
        "mmr": ((0.65, 22, 0, 0),) * 2, "mmx": ((1.77, 36, 0), (1.77, 28, 0)), "cfsys": ((85, 6.18), (45, 10)),
        "tcsys": ((2.6,),) * 2, "trueskill": ((1, 30, 5),) * 2, "glicko": ((70, 5),) * 2, "bar": ((30, 18),) * 2,
    },
    "synth-sm": {
        "mmr": ((0.34, 103, 0, 0),) * 2, "mmx": ((0.19, 126, 1),) * 2, "cfsys": ((70, 0.9),) * 2,
        "tcsys": ((1.39,),) * 2, "trueskill": ((100, 110, 14),) * 2, "glicko": ((390, 29), (315, 80)),
        "bar": ((55, 80),) * 2,
    },
    "synth-la": {
        "mmr": ((0.18, 184, 1, math.inf),) * 2, "mmx": ((0.2, 154, 1), (0.2, 154, 0)),
        "cfsys": ((95, 0.631),) * 2, "tcsys": ((1.351,), (0.905,)), "trueskill": ((10, 95, 13), (0.1, 95, 16)),
        "glicko": ((150, 8), (75, 10)), "bar": ((75, 13), (75, 5)),
    },
}  # fmt: skip
_TUNED_LIKE = {"synthetic": "synth-la"}  # for the paper's own made-up history none are published


def contenders(data: str, metric: int) -> list[Contender]:
    """The systems of the paper and of its engine, tuned for a data set where that is published, else as they come.

    Parameters
    ----------
    metric
        0: tuned for pair inversion; 1: for rank deviation.
    """
    tuned = _TUNED.get(_TUNED_LIKE.get(data, data))
    found = {name: values[metric] for name, values in tuned.items()} if tuned else {}

    def limits(name: str) -> dict[str, Any]:
        if name not in found:
            return {}
        weight, sigma, split, *rho = found[name]
        told = {"weight_limit": weight, "sig_limit": sigma, "tie_mode": "split" if split else "full"}
        return told | ({"rho": rho[0]} if rho else {})

    def named(name: str, *fields: str) -> dict[str, Any]:
        return dict(zip(fields, found[name], strict=True)) if name in found else {}

    place = {"model": "place"} | named("trueskill", "eps", "beta", "tau")
    return [
        Contender("cf-general", "Codeforces", "cf-general", named("cfsys", "beta", "weight")),
        Contender("topcoder", "TopCoder", "topcoder", named("tcsys", "weight_multiplier")),
        Contender("trueskill, as the engine", "TrueSkill", "trueskill", place | {"convention": "half_variance"}),
        Contender("trueskill, exact", "", "trueskill", place),
        Contender("elo-mmx", "Elo-MMχ", "elo-mmx", limits("mmx")),
        Contender("elo-mmr", "Elo-MMR", "elo-mmr", limits("mmr")),
        Contender("glicko-allpairs", "", "glicko-allpairs", named("glicko", "beta", "sig_drift")),
        Contender("bar", "", "bar", named("bar", "beta", "sig_drift")),
        Contender("codeforces", "", "codeforces", {}),
        Contender("elo-r", "", "elo-r", {}),
        Contender("elo-srm", "", "elo-srm", {}),
        Contender("elo", "", "elo", {}),
        Contender("glicko", "", "glicko", {}),
        Contender("glicko2", "", "glicko2", {}),
    ]
