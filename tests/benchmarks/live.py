"""The row about ratings as matches happen: `ranklake rated` under load, and what one writes without it."""

from __future__ import annotations

import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import live_peer
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from live_services import Load, Service, loads, peer, rated
from timing import Options, Result, SkippedRow, invoke, run_command

SYSTEMS, QUICK_SYSTEMS = ("elo", "glicko2", "elo-mmr", "trueskill"), ("elo",)
PEERS = ("openskill", "glicko2")
N_PLAYERS, FEW_PLAYERS = 1_000_000, 1_000
N_RECORDS = 1_000_000  # of the log, for the recovery and the commit
SINGLES, BATCH, BATCHES, READS = 1_000.0, 1_000, 20.0, 5_000.0  # requests a second; matches of a batch
SECONDS, BATCH_SECONDS = 600.0, 20.0
PEER_RATE = 200.0  # single matches a second that the peers can answer
COMMIT_SECONDS = 120.0  # within which a day is written
P50, P99, PAUSE, START, RECOVERY, A_PLAYER = 1.5e-3, 5e-3, 20e-3, 5.0, 10.0, 400.0  # wanted


class _Sizes(NamedTuple):
    """Numbers of a run of the row: players, records of the log, and seconds of loads.

    ``warm``: of those that are not counted. ``commit``: of the one beside the commit of a day.
    """

    players: int
    records: int
    singles: float
    batches: float
    warm: float
    commit: float


