"""Experiments of the papers, to be made again: one module each, all found here by name."""

from __future__ import annotations

from importlib import import_module

from .base import Experiment

__all__ = ["EXPERIMENTS", "find_experiment"]

EXPERIMENTS = (
    "datasets",
    "accuracy",
    "speed",
    "scaling",
    "transfer",
    "robustness",
    "influence",
    "farming",
    "incentives",
    "convergence",
    "calibration",
    "inflation",
    "srm",
)


def find_experiment(name: str) -> Experiment:
    """The experiment called ``name``.

    Raises
    ------
    ValueError
        Names those there are.
    """
    if name not in EXPERIMENTS:
        raise ValueError(f"experiment must be one of {', '.join(EXPERIMENTS)}, got {name!r}")
    found: Experiment = import_module(f".{name}", __name__).EXPERIMENT
    return found
