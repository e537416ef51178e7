"""Who met whom, stored beside a snapshot: continued from there, and ignored if it is damaged or of other rounds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from helpers.lakes import contest, ingest, lake_of, often, rate_run, synthetic

from ranklake.flows.rating import rate
from ranklake.flows.results import meetings
from ranklake.flows.results.components import Components
from ranklake.flows.results.meetings import meetings_of, meetings_of_dataset, store_meetings
from ranklake.storage import Dataset, Lake, Run
from ranklake.storage.runs.components import FILE, Meetings

POLICY = often(segment_rows=40, snapshot_rows=80)


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lake:
    """A lake with a run that stores who met whom after each rating."""
    monkeypatch.setattr(rate, "store_meetings", lambda *given: store_meetings(*given, least_rows=1))
    lake = lake_of(tmp_path / "lake", synthetic(20, n_players=60, size=5))
    rate_run(lake, policy=POLICY)
    return lake


def read_all(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> Meetings:
    """Who met whom, from all rounds."""
    with monkeypatch.context() as patch:
        patch.setattr(Run, "meetings", lambda *given: None)
        return of_run(lake)


def of_run(lake: Lake, stop: int | None = None) -> Meetings:
    run = Run.open(lake, "run")
    return meetings_of(run, Dataset.open(lake, "games"), run.segments(), stop)


def same(one: Meetings, other: Meetings) -> bool:
    return all(np.array_equal(*columns) for columns in zip(one, other, strict=True))


def stored(lake: Lake) -> Path:
    """The file beside the newest snapshot."""
    run = Run.open(lake, "run")
    return Path(lake.uri(f"{run.path_of_snapshot(run.snapshots()[-1])}/{FILE}"))


def read_rounds(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """The ranges of rounds that are read to know who met whom."""
    ranges, read = [], meetings._rounds
    with monkeypatch.context() as patch:
        patch.setattr(meetings, "_rounds", lambda *given: ranges.append(given[3]) or read(*given))
        of_run(lake)
    return ranges


def test_meetings__continue_from_the_newest_snapshot_that_has_them(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (stored(lake).is_file(), read_rounds(lake, monkeypatch)) == (True, [])
    before = read_all(lake, monkeypatch)
    assert same(of_run(lake), before)
    ingest(lake, [contest("new", "player 1", "new one", "player 30", time_seconds=10**9)])
    monkeypatch.setattr(rate, "store_meetings", lambda *given: None)
    rate_run(lake, policy=POLICY)
    assert read_rounds(lake, monkeypatch) == [(20, 21)]
    assert same(of_run(lake), read_all(lake, monkeypatch))
    earlier = Meetings(*(column[: len(before.roots)] for column in of_run(lake, 20)))
    assert same(earlier, before)
    assert read_rounds(lake, monkeypatch) == [(20, 21)]


@pytest.mark.quick("flipped")
@pytest.mark.parametrize("damage", ["gone", "torn", "flipped", "of other rounds", "no Arrow"])
def test_meetings__of_a_damaged_file_are_read_from_all_rounds(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    file, expected = stored(lake), read_all(lake, monkeypatch)
    data = file.read_bytes()
    if damage == "gone":
        file.unlink()
    elif damage == "torn":
        file.write_bytes(data[: len(data) // 2])
    elif damage == "flipped":
        at = data.index(expected.roots.tobytes())
        file.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
    elif damage == "of other rounds":
        run = Run.open(lake, "run")
        run.write_meetings(run.snapshots()[-1], Meetings(expected.roots * 0, expected.n_rounds), "0" * 32)
    else:
        file.write_bytes(b"")
    assert same(of_run(lake), expected)
    assert read_rounds(lake, monkeypatch) == [(0, 20)]


def test_meetings__of_corrected_rounds_are_read_again(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    first = Dataset.open(lake, "games").contests.column("contest_id")[3].as_py()
    rate_run(lake, policy=POLICY, exclude=(first,))
    found = of_run(lake)
    assert same(found, read_all(lake, monkeypatch))
    assert found.n_rounds.sum() < meetings_of_dataset(Dataset.open(lake, "games")).n_rounds.sum()


def test_meetings__of_a_data_set_are_those_of_a_run_of_all_its_contests(tmp_path: Path) -> None:
    guests = {"rated": np.array([True, False, True]), "time_seconds": 10**9}
    contests = [
        *synthetic(12, n_players=60, size=4, spice=False),
        contest("x", "player 1", "guest", "other", **guests),
        contest("y", "new", "guest", "newer", field_includes_unrated=True, **guests),
    ]
    lake = lake_of(tmp_path / "lake", contests)
    rate_run(lake)
    found = Components.numbered(meetings_of_dataset(Dataset.open(lake, "games")))
    expected = Components.numbered(of_run(lake))
    assert found.of.tolist() == expected.of.tolist()
    assert found.n_rounds.tolist() == expected.n_rounds.tolist()


def test_meetings__are_stored_for_large_runs_alone(tmp_path: Path) -> None:
    lake = lake_of(tmp_path / "lake", synthetic(5))
    rate_run(lake)
    assert not stored(lake).exists()
