"""Folders and archives of the reference format: valid ones are read completely, invalid ones raise one clear error."""

from __future__ import annotations

import json
import math
import pickle
import stat
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from helpers import folders
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ranklake.flows.sources.base import Duplicate, IngestReport, SourceError
from ranklake.flows.sources.files.contests import read_contests
from ranklake.flows.sources.limits import Limits
from ranklake.flows.sources.options import ReadOptions
from ranklake.storage.datasets.tables.contests import Contest

Files = list[tuple[str, bytes]]


def contest(**changes: Any) -> bytes:
    """Three people, the last two tied."""
    value = {"name": "Round", "time_seconds": 1000, "standings": [["ann", 0, 0], ["bob", 1, 2], ["cy", 1, 2]]}
    return json.dumps({k: v for k, v in {**value, **changes}.items() if v is not ...}).encode()


def write_folder(path: Path, files: Files) -> Path:
    for name, raw in files:
        (path / "set" / name).parent.mkdir(parents=True, exist_ok=True)
        (path / "set" / name).write_bytes(raw)
    return path / "set"


def write_tar(path: Path, files: Files, suffix: str = ".tar.xz") -> Path:
    return folders.write_tar(path / f"set{suffix}", files)


def write_zip(path: Path, files: Files) -> Path:
    return folders.write_zip(path / "set.zip", files)


CONTAINERS: dict[str, Callable[[Path, Files], Path]] = {
    "folder": write_folder,
    "tar": lambda path, files: write_tar(path, files, ".tar"),
    "tar.gz": lambda path, files: write_tar(path, files, ".tar.gz"),
    "tar.xz": write_tar,
    "zip": write_zip,
}
ARCHIVES = {kind: write for kind, write in CONTAINERS.items() if kind != "folder"}


def plain(contest: Contest) -> dict[str, Any]:
    facts = ("name", "url", "time_seconds", "weight", "perf_ceiling")
    rows = zip(contest.handles.to_pylist(), contest.lo.tolist(), contest.hi.tolist(), strict=True)
    return {"id": contest.contest_id, "standings": list(map(list, rows))} | {
        key: getattr(contest, key) for key in facts
    }


def refusal(path: Path, **settings: Any) -> SourceError:
    with pytest.raises(SourceError) as caught:
        list(read_contests(path, ReadOptions(**settings)))
    message = str(caught.value)
    assert message.count("\n") == 0
    assert caught.value.source in message
    return caught.value


def ids(path: Path, report: IngestReport | None = None, **settings: Any) -> list[str]:
    return [c.contest_id for c in read_contests(path, ReadOptions(**settings), report)]


@pytest.mark.parametrize("write", CONTAINERS.values(), ids=CONTAINERS.keys())
def test_every_container_gives_the_contests_in_order_of_number(tmp_path: Path, write: Any) -> None:
    names = ["10", "2", "0", "1"]
    files = [(f"set/{n}.json", contest(name=f"Round {n}", url=f"https://x.org/{n}", weight=2)) for n in names]
    files += [("set/README.md", b"?"), ("__MACOSX/set/._0.json", b"?"), ("set/.hidden.json", b"?")]
    report = IngestReport()
    read = list(read_contests(write(tmp_path, files), report=report))
    assert [c.contest_id for c in read] == ["0", "1", "2", "10"]
    standings = [["ann", 0, 0], ["bob", 1, 2], ["cy", 1, 2]]
    facts = {"name": "Round 10", "url": "https://x.org/10", "time_seconds": 1000, "weight": 2.0}
    assert plain(read[3]) == {"id": "10", "standings": standings, "perf_ceiling": math.inf, **facts}
    assert (report.contests, report.participations, report.other_files) == (4, 12, 3)
    assert report.notes == ["the numbering has gaps: 3-9 (7 missing in all)"]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_valid_contest_is_read_back_from_every_container(
    tmp_path_factory: pytest.TempPathFactory, data: Any
) -> None:
    name = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
    handles = data.draw(st.lists(name.filter(bool), min_size=1, max_size=9, unique=True))
    standings: list[list[Any]] = []
    while len(standings) < len(handles):
        lo, size = len(standings), data.draw(st.integers(1, len(handles) - len(standings)))
        standings += [[handle, lo, lo + size - 1] for handle in handles[lo : lo + size]]
    value = {
        "name": data.draw(name),
        "url": data.draw(name),
        "time_seconds": data.draw(st.integers(-(10**14), 10**14)),
        "standings": standings,
        "weight": data.draw(st.floats(1e-9, 1e9)),
        "perf_ceiling": data.draw(st.floats(-1e6, 1e6)),
    }
    raw = json.dumps(value, ensure_ascii=data.draw(st.booleans())).encode()
    for write in CONTAINERS.values():
        (read,) = read_contests(write(tmp_path_factory.mktemp("any"), [("0.json", raw)]))
        assert plain(read) == {**value, "id": "0"}


