"""Reproducible experiments of the papers: one module each, found by name."""

from __future__ import annotations

from importlib import import_module

from .base import Experiment

_PACKAGES = {
    "datasets": "papers",
    "accuracy": "papers",
    "speed": "papers",
    "scaling": "papers",
    "transfer": "papers",
    "robustness": "properties",
    "influence": "properties",
    "farming": "properties",
    "incentives": "properties",
    "convergence": "papers",
    "calibration": "papers",
    "inflation": "properties",
    "srm": "papers",
    "residuals": "properties",
    "hindsight": "properties",
    "teams": "properties",
}
EXPERIMENTS = tuple(_PACKAGES)


def find_experiment(name: str) -> Experiment:
    """The experiment called ``name``."""
    if name not in EXPERIMENTS:
        raise ValueError(f"experiment must be one of {', '.join(EXPERIMENTS)}, got {name!r}")
    experiment: Experiment = import_module(f".{_PACKAGES[name]}.{name}", __name__).EXPERIMENT
    return experiment
