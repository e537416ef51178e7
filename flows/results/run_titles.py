"""The titles of a run.

They are those of a command's option ``--titles``; without it, those that ``rate --titles`` wrote to
``run.json``; without them, Codeforces' titles for data sets from Codeforces, and none for other data sets.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from ranklake.storage import DamagedError, Dataset, Run
from ranklake.storage.lake.layout import run_file

from .titles import CODEFORCES, NONE, Titles, TitlesChoice

_HOST = "codeforces.com"
_SCALE = (1000.0, 2000.0)  # mu of a newcomer, rating points; Codeforces' thresholds fit these scales


def titles_of(run: Run, dataset: Dataset, mu_init: float, choice: TitlesChoice = None) -> Titles:
    """The titles of a run, by the rule of this module.

    ``mu_init``: the mean of a newcomer's belief, rating points.
    Raises ``DamagedError`` if the titles in ``run.json`` are invalid.
    """
    if isinstance(choice, Titles):
        return choice
    recorded = run.config.get("titles") if choice is None else None
    if recorded is None:
        return default_titles(dataset, mu_init)
    try:
        return Titles.from_json(recorded)
    except ValueError as error:
        remedy = f"`ranklake rate --run {run.name} --titles auto` removes the record"
        raise DamagedError(f"{run_file(run.name)}: {error}; {remedy}", path=run_file(run.name)) from error


def default_titles(dataset: Dataset, mu_init: float) -> Titles:
    """Codeforces' titles if the first contest with an address is at Codeforces and the scale fits; otherwise none."""
    urls = dataset.contests.column("url").drop_null()
    host = (urlsplit(urls[0].as_py()).hostname or "") if len(urls) else ""
    fits = _SCALE[0] <= mu_init <= _SCALE[1] and (host == _HOST or host.endswith(f".{_HOST}"))
    return CODEFORCES if fits else NONE