def test_unknown_keys_are_ignored_and_a_null_address_is_none(tmp_path: Path) -> None:
    (read,) = read_contests(write_tar(tmp_path, [("0.json", contest(id=17, url=None, extra=[{"a": None}]))]))
    assert (read.contest_id, read.url) == ("0", "")


RULES = {
    "not sorted": ({"standings": [["a", 1, 1], ["b", 0, 0]]}, "not sorted by place: lo = 0 follows lo = 1", [0, 1]),
    "tie group of unequal hi": (
        {"standings": [["a", 0, 0], ["b", 1, 3], ["c", 1, 2], ["d", 1, 3]]},
        "3 tied rows have lo = 1, hi = 3, 2, 3; a tie group shares one lo and one hi = 3",
        [1, 2, 3],
    ),
    "lo behind hi": ({"standings": [["a", 0, 0], ["b", 1, 0]]}, "lo = 1 is behind hi = 0", [1]),
    "a gap": ({"standings": [["a", 0, 0], ["b", 2, 2], ["c", 2, 2]]}, "places leave no gaps", [1, 2]),
    "hi beyond the field": (
        {"standings": [["a", 0, 0], ["b", 1, 2]]},
        "hi = 2 is outside the field, whose places are 0 to 1",
        [1],
    ),
    "negative lo": ({"standings": [["a", -1, 0]]}, "lo = -1 is outside the field", [0]),
    "lo beyond int32": ({"standings": [["a", 0, 0], ["b", 2**32, 1]]}, "lo = 4294967296, hi = 1 do not fit", [1]),
    "hi beyond int64": ({"standings": [["a", 0, 2**70]]}, "hi = 1180591620717411303424 do not fit an int32", [0]),
    "a player twice": ({"standings": [["a", 0, 0], ["b", 1, 1], ["a", 2, 2]]}, "player 'a' is listed twice", [0, 2]),
    "a player without name": ({"standings": [["a", 0, 0], ["", 1, 1]]}, "a player needs a name", [1]),
    "no standings": ({"standings": ...}, "missing required field standings", []),
    "null standings": ({"standings": None}, "Expected array, got null - at standings", []),
    "null row": ({"standings": [["a", 0, 0], None]}, "Expected array, got null - at standings[1]", [1]),
    "null place": ({"standings": [["a", 0, None]]}, "Expected int, got null - at standings[0][2]", [0]),
    "missing place": ({"standings": [["a", 0, 0], ["b", 1]]}, "length 3, got 2 - at standings[1]", [1]),
    "no roster": ({"standings": [["a", 0, 0], ["b", 1, 1, "c"]]}, ", got str - at standings[1][3]", [1]),
    "seven": ({"standings": [["a", 0, 0, ["c"]], ["b", 1, 1, ["d"], [1], 1, 1]]}, "length <= 6 - at standings[1]", [1]),
    "text for a place": ({"standings": [["a", "0", 0]]}, "Expected int, got str - at standings[0][1]", [0]),
    "bool for a place": ({"standings": [["a", 0, False]]}, "Expected int, got bool - at standings[0][2]", [0]),
    "fraction for a place": ({"standings": [["a", 0.5, 0]]}, "Expected int, got float - at standings[0][1]", [0]),
    "number for a handle": ({"standings": [[7, 0, 0]]}, "Expected str, got int - at standings[0][0]", [0]),
    "number for a title": ({"name": 7}, "Expected str, got int - at name", []),
    "no title": ({"name": ...}, "missing required field name", []),
    "number for an address": ({"url": 7}, "got int - at url", []),
    "no time": ({"time_seconds": ...}, "missing required field time_seconds", []),
    "time beyond int64": (
        {"time_seconds": 2**63},
        "time_seconds must be a whole number within -1e+14..1e+14 seconds",
        [],
    ),
    "fractional time": ({"time_seconds": 1.5}, "Expected int, got float - at time_seconds", []),
    "zero weight": ({"weight": 0}, "weight must be within 1e-09..1e+09, got 0.0", []),
    "huge weight": ({"weight": 1e308}, "weight must be within 1e-09..1e+09, got 1e+308", []),
    "negative weight": ({"weight": -1.5}, "weight must be within 1e-09..1e+09, got -1.5", []),
    "NaN weight": ({"weight": math.nan}, "not JSON", []),
    "text for a weight": ({"weight": "1"}, "Expected float, got str - at weight", []),
    "low ceiling": ({"perf_ceiling": -1e308}, "perf_ceiling must be within -1e+12..1e+12 rating points or inf", []),
    "null ceiling": ({"perf_ceiling": None}, "Expected float, got null - at perf_ceiling", []),
    "infinite ceiling": ({"perf_ceiling": math.inf}, "not JSON", []),
}
BROKEN = {
    "truncated": (contest()[:-9], "not JSON: Input data was truncated"),
    "empty": (b"", "not JSON"),
    "incomplete, with a tail": (b'{"standings":[["ann",0,0]]} x', "not JSON: JSON is malformed: trailing characters"),
    "a list": (b"[]", "Expected object, got array"),
    "byte order mark": (b"\xef\xbb\xbf" + contest(), "not JSON"),
    "invalid UTF-8": (contest().replace(b"bob", b"b\xffb"), "not UTF-8: byte 0xff"),
    "lone surrogate": (contest().replace(b"bob", rb"\ud800"), "surrogate"),
    "encoded surrogate": (contest().replace(b"bob", b"\xed\xa0\x80"), "not UTF-8"),
    "nested without end": (b'{"x":' + b"[" * 200_000, "nested too deeply"),
}
CASES = {key: (contest(**changes), words, rows) for key, (changes, words, rows) in RULES.items()}
CASES |= {key: (raw, words, []) for key, (raw, words) in BROKEN.items()}


