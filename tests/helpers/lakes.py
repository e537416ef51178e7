"""Small lakes for the tests of the pipeline: synthetic contests in, rated rounds out, and ways to compare them."""

from __future__ import annotations

import math
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from ranklake.flows.common.configuration.settings import build_params, find_system
from ranklake.flows.engines.protocols import Engine
from ranklake.flows.engines.serial import Serial
from ranklake.flows.execution.rounds import rate_rounds
from ranklake.flows.rating.commits import commit_policy
from ranklake.flows.rating.commits.commit_policy import CommitPolicy
from ranklake.flows.rating.config import RunConfig
from ranklake.flows.rating.rate import RateOptions, rate
from ranklake.flows.rating.report import Progress, RateReport
from ranklake.rating_kernels import Outcome, Rounds
from ranklake.storage import Contest, Dataset, Lake, Run
from ranklake.storage.lake import limits as default_limits
from ranklake.storage.lake.limits import Limits
from ranklake.storage.leases.reserve import RESERVE

NO_PROGRESS = "from ranklake.flows.common import progress\nprogress.FIRST_SECONDS = float('inf')\n"
NUMBERS = ("perf", "mu_prior", "sigma_prior", "mu", "sigma")
SPICE = 7  # of so many contests of ``synthetic``, one is of each unusual kind


def often(**sizes: float) -> CommitPolicy:
    """A commit policy for small lakes of many segments and snapshots.

    Sizes alone decide, unless seconds are given: a stalled machine would commit more often.
    """
    return CommitPolicy(**{"segment_seconds": math.inf, "snapshot_seconds": 1e9} | sizes)  # type: ignore[arg-type]


def commit_often(patch: pytest.MonkeyPatch, **sizes: float) -> None:
    """Change the default commit policy of this process, for commands and flows, which take none."""
    patch.setattr(commit_policy, "DEFAULT", often(**sizes))


def small_files(patch: pytest.MonkeyPatch, **sizes: Any) -> None:
    """Change the default limits of lakes of this process, for commands and flows, which take none."""
    patch.setattr(default_limits, "DEFAULT", Limits(**sizes))


def contest(contest_id: str, *groups: str | Sequence[str], time_seconds: int = 0, **more: Any) -> Contest:
    """A contest of tie groups, best first; a group of one may be just its name."""
    tied = [[group] if isinstance(group, str) else list(group) for group in groups]
    sizes = np.array([len(group) for group in tied])
    ends = np.cumsum(sizes)
    handles = pa.array([handle for group in tied for handle in group], pa.string())
    lo, hi = (np.repeat(place, sizes).astype(np.int32) for place in (ends - sizes, ends - 1))
    return Contest(contest_id, f"Contest {contest_id}", "", time_seconds, handles, lo, hi, **more)


def synthetic(
    n_rounds: int, seed: int = 1, n_players: int = 40, size: int = 12, spice: bool = True, large: int = -1
) -> list[Contest]:
    """Contests with ties; with ``spice`` also with weights, ceilings, clocks that go back, and nobody told apart.

    Contest number ``large`` has 1,500 more participants, so that its work is shared among an engine's hands.
    """
    rng = np.random.default_rng(seed)
    names = np.array([f"player {i}" for i in range(n_players)] + [f"visitor {i}" for i in range(1500)])
    skill = rng.normal(1500, 300, len(names))
    made, time = [], 1_000_000
    for i in range(n_rounds):
        kind = i % SPICE if spice else -1
        more: dict[str, Any] = {}
        field = rng.permutation(n_players)[: int(rng.integers(2, size + 1))]
        if i == large:
            field = np.arange(len(names))
        shown = np.rint((skill[field] + rng.normal(0, 200, len(field))) / 60)
        if kind == 2:
            more = {"weight": float(rng.choice([0.1, 0.5, 3.0]))}
        elif kind == 3:
            more = {"perf_ceiling": 1600.0}
        elif kind == 4:
            time -= 500_000
        elif kind == 5:
            field, shown = field[:1], shown[:1]
        elif kind == 6:
            shown[:] = 0
        places = np.unique(-shown)
        groups = [names[field[-shown == place]].tolist() for place in places]
        made.append(contest(str(i), *groups, time_seconds=time, **more))
        time += int(rng.integers(0, 400_000))
    return made


def ingest(lake: Lake, contests: Iterable[Contest], dataset: str = "games") -> list[str]:
    with Dataset.ingest(lake, dataset) as adding:
        return [adding.add(one) for one in contests]


def lake_of(path: Path, contests: Iterable[Contest], dataset: str = "games", limits: Limits | None = None) -> Lake:
    """A new lake that holds the contests."""
    lake = Lake.open(path, create=True, limits=limits)
    ingest(lake, contests, dataset)
    return lake


def copy_of(lake: Lake, path: Path) -> Lake:
    """A copy of a lake on the disk, which a test may change; made faster than the lake."""
    shutil.copytree(lake.url, path)
    return Lake.open(path, limits=lake.limits)


