"""Reads golden vectors, has a system answer them and compares: unknown systems, parameters and fields are failures.

A vector file is one case: ``{"id", "system", "rtol", "params", "contests", "expected", ...}``. ``RUNNERS`` maps its
``system`` to the function that answers it; a new system is one more entry.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernels.histories import factors, four_steps, know
from twins.elo_mmr import Twin

from flows.engines.serial import Serial
from flows.rounds import rate_rounds
from rating_kernels import SYSTEMS, Beliefs, Rounds

__all__ = [
    "FOLDER",
    "RUNNERS",
    "Answers",
    "Case",
    "Vector",
    "cases",
    "check",
    "elo_mmr_params",
    "elo_mmr_twin",
    "known",
    "rate_vector",
]

Vector = Mapping[str, Any]
Answers = list[dict[str, dict[str, Any]]]  # a contest: player -> field -> number, or list of rows of numbers

FOLDER = Path(__file__).parent
ABOUT = {"id", "system", "source", "note", "rtol", "params", "contests", "expected", "printed"}  # any vector


@dataclass(frozen=True)
class Case:
    """One vector file and the name of its test."""

    name: str
    path: Path

    def load(self) -> Vector:
        """The file's content; raises ``ValueError`` where it is no vector."""
        vector = json.loads(self.path.read_text(encoding="utf-8"))
        if not isinstance(vector, dict) or not {"id", "system", "contests", "expected"} <= set(vector):
            raise ValueError(f"{self.path.name} is no vector: it needs id, system, contests and expected")
        return vector


def cases(folders: Iterable[Path] | None = None) -> list[Case]:
    """All vector files of ``folders``: by default this one and those that ``RANKLAKE_VECTORS`` names.

    Equal files in two folders are one case. Different files of one id are two; the later one's name tells its folder.
    """
    if folders is None:
        named = os.environ.get("RANKLAKE_VECTORS", "").split(os.pathsep)
        folders = [FOLDER, *(Path(name) for name in named if name)]
    found: dict[str, Path] = {}
    for folder in folders:
        paths = sorted(folder.glob("*.json"))
        if not paths:
            raise FileNotFoundError(f"no vector files (*.json) in {folder}")
        for path in paths:
            name = _id(path)
            if name in found and found[name].read_bytes() == path.read_bytes():
                continue
            found[name if name not in found else f"{name}@{folder.name}/{path.stem}"] = path
    return [Case(name, path) for name, path in found.items()]


def _id(path: Path) -> str:
    """The vector's id; the file's name where that cannot be read, so that its own test fails and not all of them."""
    try:
        return str(json.loads(path.read_text(encoding="utf-8"))["id"])
    except (ValueError, KeyError, TypeError):
        return path.stem


def check(vector: Vector, answers: Answers) -> None:
    """Raise ``AssertionError`` with what differs, unless ``|x - y| <= rtol * max(1, |y|)`` for all expected numbers."""
    rtol, expected = vector.get("rtol", 0.0), vector["expected"]
    assert len(answers) == len(expected), f"{len(answers)} contests answered, {len(expected)} expected"
    wrong = []
    for index, (answer, rows) in enumerate(zip(answers, expected, strict=True)):
        players = {row["player"] for row in rows}
        assert set(answer) == players, f"contest {index}: answered {sorted(answer)}, expected {sorted(players)}"
        for row in rows:
            given = answer[row["player"]]
            for name in row.keys() - {"player"}:
                if name not in given or not _close(given[name], row[name], rtol):
                    got = given.get(name, "nothing")
                    wrong.append(f"contest {index}, {row['player']}, {name}: got {got!r}, expected {row[name]!r}")
    assert not wrong, "\n".join([*wrong[:20], f"... {len(wrong)} in all, rtol {rtol}"])


def _close(x: Any, y: Any, rtol: float) -> bool:
    if isinstance(y, list):
        return len(x) == len(y) and all(_close(a, b, rtol) for a, b in zip(x, y, strict=True))
    return bool(abs(x - y) <= rtol * max(1.0, abs(y)))  # NaN is close to nothing


def known(what: str, given: Iterable[str], allowed: Iterable[str]) -> None:
    """Raise ``ValueError`` if ``given`` has a name that is not among ``allowed``."""
    unknown = sorted(set(given) - set(allowed))
    if unknown:
        raise ValueError(f"unknown {what}: {', '.join(unknown)}")


# --- Elo-MMR ---

