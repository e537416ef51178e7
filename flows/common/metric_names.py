"""Metrics of predictions by name: words for people, what a search optimises and a benchmark compares. No kernel."""

from __future__ import annotations

METRIC_NAMES = {
    "pair_inversion": "pair inversion %",
    "pair_inversion_equal_half": "equal half %",
    "rank_deviation": "rank deviation %",
    "log2_rank_error": "log2 rank error",
    "cross_entropy": "cross-entropy",
    "kendall_tau_b": "tau-b",
    "spearman_rho": "rho",
    "rank_information": "information nats",
    "rank_likelihood": "likelihood nats",
    "own_cross_entropy": "own cross-entropy",
    "brier": "Brier score",
    "calibration_error": "calibration error %",
    "log_loss3": "log loss of three results",
}
TUNED_METRICS = (
    "pair_inversion",
    "rank_deviation",
    "rank_information",
    "rank_likelihood",
    "own_cross_entropy",
    "brier",
    "calibration_error",
    "cross_entropy",
    "log2_rank_error",
    "log_loss3",
)
"""The metrics that a search can optimise: of the command, of Python and of the record."""
COMPARED_METRICS = (
    *("pair_inversion", "pair_inversion_equal_half", "rank_deviation", "rank_information", "rank_likelihood"),
    *("own_cross_entropy", "brier", "calibration_error", "log_loss3", "brier3", "ranked_probability"),
)
"""The metrics by which a benchmark compares systems."""
