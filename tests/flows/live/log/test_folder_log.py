"""A log in a folder: what is acknowledged survives torn writes and full disks, and damage is named."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import tempfile
import time
from collections import deque
from contextlib import closing
from itertools import count, repeat
from pathlib import Path

import pytest
from helpers.mounts import file_size_limit, small_disks
from hypothesis import given, settings
from hypothesis import strategies as st

from ranklake.flows.live.log import folder as module
from ranklake.flows.live.log.folder import FolderLog
from ranklake.flows.live.log.frames import HEADER_BYTES
from ranklake.flows.live.log.opening import open_log
from ranklake.flows.live.log.records import Entry, LogUnavailableError, Record
from ranklake.storage.lake.errors import DamagedError, LeaseHeldError, MissingError

NOW = 1_790_000_000.25


def opened(folder: Path, segment_bytes: int = 2**20, ids_seconds: float = 1e9) -> FolderLog:
    return FolderLog(str(folder), "league", segment_bytes=segment_bytes, ids_seconds=ids_seconds)


def match(name: str, text: str = "") -> Entry:
    return Entry("match", name, f'{{"id": "{name}", "text": "{text}"}}'.encode())


def fill(log: FolderLog, groups: int, size: int = 3) -> list[Record]:
    """Append groups of matches; the records that the log must then have of them."""
    records = []
    for group in range(groups):
        entries = [match(f"m-{group}-{number}", "x" * (7 * number + group)) for number in range(size)]
        first = log.append(entries, NOW + group)
        records += [Record(first + at, *entry[:2], NOW + group, entry.body) for at, entry in enumerate(entries)]
    return records


def segment(folder: Path, number: int = 1) -> Path:
    return folder / "league" / f"{number:012}.log"


def test_log__has_the_same_records_after_a_start(tmp_path: Path) -> None:
    with closing(opened(tmp_path)) as log:
        assert (log.last, list(log.read())) == (0, [])
        records = fill(log, 4)
        body = b'{"a": 1.10, "\xc3\xa9": null}'  # byte for byte
        assert log.append([Entry("ban", "m-0-0", body), match("m-é")], NOW) == 13
        records += [Record(13, "ban", "m-0-0", NOW, body), Record(14, *match("m-é")[:2], NOW, match("m-é").body)]
        assert list(log.read()) == records
    with closing(open_log(f"file:{tmp_path}", "league")) as again:
        assert again.last == 14
        assert list(again.read()) == records
        assert list(again.read(9)) == records[8:]
        assert list(again.read(15)) == []
        assert again.find(["m-é", "none", "m-0-0", ""]) == [records[13], None, records[0], None]


def test_segments__are_closed_and_released_and_their_ids_stay(tmp_path: Path) -> None:
    with closing(opened(tmp_path, segment_bytes=500)) as log:
        records = fill(log, 20)
        assert list(log.read()) == records
        assert list(log.read(31)) == records[30:]
    assert len(list(tmp_path.glob("league/*.log"))) > 5
    max(tmp_path.glob("league/*.ids")).unlink()  # as if the process had been killed before it was written
    for ids_seconds in (1e9, 0.0):  # in memory, on the disk
        with closing(opened(tmp_path, 500, ids_seconds)) as log:
            assert log.find([record.id for record in records]) == records
            assert log.find(["m-20-0"]) == [None]
    with closing(opened(tmp_path, 500)) as log:
        log.release(31)
        assert not segment(tmp_path).exists()
        with pytest.raises(MissingError, match=r"league: records before \d+ are released, and 1 is needed"):
            list(log.read())
        assert list(log.read(31)) == records[30:]
        assert log.find(["m-0-1", "m-19-2"]) == [Record(2, "match", "m-0-1", 0.0, b""), records[-1]]
    with closing(opened(tmp_path, 500)) as log:
        assert log.find(["m-0-1", "m-19-2"]) == [Record(2, "match", "m-0-1", 0.0, b""), records[-1]]
        assert log.append([match("new")], NOW) == 61
        log.release(62)
    with closing(opened(tmp_path, 500)) as log:
        assert log.last == 61


@pytest.mark.slow
def test_files_of_ids__are_merged(tmp_path: Path) -> None:
    with closing(opened(tmp_path, 100)) as log:
        fill(log, 8, 1)
    first = (tmp_path / "league" / "000000000001.ids").read_bytes()
    with closing(opened(tmp_path, 100)) as log:
        for number in range(70):
            log.append([match(f"n-{number}")], NOW)
        records = list(log.read())
        names = [record.id for record in records]
        assert log.find(names) == records
    files = sorted(int(path.stem) for path in tmp_path.glob("league/*.ids"))
    n_segments = len(list(tmp_path.glob("league/*.log")))
    assert n_segments > 73
    assert files == [64, 72, *range(73, n_segments)]
    (tmp_path / "league" / "000000000001.ids").write_bytes(first)  # as if the process had been killed
    for ids_seconds in (1e9, 0.0):
        with closing(opened(tmp_path, 100, ids_seconds)) as log:
            assert log.find([*names, "none"]) == [*records, None]
            assert not (tmp_path / "league" / "000000000001.ids").exists()
    (tmp_path / "league" / "000000000064.ids").unlink()
    with closing(opened(tmp_path, 100)) as log:  # one for each segment again
        assert log.find(names) == records
        log.release(10)
    (tmp_path / "league" / "000000000001.ids").unlink()
    with pytest.raises(DamagedError, match=r"000000000001\.ids: is missing; restore it from a backup"):
        opened(tmp_path, 100)


def test_empty_log__goes_on_after_the_records_of_another_one(tmp_path: Path) -> None:
    with closing(opened(tmp_path)) as log:
        log.begin_after(0)
        log.begin_after(40)
        assert (log.last, list(log.read(41))) == (40, [])
        assert log.append([match("m-41")], NOW) == 41
        log.begin_after(41)
        with pytest.raises(DamagedError, match=r"1\.log ends with the record 41, and the data set has .* to 42"):
            log.begin_after(42)
    with closing(opened(tmp_path)) as log:
        assert [record.sequence for record in log.read(41)] == [41]
        with pytest.raises(MissingError):
            list(log.read(40))


@pytest.mark.parametrize("step", [29, pytest.param(1, marks=pytest.mark.slow)])
def test_start__cuts_the_last_record_at_any_byte(tmp_path: Path, step: int) -> None:
    with closing(opened(tmp_path)) as log:
        kept = fill(log, 2)
        end = segment(tmp_path).stat().st_size
        last = log.append([match("torn", "x" * 10)], NOW)
    whole = segment(tmp_path).read_bytes()
    padding = len(whole) - len(whole.rstrip(b"\0"))  # the last record needs none of them
    assert padding > 1
    for size in range(end, len(whole), step):
        segment(tmp_path).write_bytes(whole[:size])
        with closing(opened(tmp_path)) as log:
            complete = size >= len(whole) - padding
            assert [record.sequence for record in log.read()] == list(range(1, last + complete))
            assert list(log.read())[: len(kept)] == kept
            assert log.append([match("next")], NOW) == last + complete
            assert [record.id for record in log.read(last)] == ["torn"] * complete + ["next"]
            assert (log.find(["torn"]) != [None]) == complete


def test_start__cuts_a_group_whose_pages_arrived_in_another_order(tmp_path: Path) -> None:
    with closing(opened(tmp_path)) as log:
        kept = fill(log, 2)
        end = segment(tmp_path).stat().st_size
        log.append([match(f"g-{number}") for number in range(5)], NOW)
    data = bytearray(segment(tmp_path).read_bytes())
    data[end : end + 96] = bytes(96)  # its first page is missing, the later ones are there
    segment(tmp_path).write_bytes(data)
    with closing(opened(tmp_path)) as log:
        assert list(log.read()) == kept


@pytest.mark.parametrize(("closed", "step"), [(False, 97), pytest.param(False, 11, marks=pytest.mark.slow), (True, 97)])
def test_flipped_byte__before_the_end_stops_the_start(tmp_path: Path, closed: bool, step: int) -> None:
    with closing(opened(tmp_path, 400 if closed else 2**20)) as log:
        fill(log, 6)
    data = segment(tmp_path).read_bytes()
    last_group = data.rindex(b"m-", 0, data.rindex(b'{"id": "m-5-0"')) - 36 - 8 if not closed else len(data)
    for at in range(HEADER_BYTES, last_group, step):
        changed = bytearray(data)
        changed[at] ^= 0x10
        segment(tmp_path).write_bytes(changed)
        try:
            with closing(opened(tmp_path, 400)) as log:
                list(log.read())
        except DamagedError as error:
            text = str(error)
            assert text.startswith(f"{segment(tmp_path)}: byte ")
            offset = int(text.split(": byte ")[1].split(":")[0].replace(",", ""))
            assert offset <= at < offset + 8 * 20
        else:
            assert data[at] == 0, at  # padding has no sum, and nothing reads it


def test_flipped_byte__in_a_length_before_the_first_record_that_is_read_is_named(tmp_path: Path) -> None:
    with closing(opened(tmp_path, 400)) as log:
        records = fill(log, 6)
        assert list(log.read(3)) == records[2:]
        data = bytearray(segment(tmp_path).read_bytes())
        data[HEADER_BYTES] ^= 8
        segment(tmp_path).write_bytes(data)
        with pytest.raises(DamagedError, match=rf"1\.log: byte {HEADER_BYTES}: the record fails its sum"):
            list(log.read(2))
        assert list(log.read(records[-1].sequence)) == records[-1:]


def test_flipped_byte__in_the_header_is_named(tmp_path: Path) -> None:
    with closing(opened(tmp_path)) as log:
        fill(log, 1)
    data = bytearray(segment(tmp_path).read_bytes())
    data[9] ^= 1
    segment(tmp_path).write_bytes(data)
    with pytest.raises(DamagedError, match=r"byte 0: the header is not valid; .*restore it from a backup"):
        opened(tmp_path)


def test_missing_segment__is_named(tmp_path: Path) -> None:
    with closing(opened(tmp_path, 400)) as log:
        fill(log, 8)
    segment(tmp_path, 2).unlink()
    with pytest.raises(DamagedError, match=r"000000000002\.log: is missing; restore it"):
        opened(tmp_path)


def test_start__without_the_last_segments_forgets_their_ids(tmp_path: Path) -> None:
    with closing(opened(tmp_path, 100)) as log:
        records = fill(log, 12, 1)
        log.release(4)
    for number in range(6, 13):  # as after damage without a backup; the ids to number 8 are in one file
        segment(tmp_path, number).unlink()
    for path in tmp_path.glob("league/*.ids"):
        if path.stem > "000000000008":
            path.unlink()
    with pytest.raises(DamagedError, match=r"000000000001\.ids: is missing"):  # of released segments
        opened(tmp_path, 100)
    with closing(FolderLog(str(tmp_path), "other", segment_bytes=100, ids_seconds=1e9)) as log:
        records = fill(log, 6, 1)
    (tmp_path / "other" / "000000000006.log").unlink()
    with closing(FolderLog(str(tmp_path), "other", segment_bytes=100, ids_seconds=1e9)) as log:
        assert log.last == 5
        assert log.find([record.id for record in records]) == [*records[:5], None]
        assert log.append([match("m-5-0")], NOW) == 6


def test_damaged_ids__are_made_again(tmp_path: Path) -> None:
    with closing(opened(tmp_path, 400)) as log:
        records = fill(log, 8)
    path = tmp_path / "league" / "000000000001.ids"
    data = bytearray(path.read_bytes())
    data[40] ^= 1
    path.write_bytes(data)
    with closing(opened(tmp_path, 400)) as log:
        assert log.find([record.id for record in records]) == records
    segment(tmp_path).unlink()
    path.write_bytes(data)
    with pytest.raises(DamagedError, match=r"000000000001\.ids: fails its sum; restore it from a backup"):
        opened(tmp_path, 400)


def test_failed_write__leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(opened(tmp_path)) as log:
        records = fill(log, 2)
        size = segment(tmp_path).stat().st_size

        def fails(_: int) -> None:
            raise OSError(errno.EIO, "injected")

        for cuts in (False, True):  # at first it can only be cut before the next group
            monkeypatch.setattr(module, "flush_data", fails)
            if not cuts:
                monkeypatch.setattr(os, "ftruncate", lambda *_: fails(0))
            with pytest.raises(LogUnavailableError, match=r"the log league cannot be written: .*injected") as raised:
                log.append([match("lost", "x" * 100)], NOW)
            assert raised.value.retry_after > 0
            assert (segment(tmp_path).stat().st_size == size) == cuts
            assert (log.last, log.find(["lost"])) == (6, [None])
            monkeypatch.undo()
        assert log.append([match("kept")], NOW) == 7
        assert [record.id for record in log.read()] == [*(record.id for record in records), "kept"]


def test_full_disk__refuses_groups_until_there_is_space(tmp_path: Path) -> None:
    with small_disks(tmp_path / "small") as mount:
        folder = mount("size=2m")
        filler = folder / "filler"
        with closing(opened(folder, 2**18)) as log:
            fill(log, 3)
            filler.write_bytes(bytes(800 * 1024))
            with pytest.raises(LogUnavailableError, match=r"No space left.*bytes free\); free some space on its disk"):
                deque((fill(log, 1, 200) for _ in count()), 0)
            last, size = log.last, sum(path.stat().st_size for path in folder.glob("league/*.log"))
            for _ in range(3):
                with pytest.raises(LogUnavailableError):
                    log.append([match("big", "x" * 2**20)], NOW)
            assert sum(path.stat().st_size for path in folder.glob("league/*.log")) == size
            assert len(list(log.read())) == last  # reads go on
            filler.unlink()
            assert log.append([match("kept")], NOW) == last + 1
            filler.write_bytes(bytes(1))
        with filler.open("wb", buffering=0) as file, pytest.raises(OSError, match="No space left"):
            deque(map(file.write, repeat(bytes(4096))), 0)
        with closing(opened(folder, 2**18)) as log:  # starts, and frees space
            assert log.last == last + 1
            log.release(last)


def test_file_limit__is_a_full_disk(tmp_path: Path) -> None:
    code = file_size_limit(20_000) + (
        "import os, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "from ranklake.flows.live.log.folder import FolderLog\n"
        "from ranklake.flows.live.log.records import LogUnavailableError\n"
        f"log = FolderLog({str(tmp_path)!r}, 'league', ids_seconds=1e9)\n"
        "try:\n"
        "    while True: log.append([('match', f'm-{log.last}', b'1' * 3000)], 1.0)\n"
        "except LogUnavailableError: print(log.last, flush=True)\n"
        "os._exit(0)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.stderr, done.stdout) == ("", "6\n")
    with closing(opened(tmp_path)) as log:
        assert [record.sequence for record in log.read()] == [1, 2, 3, 4, 5, 6]


def test_second_process__is_told_who_writes(tmp_path: Path) -> None:
    code = f"from ranklake.flows.live.log.opening import open_log; open_log('file:{tmp_path}', 'league')"
    with closing(opened(tmp_path)) as log:
        fill(log, 1)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert "LeaseHeldError: league: " in done.stderr
        assert f"(rated, process {os.getpid()}) holds the lease" in done.stderr
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_stolen_log__is_written_no_more_by_its_old_process(tmp_path: Path) -> None:
    log = opened(tmp_path)
    fill(log, 1)
    with closing(FolderLog(str(tmp_path), "league", ids_seconds=1e9, steal=True)) as new:
        with pytest.raises(LeaseHeldError, match="took over from this process"):
            log.append([match("late")], NOW)
        assert new.append([match("new")], NOW) == 4
        with pytest.raises(LeaseHeldError):
            log.close()


@settings(deadline=None)  # of a busy disk
@given(
    groups=st.lists(
        st.lists(st.tuples(st.text(max_size=9), st.binary(max_size=60)), min_size=1, max_size=5), max_size=8
    ),
    segment_bytes=st.sampled_from([100, 300, 2**20]),
    cut=st.floats(0, 1),
    released=st.integers(0, 40),
)
def test_any_log__keeps_what_was_acknowledged_before_a_cut(
    groups: list[list[tuple[str, bytes]]], segment_bytes: int, cut: float, released: int
) -> None:
    number = 0
    with tempfile.TemporaryDirectory() as place:
        folder, records = Path(place), []
        ends: dict[tuple[Path, int], int] = {}
        with closing(opened(folder, segment_bytes)) as log:
            for group in groups:
                entries = [Entry("match", f"{name}-{number + at}", body) for at, (name, body) in enumerate(group)]
                number += len(group)
                first = log.append(entries, NOW)
                records += [Record(first + at, *entry[:2], NOW, entry.body) for at, entry in enumerate(entries)]
                path = max(folder.glob("league/*.log"))
                ends[path, path.stat().st_size] = number
        path = max(folder.glob("league/*.log"))
        size = HEADER_BYTES + int(cut * (path.stat().st_size - HEADER_BYTES))
        os.truncate(path, size)
        kept = max([0, *(count for (file, end), count in ends.items() if file < path or end <= size)])
        with closing(opened(folder, segment_bytes)) as log:
            assert kept <= log.last <= number
            assert list(log.read()) == records[: log.last]
            assert log.find([record.id for record in records]) == records[: log.last] + [None] * (number - log.last)
            log.release(released)
            left = list(log.read(max(released, 1)))
            assert left == records[max(released, 1) - 1 : log.last]
            assert [one is not None for one in log.find([record.id for record in records])] == [
                record.sequence <= log.last for record in records
            ]


@pytest.mark.slow
def test_many_records__are_read_fast(tmp_path: Path) -> None:
    body = b'{"id": "m-12345", "time": 1790000000, "a": "player-0012345", "b": "player-0099999", "score": 0.5}'
    with closing(FolderLog(str(tmp_path), "league", ids_seconds=1e9)) as log:
        for start in range(0, 100_000, 10_000):
            log.append([Entry("match", f"m-{start + number}", body) for number in range(10_000)], NOW)
    began = time.process_time()
    with closing(FolderLog(str(tmp_path), "league", ids_seconds=1e9)) as log:
        assert sum(1 for _ in log.read()) == 100_000
        assert time.process_time() - began < 3  # 0.25 to 1 s; a busy machine takes longer
        assert log.find(["m-7", "m-99999"])[1] == Record(100_000, "match", "m-99999", NOW, body)