def rate_run(
    lake: Lake,
    *,
    run: str = "run",
    dataset: str = "games",
    system: str = "elo-mmr",
    engine: Engine | None = None,
    max_rounds: int | None = None,
    skip_uninformative: bool | None = None,
    steal: bool = False,
    on_progress: Callable[[Progress], None] = lambda _: None,
    exclude: tuple[str, ...] = (),
    include: tuple[str, ...] = (),
    dry_run: bool = False,
    replace: bool = False,
    policy: CommitPolicy | None = None,
    **settings: Any,
) -> RateReport:
    """Bring a run up to date."""
    params = build_params(find_system(system), settings)
    config = RunConfig(dataset, run, system, params, skip_uninformative, exclude, include, replace=replace)
    options = RateOptions(max_rounds, None, steal, dry_run, on_progress, policy=policy)
    return rate(lake, config, engine or Serial(), options)


def rated(lake: Lake, run: str = "run") -> pa.Table:
    """Every rated row of a run, with the player's handle in place of the number, which depends on who came first."""
    opened = Run.open(lake, run)
    rows = opened.read_rounds(verify=True)
    handles = Dataset.open(lake, opened.config["dataset"]).handles().take(rows.column("player").combine_chunks())
    return rows.set_column(rows.schema.get_field_index("player"), "player", handles)


def to_rounds(contests: Sequence[Contest]) -> tuple[Rounds, list[str]]:
    """Contests as the kernels take them, and the players' names by number."""
    number: dict[str, int] = {}
    players = [number.setdefault(name, len(number)) for one in contests for name in one.handles.to_pylist()]
    rounds = Rounds.from_columns(
        np.cumsum([0, *map(len, contests)]),
        players,
        np.concatenate([one.lo for one in contests]),
        np.concatenate([one.hi for one in contests]),
        [one.time_seconds for one in contests],
        [one.weight for one in contests],
        [one.perf_ceiling for one in contests],
    )
    return rounds, list(number)


def rated_in_memory(
    contests: Sequence[Contest], skip_uninformative: bool | None = None, system: str = "elo-mmr", **settings: Any
) -> tuple[Outcome, dict[str, list[Any]]]:
    """What the kernels alone make of all contests in one call; and round, contest and player of each row."""
    rounds, names = to_rounds(contests)
    found = find_system(system)
    skip_ties = found.name in ("elo-mmr", "elo-mmx", "elo-r") if skip_uninformative is None else skip_uninformative
    counts = [
        skip_uninformative is False or not (len(one) == 1 or (skip_ties and len(one) > 2 and one.hi[0] == len(one) - 1))
        for one in contests
    ]
    kept, index = rounds.keep(np.array(counts)), np.flatnonzero(counts)
    params = build_params(found, settings)
    outcome = rate_rounds(found, params, found.newcomers(params, len(names)), kept, Serial())
    of_row = np.repeat(index, np.diff(kept.offsets)).tolist()
    return outcome, {
        "round_index": of_row,
        "contest_id": [contests[i].contest_id for i in of_row],
        "player": [names[i] for i in kept.player],
        "lo": kept.lo.tolist(),
        "hi": kept.hi.tolist(),
    }


def same_tables(one: pa.Table, other: pa.Table) -> bool:
    """Whether tables of rated rows are equal to the bit."""
    if one.column_names != other.column_names or one.num_rows != other.num_rows:
        return False
    for name in one.column_names:
        a, b = one.column(name), other.column(name)
        if pa.types.is_floating(a.type):
            a, b = (column.to_numpy().view(np.int64) for column in (a, b))
            if not np.array_equal(a, b):
                return False
        elif a.to_pylist() != b.to_pylist():
            return False
    return True


def same_beliefs(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two snapshots hold the same columns to the bit."""

    def bits(columns: dict[str, Any]) -> dict[str, list[bytes]]:
        flat = {name: column if isinstance(column, tuple) else (column,) for name, column in columns.items()}
        return {name: [array.tobytes() for array in arrays] for name, arrays in flat.items()}

    return bits(one) == bits(other)


def files(folder: Path) -> dict[str, bytes]:
    """Every file below a folder and its bytes; apart from leases, which tell who wrote, and the reserve."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in _below(folder)}


def stamps(folder: Path) -> dict[str, tuple[int, int]]:
    """Every file below a folder, and what tells that it was written again; apart from leases and the reserve."""
    return {str(path.relative_to(folder)): (path.stat().st_ino, path.stat().st_mtime_ns) for path in _below(folder)}


def _below(folder: Path) -> list[Path]:
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file() and not path.name.startswith("lease-"))
    return [path for path in paths if path.parent.name != RESERVE]


def start(*arguments: str, before: str = "", **options: Any) -> subprocess.Popen[bytes]:
    """The command in a process of its own, which first runs the Python of ``before``; end it by its handle.

    It prints no progress: a command on a slow machine would.
    """
    program = f"import sys; sys.argv[0] = 'ranklake'\n{NO_PROGRESS}{before}\n"
    program += "from ranklake.flows.cli.main import main\nmain()\n"
    options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    return subprocess.Popen([sys.executable, "-c", program, *arguments], **options)
