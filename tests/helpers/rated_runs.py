"""A data set that is rated in many small files, corrections of it, and damage to its run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from helpers.lakes import lake_of, rate_run, synthetic

from ranklake.flows.engines.serial import Serial
from ranklake.flows.maintenance.verify import replay
from ranklake.storage import Contest, Dataset, Lake, Run
from ranklake.storage.maintenance.verify import verify_dataset, verify_rows, verify_run

SEGMENT_ROWS = 30
CONTESTS_MADE = synthetic(60)


def folder(lake: Lake, what: str = "rounds", run: str = "run") -> Path:
    return Path(lake.url) / "runs" / run / what


def manifests(lake: Lake) -> list[Path]:
    return sorted(folder(lake).glob("*.json"))


def fresh(tmp_path: Path, contests: list[Contest], **options: Any) -> Lake:
    """A new lake with these contests, rated by the engine serial unless ``options`` name another."""
    lake = lake_of(tmp_path / "fresh", contests)
    rate_run(lake, **options)
    return lake


def changed(one: Contest) -> dict[str, Contest]:
    """Corrections of a contest, by kind."""
    facts = {"contest_id": one.contest_id, "name": one.name, "url": one.url, "time_seconds": one.time_seconds}
    n, handles = len(one), one.handles.to_pylist()
    places = {"lo": one.lo, "hi": one.hi}
    return {
        "order": Contest(**facts, handles=pa.array(handles[::-1]), **places),
        "all tied": Contest(
            **facts, handles=one.handles, lo=np.zeros(n, dtype=np.int32), hi=np.full(n, n - 1, dtype=np.int32)
        ),
        "disqualified": Contest(
            **facts, handles=pa.array(handles[1:]), **dict.fromkeys(["lo", "hi"], np.arange(n - 1, dtype=np.int32))
        ),
        "newcomer": Contest(**facts, handles=pa.array(["nobody yet", *handles[1:]]), **places),
        "weight": Contest(**facts, handles=one.handles, **places, weight=2.5),
        "ceiling": Contest(**facts, handles=one.handles, **places, perf_ceiling=1400.0),
        "time": Contest(**facts | {"time_seconds": one.time_seconds + 86_400}, handles=one.handles, **places),
    }


def remove(path: Path) -> None:
    path.unlink()


def tear(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def problems(lake: Lake, name: str = "run", again: bool = True) -> list[str]:
    """The faults of a run and of its data set, and of rounds that are rated again."""
    run = Run.open(lake, name)
    dataset, stop = Dataset.open(lake, run.config["dataset"]), run.segments().stop_round
    found = [*verify_run(run), *verify_dataset(dataset), *verify_rows(run, dataset, stop)]
    return [*found, *replay(lake, name, 0, stop - 1, Serial(), [])] if again else found