def live(options: Options) -> Iterator[Result]:
    """Single matches, lists, reads beside them, memory, recovery and the commit of a day, by four systems; peers."""
    short = options.quick or options.limit is not None
    sizes = _Sizes(N_PLAYERS, N_RECORDS, SECONDS, BATCH_SECONDS, 2.0, 40.0)
    if options.limit is not None:
        sizes = _Sizes(options.smaller(N_PLAYERS), options.smaller(N_RECORDS), 0.3, 0.3, 0.1, 2.0)
    elif options.quick:
        sizes = _Sizes(N_PLAYERS // 10, N_RECORDS // 10, 5.0, 3.0, 1.0, 20.0)
    with tempfile.TemporaryDirectory() as folder:
        lake = _lake(Path(folder), "lake", sizes.players)
        empty = lake if options.limit is not None else _lake(Path(folder), "empty", FEW_PLAYERS)
        for system in QUICK_SYSTEMS if short else SYSTEMS:
            yield from _of_system(Path(folder), lake, empty, system, sizes)
        for package in PEERS[: 1 if options.limit is not None else None]:
            yield from _of_peer(Path(folder), package, sizes)


def _lake(folder: Path, name: str, n_players: int) -> Path:
    """A lake with a data set in which each of the players had a game."""
    file, lake, random = folder / f"{name}.parquet", folder / name, np.random.default_rng(37)
    order = random.permutation(n_players - n_players % 2)
    handles = pa.array([f"p{number}" for number in range(n_players)])
    white, black = (handles.take(pa.array(order[at::2])) for at in (0, 1))
    days = np.full(len(order) // 2, 1_767_225_600)
    pq.write_table(
        pa.table({"white": white, "black": black, "result": np.round(random.random(len(days))), "time": days}), file
    )
    run_command(invoke(), "ingest", "games", file, "--dataset", "live", "--lake", lake)
    return lake


def _of_system(folder: Path, lake: Path, empty: Path, system: str, sizes: _Sizes) -> Iterator[Result]:
    for one in {lake, empty}:
        run_command(invoke(), "rate", "--dataset", "live", "--system", system, "--run", system, "--lake", one)
    alone = 0
    if empty != lake:
        with rated(empty, system, folder / f"{system}-empty") as service:
            service.load(kind="match", rate=SINGLES, seconds=sizes.warm, players=FEW_PLAYERS)
            alone = service.resident
    log, numbers = folder / system, iter(range(1_000_000))
    with rated(lake, system, log) as service:
        each = (service.resident - alone) / sizes.players
        yield Result(
            "live", f"{system}: start with {sizes.players:,} players; {each:.0f} bytes of memory a player",
            service.start, case=f"{system}, start", figures={"bytes_a_player": each},
            targets={f"within {START:g} s: {service.start:.1f} s": service.start <= START,
                     f"at most {A_PLAYER:g} bytes a player: {each:.0f}": each <= A_PLAYER},
        )  # fmt: skip
        yield from _loads_of(service, system, sizes, SINGLES, numbers)
        had = int(service.metric("ranklake_rated_sequence"))
        while had < sizes.records:  # as fast as it takes them
            n = min(sizes.records - had, 20 * BATCH)
            plan = {"kind": "batch", "rate": 1e6, "seconds": 1e-6 * (n // BATCH or 1), "batch": min(n, BATCH)}
            done = service.load(**plan, seed=next(numbers), players=sizes.players, connections=2)
            had += done.n * min(n, BATCH)
            _check(done)
    with rated(lake, system, log) as service:
        yield Result(
            "live", f"{system}: start after {had:,} records of the log, with {sizes.players:,} players", service.start,
            case=f"{system}, recovery",
            targets={f"within {RECOVERY:g} s: {service.start:.1f} s": service.start <= RECOVERY},
        )  # fmt: skip
        yield _commit(service, system, sizes, next(numbers), had)


def _loads_of(service: Service, name: str, sizes: _Sizes, rate: float, numbers: Iterator[int]) -> Iterator[Result]:
    players = sizes.players
    service.load(kind="match", rate=rate, seconds=sizes.warm, players=players, seed=next(numbers))
    singles = service.load(kind="match", rate=rate, seconds=sizes.singles, players=players, seed=next(numbers))
    judged = name in SYSTEMS
    yield _result(name, f"{rate:,.0f} single matches/s", singles, rate, judged, P50, P99)
    plan = {"kind": "batch", "rate": BATCHES, "seconds": sizes.batches, "players": players, "connections": 4}
    batches = service.load(**plan, batch=BATCH, seed=next(numbers))
    yield _result(name, f"{BATCH * BATCHES:,.0f} matches/s in lists of {BATCH:,}", batches, BATCHES, judged)
    plan |= {"batch": BATCH, "seed": next(numbers)}
    reads = {"kind": "player", "rate": READS, "seconds": sizes.batches, "players": players}
    both = loads(service, service.begin(**plan), service.begin(**reads))
    yield _result(name, f"the same beside {READS:,.0f} reads/s: the lists", both[0], BATCHES, judged)
    yield _result(name, f"{READS:,.0f} players/s read beside them", both[1], READS, judged)


def _result(
    name: str, what: str, load: Load, rate: float, judged: bool, p50: float | None = None, p99: float | None = None
) -> Result:
    """A load; all requests must have an answer at the planned rate."""
    kept = load.rate >= 0.9 * rate
    targets = {f"no error: {load.failed}": not load.failed, f"{rate:,.0f} requests/s: {load.rate:,.0f}": kept}
    for quantile, wanted in (("p50", p50), ("p99", p99)):
        if wanted is not None:
            text = f"{quantile} below {1e3 * wanted:g} ms: {1e3 * load.latency[quantile]:.2f} ms"
            targets[text] = load.latency[quantile] < wanted
    shown = ", ".join(f"{quantile} {1e3 * load.latency[quantile]:.2f} ms" for quantile in ("p50", "p99", "max"))
    text = (
        f"{name}: {what}: {load.rate:,.0f} requests/s answered; {shown}; of a core the service takes "
        f"{load.service:.2f}, the generator {load.generator:.2f}"
    )
    figures = {f"{quantile}_seconds": value for quantile, value in load.latency.items()}
    figures |= {"requests_per_second": load.rate, "failed": load.failed, "late_p99_seconds": load.late}
    figures |= {"service_share": load.service, "generator_share": load.generator}
    cpu = load.service / load.rate if load.rate else None
    return Result("live", text, cpu, targets=targets if judged else {}, figures=figures, case=f"{name}, {what}")


def _commit(service: Service, system: str, sizes: _Sizes, seed: int, records: int) -> Result:
    """The day ends: its matches become a period of the lake while single matches go on."""
    before = service.load(kind="match", rate=SINGLES, seconds=sizes.warm, players=sizes.players, seed=seed)
    running = service.begin(
        kind="match", rate=SINGLES, seconds=sizes.commit, players=sizes.players, seed=seed + 1_000_000
    )
    time.sleep(sizes.warm)
    service.process.send_signal(signal.SIGUSR1)
    began = time.perf_counter()
    while service.metric("ranklake_rated_unsaved_records") >= records:
        if time.perf_counter() - began > COMMIT_SECONDS:
            raise RuntimeError(f"the day is not written after {COMMIT_SECONDS:g} s")
        time.sleep(0.2)
    seconds = time.perf_counter() - began
    (load,) = loads(service, running)
    _check(load)
    pause, usual = load.latency["max"], before.latency["max"]
    what = f"{system}: a day of {records:,} matches is written while {SINGLES:,.0f} matches/s go on"
    return Result(
        "live", f"{what}: the longest latency {1e3 * pause:.1f} ms, {1e3 * usual:.1f} ms before", seconds,
        case=f"{system}, commit", figures={"pause_seconds": pause, "before_seconds": usual},
        targets={f"pause at most {1e3 * PAUSE:g} ms: {1e3 * pause:.1f} ms": pause <= PAUSE},
    )  # fmt: skip


def _of_peer(folder: Path, package: str, sizes: _Sizes) -> Iterator[Result]:
    try:
        live_peer.rater(package)
    except ImportError as error:
        raise SkippedRow(f"{error}: pip install --group bench -e '.[all]'") from None
    database = folder / f"{package}.sqlite"
    live_peer.fill(str(database), package, sizes.players)
    name, numbers = f"{package} with Starlette and SQLite", iter(range(1_000_000))
    seconds = min(sizes.singles, 20.0)
    with peer(package, database) as service:
        service.load(kind="match", rate=PEER_RATE, seconds=sizes.warm, players=sizes.players, seed=next(numbers))
        for rate in (PEER_RATE, SINGLES):
            plan = {"kind": "match", "rate": rate, "seconds": seconds, "players": sizes.players}
            yield _result(name, f"{rate:,.0f} single matches/s", service.load(**plan, seed=next(numbers)), rate, False)
        plan = {"kind": "batch", "rate": BATCHES, "seconds": min(sizes.batches, 5.0), "players": sizes.players}
        batches = service.load(**plan, connections=4, seed=next(numbers))
        yield _result(name, f"{BATCH * BATCHES:,.0f} matches/s in lists of {BATCH:,}", batches, BATCHES, False)
        reads = service.load(kind="player", rate=READS, seconds=min(sizes.batches, 5.0), players=sizes.players)
        yield _result(name, f"{READS:,.0f} players/s read", reads, READS, False)


def _check(load: Load) -> None:
    if load.failed:
        raise RuntimeError(f"{load.failed:,} requests failed: {load.example}")
