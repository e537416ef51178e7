"""Reproducible experiments of the papers, found by name."""

from __future__ import annotations

from importlib import import_module

from .base import Experiment

_MODULES = {
    "datasets": "papers.datasets",
    "accuracy": "papers.accuracy",
    "speed": "papers.cost",
    "scaling": "papers.cost",
    "transfer": "papers.accuracy",
    "losses": "papers.losses",
    "performances": "papers.performances",
    "robustness": "properties.robustness",
    "influence": "properties.influence",
    "farming": "properties.farming",
    "incentives": "properties.incentives",
    "monotone": "properties.monotone",
    "divisions": "properties.divisions",
    "convergence": "papers.convergence",
    "calibration": "papers.calibration",
    "inflation": "papers.gains",
    "srm": "papers.srm",
    "srm-figures": "papers.srm_figures",
    "stability": "papers.stability",
    "residuals": "properties.residuals",
    "hindsight": "papers.accuracy",
    "teams": "properties.teams",
    "all": "everything",
}
EXPERIMENTS = tuple(_MODULES)


def find_experiment(name: str) -> Experiment:
    """The experiment called ``name``."""
    if name not in EXPERIMENTS:
        raise ValueError(f"experiment must be one of {', '.join(EXPERIMENTS)}, got {name!r}")
    found: tuple[Experiment, ...] = import_module(f".{_MODULES[name]}", __name__).EXPERIMENTS
    return next(one for one in found if one.name == name)
