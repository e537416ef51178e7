"""Rounds that another kind of machine rated: said by every command, and continued from when the operator accepts it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import msgspec
import numpy as np
import pyarrow as pa
import pytest
from helpers.commands import Command
from helpers.lakes import copy_of, ingest, rated, same_tables, synthetic
from helpers.rated_runs import folder, manifests

from ranklake.flows.engines.environment import machine
from ranklake.storage import Lake, Run

ELSEWHERE = "z80 with luck, numba 0.0, numpy 0.0"
LATER = synthetic(72)


def rate_elsewhere(lake: Lake, numbers: Iterable[int], points: float = 0.0, machine: str = ELSEWHERE) -> None:
    """Make some segments such as another kind of machine writes them; ``points`` 0.0: the last bit of one ``mu``."""
    run = Run.open(lake, "run")
    segments = run.segments().segments
    for segment in [segments[number] for number in numbers]:
        table = run.read_segment(segment)
        mu = table.column("mu").to_numpy().copy()
        mu[3] = mu[3] + points if points else np.nextafter(mu[3], np.inf)
        at = table.schema.get_field_index("mu")
        written = lake.write_table(
            run.path_of(segment), table.set_column(at, table.schema.field(at), pa.array(mu)), "rounds"
        )
        digests = {"file_size": written.size, "file_digest": written.digest}
        changed = msgspec.structs.replace(segment, machine=machine, **digests)
        lake.write_bytes(f"{run.path_of(segment).removesuffix('parquet')}json", changed.to_json())


def without_snapshots(lake: Lake) -> None:
    """As after a crash: the next rating computes all rounds again."""
    Run.open(lake, "run").prune_snapshots(0)


def accepts(lake: Lake) -> object:
    return json.loads((folder(lake, "") / "run.json").read_text()).get("accept_rounding")


def test_rate__records_the_kind_of_machine(rated_once: Lake) -> None:
    segments = Run.open(rated_once, "run").segments().segments
    assert {segment.machine for segment in segments} == {machine()}
    assert all(word in machine() for word in ("numba", "numpy"))


@pytest.mark.quick("recorded")
@pytest.mark.parametrize("recorded", [ELSEWHERE, ""], ids=["recorded", "release 0.1"])
def test_rate__continues_after_rounds_of_another_machine_once_that_is_accepted(
    rated_once: Lake, tmp_path: Path, invoke: Command, recorded: str
) -> None:
    lake = copy_of(rated_once, tmp_path / "lake")
    rate_elsewhere(lake, [0, 3], machine=recorded)
    without_snapshots(lake)
    before = rated(lake)
    command = ("rate", "--run", "run", "--lake", lake.url)
    refused = invoke.refuses(*command)
    cause = f"were rated on {ELSEWHERE}, and this machine is {machine()}" if recorded else "another release or kind"
    assert cause in refused
    assert "--accept-rounding` continues from them, `ranklake rate --run run --from 0` rates it again" in refused
    done = invoke(*command, "--accept-rounding")
    assert done.code == 0, done.err
    assert f"replayed 60 of them (they differ by up to {np.spacing(1500.0):.1g} in mu: " in done.out
    assert cause in done.out
    assert same_tables(rated(lake), before)  # they stay as they were rated
    assert accepts(lake) is True
    ingest(lake, LATER[60:])
    without_snapshots(lake)
    assert invoke(*command).code == 0  # the run remembers
    assert "complete" in invoke("runs", "--lake", lake.url).out
    assert Run.open(lake, "run").segments().stop_round == len(LATER)
    without_snapshots(lake)
    assert cause in invoke.refuses(*command, "--same-bits")
    assert accepts(lake) is None


def test_rate__never_accepts_more_than_rounding(lake: Lake, invoke: Command) -> None:
    command = ("rate", "--run", "run", "--lake", lake.url)
    assert invoke("rate", "--dataset", "games", *command[1:]).code == 0
    rate_elsewhere(lake, [2], points=0.001)
    without_snapshots(lake)
    before = [path.read_bytes() for path in manifests(lake)]
    refused = invoke.refuses(*command, "--accept-rounding")
    assert "have another mu than stored, by up to 0.001; they were rated on z80" in refused
    assert "--accept-rounding`" not in refused
    assert "--from" in refused
    assert [path.read_bytes() for path in manifests(lake)] == before


@pytest.mark.slow
def test_replay__says_that_another_machine_rated_the_rounds(rated_once: Lake, tmp_path: Path, invoke: Command) -> None:
    lake = copy_of(rated_once, tmp_path / "lake")
    command = ("verify", "--run", "run", "--replay", ":", "--lake", lake.url)
    assert "have the same bits" in invoke(*command).out
    rate_elsewhere(lake, [1])
    rate_elsewhere(lake, [4], machine=machine())  # by this machine, from the beliefs that the other one left
    found = invoke(*command)
    assert found.code == 0, found.out
    assert "rounds 0 to 59, computed again, differ by rounding alone" in found.out
    (note,) = (line for line in found.err.splitlines() if line.startswith("note: run run"))
    assert (
        f"they were rated on {ELSEWHERE}, and this machine is {machine()}; such a difference of bits is expected"
        in note
    )
    rate_elsewhere(lake, [0], machine=machine())  # before any round of another machine: nothing explains it
    found = invoke(*command)
    assert found.code == 1
    assert "have another mu, by up to" in found.out
    assert "`ranklake rate --run run --from 0` rates it again" in found.out


def test_compact__keeps_the_kinds_of_machines(rated_once: Lake, tmp_path: Path, invoke: Command) -> None:
    lake = copy_of(rated_once, tmp_path / "lake")
    rate_elsewhere(lake, [1])
    assert invoke("compact", "--run", "run", "--lake", lake.url).code == 0
    (merged,) = Run.open(lake, "run").segments().segments
    assert merged.machine == f"{machine()} and {ELSEWHERE}"
    found = invoke("verify", "--run", "run", "--replay", ":", "--lake", lake.url)
    assert f"rated on {ELSEWHERE}, and this machine is {machine()}; such" in found.err
    ingest(lake, LATER[60:])
    assert invoke("rate", "--run", "run", "--lake", lake.url).code == 0
    assert invoke("compact", "--run", "run", "--lake", lake.url).code == 0
    (again,) = Run.open(lake, "run").segments().segments
    assert again.machine == merged.machine
