"""Answers to the golden vectors of the prediction metrics (system ``metrics``), by contest and filter."""

from __future__ import annotations

from typing import Any

import numpy as np
import twins.metrics as slow
from golden.runner import ABOUT, Answers, Vector, known

from ranklake.rating_kernels.metrics.metrics import FILTERS, Filter, keep, score

MEANS = ("pair_inversion", "pair_inversion_equal_half", "rank_deviation")


def package(vector: Vector, step_by_step: bool = False) -> Answers:
    """What the package answers: of all contests in one call or, ``step_by_step``, of each by itself."""
    contests = _contests(vector)
    if step_by_step:
        return [_score([contest], vector)[0] for contest in contests]
    return _score(contests, vector)


def twin(vector: Vector) -> Answers:
    """What the plain-Python twin answers."""
    answers: Answers = []
    for contest in _contests(vector):
        answers.append({})
        rows = [(mu, lo, hi) for _, mu, lo, hi, _ in contest]
        for one in _filters(vector):
            kept = [rows[i] for i in slow.keep(rows, [_counts(n, one) for *_, n in contest], one.top)]
            answers[-1][one.name] = {"weight": len(kept)} | (_with_means(slow.score(kept)) if kept else {})
    return answers


def _score(contests: list[Any], vector: Vector) -> Answers:
    rows = [row for contest in contests for row in contest]
    offsets = np.cumsum([0, *map(len, contests)])
    mu, lo = np.array([row[1] for row in rows]), np.array([row[2] for row in rows], dtype=np.int32)
    answers: Answers = [{} for _ in contests]
    for one in _filters(vector):
        kept = keep(offsets, lo, np.array([_counts(row[4], one) for row in rows]), one.top)
        scores = score(kept, mu[kept.rows])
        for i, answer in enumerate(answers):
            rows_of_round = slice(*kept.offsets[i : i + 2].tolist())
            values: dict[str, Any] = {
                name: getattr(scores, name)[rows_of_round].tolist()
                for name in (*MEANS, "log2_performance", "cross_entropy")
            }
            for name in ("kendall_tau_b", "spearman_rho"):
                value = float(getattr(scores, name)[i])
                values[name] = None if np.isnan(value) else value
            weight = int(kept.weight[i])
            answer[one.name] = {"weight": weight} | (_with_means(values) if weight else {})
    return answers


def _with_means(scores: dict[str, Any]) -> dict[str, Any]:
    """Scores in the vectors' spelling, with their means."""
    n = len(scores["log2_performance"])
    values = scores | {f"{name}_mean": sum(scores[name]) / n for name in MEANS}
    values["log2_rank_error_mean"] = sum(map(abs, scores["log2_performance"])) / n
    values["cross_entropy"] = sum(scores["cross_entropy"]) / n
    return values


def _contests(vector: Vector) -> list[Any]:
    known("key", vector, ABOUT)
    known("parameter", vector["params"], {"top"})
    for contest in vector["contests"]:
        known("contest key", contest, {"rows"})
    return [contest["rows"] for contest in vector["contests"]]


def _filters(vector: Vector) -> list[Filter]:
    named = [FILTERS["everyone"], FILTERS["experienced"]]
    return named + [Filter(f"top{top}", top=top) for top in vector["params"].get("top", [])]


def _counts(n: int | None, one: Filter) -> bool:
    """In a vector a player may be known without a rated round; ``least`` of 1 only asks for that."""
    return n is not None and (one.least == 1 or n >= one.least)