def test_a_contest_without_participants_is_left_out_and_named(tmp_path: Path) -> None:
    empty = b'{"name": "Round", "time_seconds": 1000, "standings": []}'
    report = IngestReport()
    path = write_tar(tmp_path, [("set/0.json", contest()), ("set/1.json", empty)])
    assert [one.contest_id for one in read_contests(path, report=report)] == ["0"]
    rule = "set.tar.xz, contest 1 (set/1.json): the standings are empty, nobody took part"
    assert report.left_out == [("1", rule)]
    alone = refusal(write_tar(tmp_path, [("set/1.json", empty)]))
    assert str(alone) == f"no contests: 1 contest left out, the first one because of this: {rule}"


@pytest.mark.parametrize(("raw", "words", "rows"), CASES.values(), ids=CASES.keys())
def test_a_fault_stops_with_file_contest_rows_and_rule_or_leaves_the_contest_out(
    tmp_path: Path, raw: bytes, words: str, rows: list[int]
) -> None:
    path = write_tar(tmp_path, [("set/0.json", contest()), ("set/1.json", raw), ("set/2.json", contest())])
    error = refusal(path)
    assert words in error.rule
    assert (error.source, error.contest, error.member) == ("set.tar.xz", "1", "set/1.json")
    assert list(error.rows) == rows
    assert str(error).startswith("set.tar.xz, contest 1 (set/1.json)")
    report = IngestReport()
    assert ids(path, on_error="skip", report=report) == ["0", "2"]
    assert report.left_out == [("1", str(error))]
    assert report.lines()[-1].startswith(f"left out: {error}")


def test_an_error_is_one_sentence_with_its_place() -> None:
    rule = "3 tied rows have lo = 4, hi = 6, 6, 7; a tie group shares one lo and one hi = 6"
    error = SourceError(rule, "contests.tar.xz", "17", "17.json", range(4, 7))
    assert str(error) == f"contests.tar.xz, contest 17 (17.json), rows 4-6: {rule}"
    assert str(SourceError("x", "a.csv", "17", rows=[3])) == "a.csv, contest 17, row 3: x"
    assert str(SourceError("x", "a.csv", "17", rows=[3, 9])) == "a.csv, contest 17, rows 3 and 9: x"
    assert str(SourceError("x", "a.csv", rows=range(0, 20, 2))) == "a.csv, rows 0, 2, 4, 6, 8, ... (10 in all): x"
    assert str(SourceError("x", "a.zip", member="bad\nname")) == "a.zip, bad\\nname: x"


def test_an_error_can_be_pickled() -> None:
    error = SourceError("rule", "a.zip", "17", "17.json", (1, 2))
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.rows) == (str(error), (1, 2))


