"""Rates players from the whole history of ranked contests.

DataFrames in, DataFrames out
    Ratings           Ratings of all players after a history of contests.
    rate_history      Rate a whole history of contests.
    predict           Predict a round among some players.
    preview           Preview a contest: the rating changes from its standings. Nothing is written.
    team_rating       The rating of a team of some players: the level that beats all of them at once half of the time.
    smooth_history    Smooth a whole history of contests: skills at every contest, given all contests before and after.
    evaluate_history  Score how well the ratings before each round predicted its places.
    compare           Score ratings of the same contests on the rounds that all of them rated.
    benchmark         Compare rating systems on histories: accuracy, calibration, seconds and drift of the level.
    tune              Try hyperparameters on the first contests, and test the best ones on the others.
    systems           All rating systems, or the hyperparameters of one, or those of a preset.

A lake of Parquet files
    Lake              The lake at a path or at any address that fsspec knows.
    Dataset           A data set at the time it was opened.
    Run               One system's ratings of one data set.
    evaluate          Score the rounds of a run from ``first_round`` on.

Others
    k_for             K of Elo with which so many wins against equals gain 400 points, or others.
    wins_for          The number of wins against equals that gain 400 points with a K.
    SYSTEMS           Rating systems by name, for use with :mod:`ranklake.rating_kernels`.
    __version__       The installed version.

``help(ranklake.rate_history)`` describes one of them. ``python -m ranklake`` runs the command.
"""

# The names are imported on first use, so that ``import ranklake`` is fast.

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ranklake.flows.benchmark.frames import benchmark
    from ranklake.flows.evaluation.evaluate import evaluate
    from ranklake.flows.evaluation.frames import evaluate_history
    from ranklake.flows.frames.history import rate_history, smooth_history
    from ranklake.flows.frames.predict import predict, team_rating
    from ranklake.flows.preview.frames import preview
    from ranklake.flows.ratings.choices import compare, systems, tune
    from ranklake.flows.ratings.lakes import Lake, Run
    from ranklake.flows.ratings.ratings import Ratings
    from ranklake.rating_kernels import SYSTEMS
    from ranklake.rating_kernels.systems.elo import k_for, wins_for
    from ranklake.storage import Dataset

    __version__: str

__all__ = [
    "SYSTEMS",
    "Dataset",
    "Lake",
    "Ratings",
    "Run",
    "__version__",
    "benchmark",
    "compare",
    "evaluate",
    "evaluate_history",
    "k_for",
    "predict",
    "preview",
    "rate_history",
    "smooth_history",
    "systems",
    "team_rating",
    "tune",
    "wins_for",
]

_MODULES = {
    "SYSTEMS": "ranklake.rating_kernels",
    "Dataset": "ranklake.storage",
    "Lake": "ranklake.flows.ratings.lakes",
    "Ratings": "ranklake.flows.ratings.ratings",
    "Run": "ranklake.flows.ratings.lakes",
    "benchmark": "ranklake.flows.benchmark.frames",
    "compare": "ranklake.flows.ratings.choices",
    "evaluate": "ranklake.flows.evaluation.evaluate",
    "evaluate_history": "ranklake.flows.evaluation.frames",
    "k_for": "ranklake.rating_kernels.systems.elo",
    "predict": "ranklake.flows.frames.predict",
    "preview": "ranklake.flows.preview.frames",
    "rate_history": "ranklake.flows.frames.history",
    "smooth_history": "ranklake.flows.frames.history",
    "systems": "ranklake.flows.ratings.choices",
    "team_rating": "ranklake.flows.frames.predict",
    "tune": "ranklake.flows.ratings.choices",
    "wins_for": "ranklake.rating_kernels.systems.elo",
}

_RENAMED = {"search": "tune"}  # the old names work in this release only


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("ranklake")
    if name in _RENAMED:
        import warnings

        value = __getattr__(_RENAMED[name])  # first: imports change the filters, and Python would warn again
        warnings.warn(f"ranklake.{name} is ranklake.{_RENAMED[name]} now", FutureWarning, stacklevel=2)
        return value
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_MODULES[name]), name)
    return value


def __dir__() -> list[str]:
    return list(__all__)
