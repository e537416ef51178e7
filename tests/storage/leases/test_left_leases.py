"""Leases and fences that were left, deleted by hand or damaged: they block no writer, or it says what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from ranklake.storage import Lake, LakeError
from ranklake.storage.lake.errors import DamagedError, LeaseHeldError
from ranklake.storage.lake.layout import MAX_DIGITS
from ranklake.storage.leases.acquire import hold_lease
from ranklake.storage.leases.holder import lease_file, lease_numbers
from ranklake.storage.maintenance.leftovers import find_leftovers

FOLDER = "games"
DAMAGE = [b"{", b"\0" * 512, b"[]", b'{"who": 1}', b"\xff\xfe"]


@pytest.fixture(params=["disk", "memory"])
def lake(request: pytest.FixtureRequest, tmp_path: Path) -> Lake:
    return Lake.open(tmp_path if request.param == "disk" else f"memory://{tmp_path}", create=True)


@pytest.mark.parametrize("steal", [False, True])
@pytest.mark.parametrize("number", [0, 1, 2, 41])
def test_hold__a_left_fence_is_removed_whatever_its_number(tmp_path: Path, number: int, steal: bool) -> None:
    lake = Lake.open(tmp_path)
    with hold_lease(lake, FOLDER, "ingest"):
        pass
    (tmp_path / FOLDER / f"writing-{number:06d}").mkdir()
    (tmp_path / FOLDER / f"writing-{number + 1:06d}").touch()  # a file with such a name
    with hold_lease(lake, FOLDER, "ingest", steal=steal) as lease:
        assert lease.number == number + 2
        lease.lake.write_bytes(f"{FOLDER}/a", b"1")
    assert lake.list(FOLDER) == ["a", lease_file("", lease.number)[1:]]


def test_hold__a_writer_whose_lease_file_was_deleted_by_hand_changes_nothing_after_the_next_one(tmp_path: Path) -> None:
    lake = Lake.open(tmp_path)
    lost = pytest.raises(LeaseHeldError, match="rate again")
    with lost, hold_lease(lake, FOLDER, "rate") as old:
        old.lake.write_bytes(f"{FOLDER}/a", b"1")
        lake.delete(lease_file(FOLDER, old.number))
        with hold_lease(lake, FOLDER, "rate again") as new:
            assert new.number == old.number + 1
            with pytest.raises(LeaseHeldError, match="rate again"):
                old.lake.write_bytes(f"{FOLDER}/a", b"late")
            new.lake.write_bytes(f"{FOLDER}/a", b"2")
    assert lake.read_bytes(f"{FOLDER}/a") == b"2"


def test_hold__a_lease_file_that_is_deleted_before_the_fence_is_made_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake, make, raced = Lake.open(tmp_path, create=True), Lake.make_fence, []

    def late(self: Lake, fence: str) -> None:
        if not raced:
            raced.append(fence)
            lake.delete(lease_file(FOLDER, 0))
            with hold_lease(lake, FOLDER, "faster"):
                pass
        make(self, fence)

    monkeypatch.setattr(Lake, "make_fence", late)
    with hold_lease(lake, FOLDER, "rate", wait_seconds=1.0) as lease:
        lease.lake.write_bytes(f"{FOLDER}/a", b"1")
    assert lease.number == 1


@pytest.mark.parametrize("data", DAMAGE)
def test_hold__of_a_damaged_lease_needs_steal(lake: Lake, data: bytes) -> None:
    path = lease_file(FOLDER, 3)
    lake.write_bytes(path, data)
    with pytest.raises(DamagedError, match=rf"{path}: not readable .*; delete it"), hold_lease(lake, FOLDER, "rate"):
        pass
    assert [fault.partition(": ")[0] for fault in find_leftovers(lake, FOLDER).faults] == [path]
    with hold_lease(lake, FOLDER, "rate", steal=True) as lease:
        # In a store its holder may still write, so an epoch begins.
        assert (lease.number, lease.predecessor) == (4, -1 if lake.local else 3)
    with hold_lease(lake, FOLDER, "rate") as lease:
        assert lease.number == 5
    assert lease_numbers(lake, FOLDER) == ([5] if lake.local else [3, 4, 5])


def test_hold__a_folder_in_the_place_of_a_lease_is_never_deleted(tmp_path: Path) -> None:
    lake = Lake.open(tmp_path)
    lake.write_bytes(f"{lease_file(FOLDER, 3)}/kept", b"1")
    problem = rf"{lease_file(FOLDER, 3)}: is a folder; delete it if no process uses"
    with pytest.raises(DamagedError, match=problem), hold_lease(lake, FOLDER, "rate"):
        pass
    for steal in (True, False):
        with hold_lease(lake, FOLDER, "rate", steal=steal):
            pass
    assert lease_numbers(lake, FOLDER) == [3, 5]
    assert find_leftovers(lake, FOLDER) == ([f"{lease_file(FOLDER, 3)}: is a folder; {_REMEDY}"], [])


def test_hold__after_the_last_number_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    for name in (f"lease-{'9' * MAX_DIGITS}.json", f"writing-{'9' * MAX_DIGITS}"):
        (tmp_path / name / FOLDER / name).mkdir(parents=True)
        problem = f"{FOLDER}/{name}: no command reaches its number; {_REMEDY}"
        with (
            pytest.raises(LakeError, match=problem),
            hold_lease(Lake.open(tmp_path / name), FOLDER, "rate", steal=True),
        ):
            pass


def test_find_leftovers__names_what_no_command_removes(tmp_path: Path) -> None:
    lake = Lake.open(tmp_path)
    removed = ["writing-000007", "writing-000003-0123456789abcdef", ".tmp-0123456789abcdef"]
    strange = ["writing-1", "writing-x", f"writing-{'9' * 200}", "lease-7.json", "lease-000001.txt"]
    for name in [*removed, *strange]:
        lake.write_bytes(f"{FOLDER}/{name}/file", b"")
    lake.write_bytes(f"{FOLDER}/attributes/.tmp-1", b"")
    faults, notes = find_leftovers(lake, FOLDER)
    assert faults == []
    remedies = {note.partition(": ")[0]: note.rpartition("; ")[2] for note in notes}
    assert {path.partition("/")[2]: remedy for path, remedy in remedies.items()} == {
        **dict.fromkeys(removed, f"the next command that changes {FOLDER} removes it"),
        **dict.fromkeys([*strange, "attributes/.tmp-1"], "delete it"),
    }
    with hold_lease(lake, FOLDER, "rate"):
        assert [note for note in find_leftovers(lake, FOLDER).notes if "writing-000008" in note] == []
    assert [name for name in removed if name in lake.list(FOLDER)] == []


_REMEDY = "delete it if no process uses that folder"