# --- the order ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("write", CONTAINERS.values(), ids=CONTAINERS.keys())
def test_order_by_time_is_stable_on_number(tmp_path: Path, write: Any) -> None:
    files = [("2.json", contest(time_seconds=-5)), ("10.json", contest()), ("9.json", contest(time_seconds=1000))]
    assert ids(write(tmp_path, files), order="time") == ["2", "9", "10"]


def test_order_as_given_is_that_of_the_archive(tmp_path: Path) -> None:
    files = [("b/final.json", contest()), ("1.json", contest()), ("0.json", contest())]
    assert ids(write_tar(tmp_path, files), order="given") == ["final", "1", "0"]
    assert ids(write_folder(tmp_path, files), order="given") == ["0", "1", "final"]


def test_contests_earlier_than_the_one_before_are_counted_and_keep_their_order(tmp_path: Path) -> None:
    files = [(f"{i}.json", contest(time_seconds=time)) for i, time in enumerate([5, 3, 3, 9, 8])]
    report = IngestReport()
    assert ids(write_tar(tmp_path, files), report=report) == ["0", "1", "2", "3", "4"]
    assert report.time_goes_back == 2
    assert report.lines() == [
        "read 5 contests, 15 participations",
        "time goes back at 2 contests; the order was kept as given",
    ]


def test_a_name_that_is_no_number_has_no_place_in_the_order_by_number(tmp_path: Path) -> None:
    path = write_tar(tmp_path, [("0.json", contest()), ("set/final.json", contest())])
    error = refusal(path)
    assert (error.contest, error.member) == ("final", "set/final.json")
    assert "no number" in error.rule
    assert ids(path, on_error="skip") == ["0"]
    assert ids(path, order="time") == ["0", "final"]


def test_a_contest_whose_time_cannot_be_read_has_no_place_in_the_order_by_time(tmp_path: Path) -> None:
    path = write_zip(tmp_path, [("0.json", contest()), ("1.json", contest(time_seconds="noon"))])
    error = refusal(path, order="time")
    assert (error.source, error.member, error.contest) == ("set.zip", "1.json", "1")
    assert ids(path, order="time", on_error="skip") == ["0"]


@pytest.mark.parametrize("other", ["a/0.json", "00.json"])
def test_two_files_of_one_contest_are_refused(tmp_path: Path, other: str) -> None:
    error = refusal(write_zip(tmp_path, [("0.json", contest()), (other, contest())]), on_error="skip")
    assert f"has two files: 0.json and {other}" in error.rule


def test_duplicates_are_kept_by_default_and_dropped_on_demand(tmp_path: Path) -> None:
    files = [
        ("0.json", contest(url="u", name="A")),
        ("1.json", contest(url="u", standings=[["x", 0, 0]])),  # the same address, other standings
        ("2.json", contest(name="B")),
        ("3.json", contest(name="C")),  # no address, the same in all that counts
        ("4.json", contest(name="B", weight=2)),
        ("5.json", contest(name="B", time_seconds=1)),
        ("6.json", contest(name="B", standings=[["ann", 0, 0]])),
        ("7.json", contest(url="v", name="A")),
    ]
    path, report = write_tar(tmp_path, files), IngestReport()
    assert len(ids(path)) == 8
    assert ids(path, dedupe=True, report=report) == ["0", "2", "4", "5", "6", "7"]
    assert report.duplicates == [Duplicate("1", "0"), Duplicate("3", "2")]
    assert "duplicate dropped: contest 3 repeats 2" in report.lines()


def test_the_repetition_of_a_left_out_contest_is_not_a_duplicate(tmp_path: Path) -> None:
    path = write_tar(tmp_path, [("0.json", contest(url="u", weight=0)), ("1.json", contest(url="u"))])
    assert ids(path, dedupe=True, on_error="skip") == ["1"]


# --- hostile and damaged containers -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["../0.json", "set/../../0.json", "/etc/0.json", "C:/0.json", "c:\\0.json", "..\\0.json"]
)
@pytest.mark.parametrize("write", [write_tar, write_zip], ids=["tar", "zip"])
def test_a_path_that_escapes_the_archive_is_refused(tmp_path: Path, write: Any, name: str) -> None:
    if write is write_tar:
        name = name.replace("\\", "/")
    archive = write(tmp_path, [("1.json", contest()), (name, contest())])
    error = refusal(archive, on_error="skip")
    assert "leads out of the archive" in error.rule
    assert error.source == archive.name
    assert error.member == name.replace("\\", "/")


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE])
def test_a_link_or_device_in_a_tar_is_refused(tmp_path: Path, kind: bytes) -> None:
    with tarfile.open(tmp_path / "set.tar", "w") as archive:
        info = tarfile.TarInfo("0.json")
        info.type, info.linkname = kind, "/etc/passwd"
        archive.addfile(info)
    assert "link or device" in refusal(tmp_path / "set.tar", on_error="skip").rule