_ELO_MMR = {"mu0": "mu_init", "sig0": "sigma_init"} | {
    name: name
    for name in (
        *("rho", "tie_mode", "weight_limit", "sig_limit", "beta", "gamma", "noob_delay", "drift_per_day"),
        *("history_len", "mu_init", "sigma_init", "ceiling_gaussian"),
    )
}


def elo_mmr_params(vector: Vector) -> dict[str, Any]:
    """The vector's hyperparameters in our spelling, without ``variant`` and ``initial_state``; unknown names raise."""
    known("key", vector, ABOUT)
    known("parameter", vector["params"], {*_ELO_MMR, "variant", "initial_state"})
    for contest in vector["contests"]:
        known("contest key", contest, {"standings", "performances", "time", "weight", "perf_ceiling"})
    params = {_ELO_MMR[name]: value for name, value in vector["params"].items() if name in _ELO_MMR}
    if "noob_delay" in params:
        params["noob_delay"] = tuple(params["noob_delay"])
    if params.get("rho") == "inf":
        params["rho"] = math.inf
    return params


def elo_mmr_twin(vector: Vector) -> Answers:
    """What the plain-Python twin answers."""
    extra = {name: vector["params"][name] for name in ("variant", "initial_state") if name in vector["params"]}
    twin = Twin(**elo_mmr_params(vector), **extra)
    answers = []
    for contest in vector["contests"]:
        how = {name: contest[name] for name in ("time", "weight", "perf_ceiling") if name in contest}
        if "performances" in contest:
            outcomes = twin.absorb([(name, p) for name, p in contest["performances"]], **how)
        else:
            outcomes = twin.rate([(name, lo, hi) for name, lo, hi in contest["standings"]], **how)
        answers.append(
            {
                outcome.player: {
                    "mu": outcome.mu,
                    "sig": outcome.sigma,
                    "performance": outcome.performance,
                    "normal_mu": outcome.normal_mu,
                    "normal_sig": outcome.normal_sigma,
                    "factors": outcome.factors,
                }
                for outcome in outcomes
            }
        )
    return answers


def rate_vector(vector: Vector, step_by_step: bool = False) -> Answers:
    """What the package answers: ``SYSTEMS["elo-mmr"]``, or ``SYSTEMS["elo-mmx"]`` for the Gaussian variant.

    With ``step_by_step`` each round, small as it is, goes through the four steps and the table that large ones need.
    """
    chosen, given = elo_mmr_params(vector), vector["params"]
    system = SYSTEMS[{"logistic": "elo-mmr", "gaussian": "elo-mmx"}[given.get("variant", "logistic")]]
    params, state = system.params(**chosen), given.get("initial_state", {})
    rows = {name: row for row, name in enumerate(sorted(_names(vector) | set(state)))}
    beliefs = system.newcomers(params, len(rows))
    for name, known_as in state.items():
        know(system, params, beliefs, [rows[name]], *(known_as[key] for key in ("mu", "sig", "n")))
    answers = []
    for contest in vector["contests"]:
        shown = "performances" in contest
        standings = [(n, i, i) for i, (n, _) in enumerate(contest["performances"])] if shown else contest["standings"]
        names, lo, hi = zip(*standings, strict=True)
        round = Rounds.from_columns(
            [0, len(names)],
            [rows[name] for name in names],
            lo,
            hi,
            [contest.get("time", 0)],
            [contest.get("weight", 1.0)],
            [contest.get("perf_ceiling", math.inf)],
        )
        if shown or step_by_step:
            performances = [p for _, p in contest["performances"]] if shown else None
            outcome = four_steps(system, params, beliefs, round, performances)
        else:
            outcome = rate_rounds(system, params, beliefs, round, Serial())
        answers.append(
            {name: _answer(beliefs, rows[name], float(p)) for name, p in zip(names, outcome.perf, strict=True)}
        )
    return answers


def _names(vector: Vector) -> set[str]:
    return {row[0] for c in vector["contests"] for row in c.get("performances") or c["standings"]}


def _answer(beliefs: Beliefs, row: int, performance: float) -> dict[str, Any]:
    """A player's belief as vectors spell it; a Gaussian one is its normal factor."""
    normal_mu = beliefs.state.get("normal_mu", beliefs.mu)
    normal_weight = beliefs.state.get("normal_weight", beliefs.sigma**-2.0)
    return {
        "mu": float(beliefs.mu[row]),
        "sig": float(beliefs.sigma[row]),
        "performance": performance,
        "normal_mu": float(normal_mu[row]),
        "normal_sig": float(normal_weight[row]) ** -0.5,
        "factors": factors(beliefs, row),
    }


RUNNERS: dict[str, Callable[[Vector], Answers]] = {"elo_mmr": rate_vector}