def test_a_link_in_a_zip_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "set.zip", "w") as archive:
        info = zipfile.ZipInfo("0.json")
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(info, "/etc/passwd")
    assert "link or device" in refusal(tmp_path / "set.zip", on_error="skip").rule


@pytest.mark.parametrize("write", CONTAINERS.values(), ids=CONTAINERS.keys())
def test_a_member_beyond_the_size_limit_is_refused(tmp_path: Path, write: Any) -> None:
    long = contest(name="x" * 300)
    path = write(tmp_path, [("0.json", contest()), ("1.json", long), ("2.json", contest())])
    limits = Limits(document=200)
    error = refusal(path, limits=limits)
    assert error.rule.startswith(f"{len(long)} bytes; a contest of more than 200 bytes is refused")
    assert (error.contest, PurePosixPath(error.member).name) == ("1", "1.json")
    assert "--limit document=" in error.rule
    assert ids(path, limits=limits, on_error="skip") == ["0", "2"]


@pytest.mark.parametrize("write", ARCHIVES.values(), ids=ARCHIVES.keys())
def test_a_truncated_archive_is_refused_wherever_it_is_cut(tmp_path: Path, write: Any) -> None:
    path = write(tmp_path, [(f"{i}.json", contest(name=f"{i}")) for i in range(4)])
    whole = path.read_bytes()
    # A tar ends with several blocks of zeros, of which one is enough.
    end = len(whole.rstrip(b"\0")) if path.suffix == ".tar" else len(whole) - 1
    for cut in sorted({0, 1, end, *range(0, end, max(1, end // 40)), *range(512, end, 512)}):
        path.write_bytes(whole[:cut])
        assert refusal(path, on_error="skip").contest == ""


@pytest.mark.quick("tar.*")
@pytest.mark.parametrize("kind", ["tar.gz", "tar.xz", "zip"])
def test_a_flipped_bit_is_refused_or_harmless(tmp_path: Path, kind: str) -> None:
    path = CONTAINERS[kind](tmp_path, [(f"{i}.json", contest(name=f"{i}")) for i in range(4)])
    whole = path.read_bytes()
    expected = [{**plain(c), "id": ""} for c in read_contests(path)]
    for at in range(0, len(whole), 3):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :])
        try:
            read = [plain(c) for c in read_contests(path, ReadOptions(order="given"))]
        except SourceError:
            continue
        # The list of names in a zip has no checksum, so a contest may be renamed or missing. Its content has one.
        held = [{**c, "id": ""} for c in read]
        assert held == expected if kind != "zip" else all(c in expected for c in held)


def test_a_damaged_header_inside_a_tar_is_not_read_as_its_end(tmp_path: Path) -> None:
    path = write_tar(tmp_path, [("0.json", contest()), ("1.json", contest())], ".tar")
    whole = bytearray(path.read_bytes())
    whole[1024 + 150] ^= 1  # in the checksum of the second header
    path.write_bytes(whole)
    assert "damaged" in refusal(path).rule


def test_an_encrypted_zip_is_refused(tmp_path: Path) -> None:
    path = write_zip(tmp_path, [("0.json", contest())])
    raw = bytearray(path.read_bytes())
    raw[6] |= 1
    raw[raw.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(raw)
    assert "encrypted" in refusal(path).rule


@pytest.mark.parametrize("write", CONTAINERS.values(), ids=CONTAINERS.keys())
def test_a_container_without_contests_is_refused(tmp_path: Path, write: Any) -> None:
    assert "no .json file" in refusal(write(tmp_path, [("README.txt", b"")])).rule


def test_a_missing_path_and_an_unknown_kind_of_file_are_refused(tmp_path: Path) -> None:
    assert "no such file or folder" in refusal(tmp_path / "nothing.tar.xz").rule
    (tmp_path / "set.rar").touch()
    assert ".tar.xz" in refusal(tmp_path / "set.rar").rule


def test_a_name_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    error = refusal(write_tar(tmp_path, [("caf\udce9.json", contest())], ".tar"), order="given")
    assert "not UTF-8" in error.rule
    assert "\\udce9" in str(error)
