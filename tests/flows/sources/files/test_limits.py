"""Small files that expand to large ones, and other input beyond the limits: refused in one line with a remedy."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import struct
import subprocess
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.folders import write_tar, write_zip

from ranklake.flows.ingestion.file_changes import watch
from ranklake.flows.ingestion.files import ingest_files
from ranklake.flows.sources.archives import archive, members
from ranklake.flows.sources.archives.archive import open_members
from ranklake.flows.sources.base import IngestReport, SourceError
from ranklake.flows.sources.files import json_items, json_tables, text_tables
from ranklake.flows.sources.files.contests import read_contests
from ranklake.flows.sources.files.json_tables import MAX_KEYS
from ranklake.flows.sources.files.parquet_tables import MAX_FOOTER_BYTES
from ranklake.flows.sources.limits import LEAST_EXPANDED, MAX_COLUMNS, MAX_HANDLE, Limits, byte_count
from ranklake.flows.sources.options import ReadOptions
from ranklake.storage import Lake

ROOT = Path(__file__).resolve().parents[4]


def contest(**changes: Any) -> bytes:
    value = {"name": "Round", "time_seconds": 1000, "standings": [["ann", 0, 0], ["bob", 1, 1]], **changes}
    return json.dumps(value).encode()


def refusal(path: Path, **options: Any) -> SourceError:
    with pytest.raises(SourceError) as caught:
        list(read_contests(path, ReadOptions.parse(**options)))
    message = str(caught.value)
    assert "\n" not in message
    assert path.name in message
    return caught.value


# --- archives -----------------------------------------------------------------------------------------------------

PROBE = """
import resource, sys
from ranklake.flows.sources.base import SourceError
from ranklake.flows.sources.files.contests import read_contests
from ranklake.flows.sources.options import ReadOptions
import pyarrow.csv, pyarrow.parquet
def used():
    try:  # the value of getrusage includes the memory of the parent process at the start
        text = open("/proc/self/status").read()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return int(text.split("VmHWM:")[1].split()[0]) * 1024
before = used()
try:
    n = sum(len(c) for c in read_contests(sys.argv[1], options=ReadOptions.parse(limits=sys.argv[2:])))
except SourceError as error:
    n = error
print(used() - before, n)
"""


def in_child(path: Path, *limits: str) -> tuple[int, str]:
    """The memory that one reading adds to a new process, bytes, and the participations or the error."""
    pytest.importorskip("resource")
    command = [sys.executable, "-c", PROBE, str(path), *limits]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    memory, result = done.stdout.split(maxsplit=1)
    return int(memory), result.strip()


def lying_zip(path: Path, raw: bytes, method: int, declared: int) -> Path:
    """A zip with one member that declares a wrong size."""
    write_zip(path, [("0.json", raw)], method)
    data = bytearray(path.read_bytes())
    for mark, at in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        struct.pack_into("<I", data, data.index(mark) + at, declared)
    path.write_bytes(data)
    return path


METHODS = {"bzip2": zipfile.ZIP_BZIP2, "deflate": zipfile.ZIP_DEFLATED, "lzma": zipfile.ZIP_LZMA}


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS.keys())
def test_a_zip_member_with_a_wrong_declared_size_is_refused_in_little_memory(tmp_path: Path, method: int) -> None:
    path = lying_zip(tmp_path / "set.zip", b" " * 2**27, method, 1000)
    memory, result = in_child(path)
    assert result.startswith("set.zip, contest 0 (0.json): damaged")
    assert memory < 3 * 2**25, byte_count(memory)  # zipfile takes two times 28 MB for a piece of LZMA


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS.keys())
def test_a_member_that_declares_more_than_it_has_is_refused(tmp_path: Path, method: int) -> None:
    error = refusal(lying_zip(tmp_path / "set.zip", contest(), method, 2**27))
    assert (error.contest, error.member) == ("0", "0.json")
    assert "damaged" in error.rule


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, *METHODS.values()])
def test_every_compression_of_a_zip_is_read_and_its_damage_is_one_contest(tmp_path: Path, method: int) -> None:
    path = write_zip(tmp_path / "set.zip", [(f"{i}.json", contest(name=f"name {i}" * 99)) for i in range(3)], method)
    assert [c.contest_id for c in read_contests(path)] == ["0", "1", "2"]
    with zipfile.ZipFile(path) as archive:
        start = archive.getinfo("1.json").header_offset
    data = bytearray(path.read_bytes())
    data[start + 30 + 6 + 40] ^= 1
    path.write_bytes(data)
    assert refusal(path).contest == "1"
    report = IngestReport()
    assert [c.contest_id for c in read_contests(path, ReadOptions(on_error="skip"), report)] == ["0", "2"]
    assert [left_out.contest for left_out in report.left_out] == ["1"]
    assert "set.zip, contest 1 (1.json): damaged" in report.left_out[0].reason


@pytest.mark.parametrize("name", ["set.tar.gz", "set.tar.xz", "set.zip"])
def test_members_that_exceed_the_limit_together_are_refused(tmp_path: Path, name: str) -> None:
    files = [(f"{i}.json", contest(name="x" * 3000)) for i in range(10)]
    write: Callable[..., Path] = write_zip if name.endswith("zip") else write_tar
    path = write(tmp_path / name, files)
    error = refusal(path, limits=["expanded=20_000"])
    assert f"expands from {byte_count(path.stat().st_size)} to more than 19.5 KiB, the limit" in error.rule
    assert "--limit expanded=" in error.rule
    assert error.rule == refusal(path, limits=["expanded=20_000"], on_error="skip").rule
    assert len(list(read_contests(path, ReadOptions.parse(limits=["expanded=1MB"])))) == 10


@pytest.mark.slow
def test_a_small_archive_has_the_smallest_default_limit(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "set.tar.gz", "wb", compresslevel=9) as out, tarfile.open(fileobj=out, mode="w") as tar:
        for i in range(3):  # no contests, but they are decompressed
            info = tarfile.TarInfo(f"{i}.bin")
            info.size = 2**27
            tar.addfile(info, io.BytesIO(bytes(2**27)))
    assert "to more than 256 MiB" in refusal(tmp_path / "set.tar.gz").rule


@pytest.mark.bound("ranklake.flows.sources.limits.EXPANSION", "ranklake.flows.sources.limits.MOST_EXPANDED")
def test_the_default_limit_grows_with_the_file() -> None:
    limits = Limits()
    assert limits.expanded_from(4_600) == LEAST_EXPANDED == 2**28
    assert limits.expanded_from(20 * 10**6) == 4 * 10**9
    assert limits.expanded_from(10**12) == 2**36
    assert Limits.parse(["expanded=3GB"]).expanded_from(1) == 3 * 10**9


@pytest.mark.bound("ranklake.flows.sources.archives.archive.MAX_HEADER_BYTES")
@pytest.mark.parametrize("kind", [tarfile.GNUTYPE_LONGNAME, tarfile.XHDTYPE, tarfile.XGLTYPE])
def test_a_header_of_a_tar_that_is_larger_than_any_name_is_refused(tmp_path: Path, kind: bytes) -> None:
    info = tarfile.TarInfo("0.json")
    info.type, info.size = kind, 2**32
    with gzip.open(tmp_path / "set.tar.gz", "wb") as out:
        out.write(info.tobuf(tarfile.GNU_FORMAT))
        out.write(bytes(2**22))
    assert "a header of 4,294,967,296 bytes" in refusal(tmp_path / "set.tar.gz").rule


@pytest.mark.bound("ranklake.flows.sources.limits.Limits.members")
@pytest.mark.parametrize("name", ["set.zip", "set.tar", "set"])
def test_more_files_than_are_allowed_are_refused(tmp_path: Path, name: str) -> None:
    files = [(f"{i}.json", contest()) for i in range(5)]
    path = tmp_path / name
    if name == "set":
        path.mkdir()
        for file, raw in files:
            (path / file).write_bytes(raw)
    else:
        (write_zip if name.endswith("zip") else write_tar)(path, files)
    assert "more than 4 contest files, the limit" in refusal(path, limits=["members=4"]).rule
    assert len(list(read_contests(path, ReadOptions.parse(limits=["members=5"])))) == 5


def test_the_members_of_a_zip_are_counted_before_their_list_is_decoded(tmp_path: Path) -> None:
    entry = struct.pack("<4s6H3L5H2L", b"PK\x01\x02", 20, 20, 0, 0, 0, 33, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0) + b"0.json"
    count = 50_000
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 1, 1, count * len(entry), 0, 0)  # declares one member
    (tmp_path / "set.zip").write_bytes(entry * count + end)
    assert "more than 40,000 contest files" in refusal(tmp_path / "set.zip", limits=["members=40_000"]).rule


def test_the_list_of_members_of_a_zip_is_bounded(tmp_path: Path, monkeypatch: Any) -> None:
    path = write_zip(tmp_path / "set.zip", [(f"{i}.json", contest()) for i in range(30)])
    monkeypatch.setattr(archive, "MAX_DIRECTORY_BYTES", 1024)
    assert "at most 1 KiB are allowed; make several archives of it" in refusal(path).rule


def test_a_zip_member_without_a_name_is_no_contest(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "set.zip", "w") as archive:
        archive.writestr(zipfile.ZipInfo(""), b"?")
        archive.writestr("0.json", contest())
    assert [c.contest_id for c in read_contests(tmp_path / "set.zip")] == ["0"]


def test_an_archive_inside_an_archive_is_not_opened(tmp_path: Path) -> None:
    inner = write_zip(tmp_path / "inner.zip", [("0.json", contest())]).read_bytes()
    report = IngestReport()
    path = write_zip(tmp_path / "set.zip", [("1.json", contest()), ("inner.zip", inner), ("inner.tar.gz", inner)])
    assert [c.contest_id for c in read_contests(path, report=report)] == ["1"]
    assert report.other_files == 2


def test_contents_beyond_the_memory_of_a_spool_are_on_the_disk(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(members, "MEMORY_BYTES", 100)
    files = [(f"{i}.json", contest(name=f"Round {i}", time_seconds=-i)) for i in range(30)]
    path = write_tar(tmp_path / "set.tar.xz", files)
    assert [c.name for c in read_contests(path, ReadOptions(order="time"))] == [f"Round {29 - i}" for i in range(30)]


def test_the_error_of_a_full_temporary_folder_has_a_remedy(tmp_path: Path, monkeypatch: Any) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tempfile.SpooledTemporaryFile.write", full)
    rule = refusal(write_tar(tmp_path / "set.tar", [("0.json", contest())])).rule
    assert "No space left on device; set TMPDIR to another folder" in rule


# --- tables -------------------------------------------------------------------------------------------------------

ZEROS = b"contest,player,rank\n" + b"0" * 10**6
COMPRESSIONS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": lambda raw: pa.compress(raw, "zstd", asbytes=True),
}


@pytest.mark.parametrize("form", ["csv", "jsonl", "json"])
@pytest.mark.parametrize("kind", COMPRESSIONS)
def test_a_compressed_table_that_exceeds_the_limit_is_refused(tmp_path: Path, kind: str, form: str) -> None:
    path = tmp_path / f"rows.{form}.{kind}"
    path.write_bytes(COMPRESSIONS[kind](ZEROS if form == "csv" else b'{"contest": "' + b"0" * 10**6))
    for on_error in ("stop", "skip"):
        assert "to more than 97.7 KiB, the limit" in refusal(path, limits=["expanded=100_000"], on_error=on_error).rule


@pytest.mark.parametrize("kind", COMPRESSIONS)
@pytest.mark.parametrize("form", ["csv", "jsonl", "json"])
def test_the_error_of_a_damaged_compressed_file_names_it(tmp_path: Path, kind: str, form: str) -> None:
    raw = COMPRESSIONS[kind](b"contest,player,rank\n" + os.urandom(1000).hex().encode())
    path = tmp_path / f"rows.{form}.{kind}"
    path.write_bytes(raw[:20] + b"\0\0\0\0" + raw[24:-9])
    assert refusal(path).source == path.name


@pytest.mark.bound("ranklake.flows.sources.limits.Limits.table")
def test_a_table_of_more_rows_than_allowed_is_refused(tmp_path: Path) -> None:
    rows = [{"contest": "a", "player": f"p{i}", "rank": i} for i in range(1, 12)]
    text = "contest,player,rank\n" + "".join(f"a,p{i},{i}\n" for i in range(1, 12))
    (tmp_path / "t.csv").write_text(text)
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "t.json").write_text(json.dumps(rows))
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "t.parquet")
    for path in sorted(tmp_path.iterdir()):
        rule = refusal(path, limits=["rows=10"]).rule
        assert "11 rows, at most 10 are read as one table, the limit" in rule
        assert "--limit rows=" in rule
        assert "--limit table=" in refusal(path, limits=["table=30"]).rule
        assert len(*read_contests(path, ReadOptions.parse(limits=["rows=11"]))) == 11


@pytest.mark.parametrize("name", ["t.jsonl", "t.json"])
def test_rows_of_all_parts_of_a_json_table_are_counted_together(tmp_path: Path, monkeypatch: Any, name: str) -> None:
    monkeypatch.setattr(json_tables, "CHUNK_ROWS", 2)
    rows = [{"contest": "a", "player": f"p{i}", "rank": i} for i in range(1, 6)]
    path = tmp_path / name
    path.write_text(json.dumps(rows) if name == "t.json" else "\n".join(map(json.dumps, rows)))
    assert len(*read_contests(path, ReadOptions.parse(limits=["rows=5"]))) == 5
    assert "4 rows, at most 3 are read" in refusal(path, limits=["rows=3"]).rule


def test_rows_of_a_parquet_file_are_read_in_parts(tmp_path: Path, monkeypatch: Any) -> None:
    rows = [{"contest": str(i % 3), "player": f"p{i}", "rank": i + 1} for i in range(9)]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "t.parquet")
    whole = list(read_contests(tmp_path / "t.parquet"))
    monkeypatch.setattr("ranklake.flows.sources.files.parquet_tables.BATCH_ROWS", 2)
    assert [c.content_digest for c in read_contests(tmp_path / "t.parquet")] == [c.content_digest for c in whole]


def names(n: int) -> list[str]:
    """The columns of a table of results, and others: ``n`` in all."""
    return ["contest", "player", "rank", *(f"c{i}" for i in range(n - 3))]


def write_wide(path: Path, n: int) -> Path:
    """A table of two rows with ``n`` columns."""
    rows = [["a", "x", 1, *[0] * (n - 3)], ["a", "y", 2, *[0] * (n - 3)]]
    if path.suffix == ".parquet":
        columns = zip(*rows, strict=True)
        pq.write_table(pa.table([pa.array(column) for column in columns], names(n)), path, use_dictionary=False)
    elif path.suffix == ".jsonl":
        path.write_bytes(
            lines(row("a", "x"), *(json.dumps(dict(zip(names(n), row, strict=True))).encode() for row in rows[1:]))
        )
    else:
        mark = {".csv": ",", ".gz": ",", ".tsv": "\t"}[path.suffix]
        text = "".join(mark.join(map(str, row)) + "\n" for row in [names(n), *rows])
        path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


SLOW = [pytest.param(ending, marks=pytest.mark.slow) for ending in (".csv.gz", ".tsv", ".parquet")]


@pytest.mark.parametrize("ending", [".csv", ".jsonl", *SLOW])
def test_a_table_of_more_columns_than_allowed_is_refused(tmp_path: Path, ending: str) -> None:
    assert len(*read_contests(write_wide(tmp_path / f"a{ending}", MAX_COLUMNS))) == 2
    for on_error in ("stop", "skip"):
        rule = refusal(write_wide(tmp_path / f"b{ending}", MAX_COLUMNS + 1), on_error=on_error).rule
        assert "more than 10,000 " + ("different keys" if ending == ".jsonl" else "columns, the limit") in rule


HEADERS = {
    "names": (b"contest,player,rank," + b",".join(b"%d" % i for i in range(2**17)), "more than 10,000 columns"),
    "empty names": (b"," * 2**22, "more than 10,000 columns"),
    "long names": (b",".join([b"x" * 2**16] * 17), "the header is longer than 1 MiB, the limit"),
    "a longer name": (b"x" * 2**18, "the header is longer than 1 MiB, the limit, or one of its names than 128 KiB"),
    "an open quotation": (b'contest,player,"rank,' + b"\n" * 2**21, "is a quotation mark never closed?"),
    "other ends of lines": (b"contest,player,rank\x0b,\xe2\x80\xa8" + b"," * 2**17, "more than 10,000 columns"),
    "a place of its own for the delimiter": (b"sep=;\ncontest;player;rank" + b";" * 2**17, "more than 10,000 columns"),
    "a table of ICPC": (b"results\t1\nx" + b"\t" * 2**17, "more than 10,000 columns"),
}


@pytest.mark.bound("ranklake.flows.sources.files.text_head.HEAD_BYTES")
@pytest.mark.parametrize(("header", "rule"), HEADERS.values(), ids=HEADERS.keys())
def test_a_header_that_arrow_would_need_gigabytes_for_is_refused(tmp_path: Path, header: bytes, rule: str) -> None:
    (tmp_path / "t.csv").write_bytes(header + b"\na,x,1\n")
    assert rule in refusal(tmp_path / "t.csv").rule


def test_a_parquet_footer_of_more_than_the_limit_is_refused_before_it_is_read(tmp_path: Path) -> None:
    (tmp_path / "t.parquet").write_bytes(
        bytes(MAX_FOOTER_BYTES + 1) + struct.pack("<I", MAX_FOOTER_BYTES + 1) + b"PAR1"
    )
    assert "its footer has 32 MiB, at most 32 MiB are allowed" in refusal(tmp_path / "t.parquet").rule


@pytest.mark.parametrize(
    ("text", "noun"),
    [
        (b',"b":1' * MAX_KEYS, "an object of more than 2,000,000 keys"),
        (b',"b":[0' + b",[]" * MAX_KEYS + b"]", "a row of"),
    ],
    ids=["keys", "values"],
)
def test_a_record_of_json_of_more_keys_or_values_than_allowed_is_refused(
    tmp_path: Path, text: bytes, noun: str
) -> None:
    (tmp_path / "t.json").write_bytes(b'[{"a":1' + text + b"}]")
    assert noun in refusal(tmp_path / "t.json").rule


@pytest.mark.slow
@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".jsonl"])
def test_a_wide_table_is_refused_in_little_memory(tmp_path: Path, ending: str) -> None:
    memory, result = in_child(write_wide(tmp_path / f"t{ending}", 300_000))
    assert "more than 10,000" in result
    assert memory < 2**27, byte_count(memory)


def test_rows_of_several_files_are_counted_together(tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text(f"contest,player,rank\n{name},p,1\n{name},q,2\n")
    options = ReadOptions.parse(limits=["rows=3"])
    with pytest.raises(SourceError, match=r"^b\.csv: 4 rows, at most 3"):
        list(read_contests(tmp_path, options))


@pytest.mark.slow
def test_a_parquet_file_of_run_lengths_is_refused_before_it_is_read(tmp_path: Path) -> None:
    # Of 150 million rows in 7.6 MB, as of these, the footer is enough.
    n = 60_000_000
    with pq.ParquetWriter(
        tmp_path / "t.parquet", pa.schema([(c, pa.int8()) for c in ("contest", "player", "rank")])
    ) as out:
        piece = pa.repeat(pa.scalar(0, pa.int8()), 10**7)
        for _ in range(n // 10**7):
            out.write_table(pa.table({"contest": piece, "player": piece, "rank": piece}))
    memory, result = in_child(tmp_path / "t.parquet")
    assert result.startswith("t.parquet: 60,000,000 rows, at most 50,000,000 are read as one table")
    assert memory < 2**26, byte_count(memory)


@pytest.mark.bound("ranklake.flows.sources.limits.MAX_TEXT")
@pytest.mark.parametrize("dictionary", [True, False])
def test_a_giant_text_of_a_parquet_file_is_refused(tmp_path: Path, dictionary: bool) -> None:
    table = pa.table({"contest": ["a"] * 20, "player": ["x" * 10**6] * 20, "rank": [1] * 20})
    pq.write_table(table, tmp_path / "t.parquet", use_dictionary=dictionary, compression="zstd")
    assert "a text of 977 KiB, at most 64 KiB are allowed" in refusal(tmp_path / "t.parquet").rule


def test_a_row_without_an_end_is_an_error(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(text_tables, "BLOCK_BYTES", 2**16)
    (tmp_path / "t.csv").write_bytes(b'contest,player,rank\na,b,1\na,"' + b"x" * 2**18 + b'",2\n')
    assert "a row of more than 64 KiB, the limit; is a quotation mark never closed?" in refusal(tmp_path / "t.csv").rule


@pytest.mark.parametrize(
    ("raw", "rule"),
    [(b"{", "it is being written: it had"), (b" " * 99, "it is being written"), (None, "it disappeared after")],
)
def test_a_file_of_a_folder_that_is_replaced_after_the_listing_is_no_damaged_archive(
    tmp_path: Path, raw: bytes | None, rule: str
) -> None:
    (tmp_path / "0.json").write_bytes(contest())
    with open_members(tmp_path, IngestReport(), Limits()) as (member,):
        (tmp_path / "0.json").unlink()
        if raw is not None:
            (tmp_path / "0.json").write_bytes(raw)
        with pytest.raises(SourceError, match=rf"0\.json: {rule}.*run again") as caught:
            member.read()
    assert "archive" not in str(caught.value)


# --- JSON ---------------------------------------------------------------------------------------------------------


def lines(*rows: bytes) -> bytes:
    return b"\n".join(rows)


def row(contest: str, player: str, rank: int = 1) -> bytes:
    return json.dumps({"contest": contest, "player": player, "rank": rank}).encode()


BAD_RECORDS = {
    "trailing garbage": (row("a", "y") + b" x", "not JSON"),
    "broken UTF-8": (row("a", "y").replace(b"y", b"\xff"), "not UTF-8: byte 0xff"),
    "half a character": (row("a", "y").replace(b"y", rb"\ud800"), "not JSON"),
    "no object": (b"[1]", "must be an object"),
    "nested a million deep": (b'{"contest":' + b"[" * 10**6, "nested too deeply"),
    "nested a million deep, unused": (row("a", "y")[:-1] + b',"more":' + b"[" * 10**6, "nested too deeply"),
    "cut": (row("a", "y")[:-3], "not JSON"),
    "too long": (row("a", "y" * 2000), "a line of more than 1,000 bytes"),
}


@pytest.mark.parametrize("kind", ["rows", "contests"])
@pytest.mark.parametrize(("record", "rule"), BAD_RECORDS.values(), ids=BAD_RECORDS.keys())
def test_an_invalid_record_of_json_lines_is_an_error_or_left_out_alone(
    tmp_path: Path, kind: str, record: bytes, rule: str
) -> None:
    path = tmp_path / "t.jsonl"
    good = [row(one, "x") if kind == "rows" else contest(contest_id=one) for one in "ab"]
    path.write_bytes(lines(good[0], record, good[1]))
    limits = ["document=1000"] if "line of" in rule else []
    error = refusal(path, limits=limits)
    assert rule in error.rule or kind == "contests"
    assert str(error).startswith("t.jsonl, line 2: ")
    report = IngestReport()
    options = ReadOptions.parse(limits=limits, on_error="skip")
    assert [c.contest_id for c in read_contests(path, options, report)] == ["a", "b"]
    assert [left_out.reason for left_out in report.left_out] == [str(error)]


def test_an_invalid_value_leaves_its_contest_out(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(lines(row("a", "x"), b'{"contest":"a","player":[1],"rank":2}', row("b", "z")))
    assert "column 'player' must be text or a number, got [1]" in refusal(path).rule
    report = IngestReport()
    assert [c.contest_id for c in read_contests(path, ReadOptions(on_error="skip"), report)] == ["b"]
    assert [left_out.contest for left_out in report.left_out] == ["a"]
    assert "row 2 (line 2)" in report.left_out[0].reason


def test_a_number_of_a_million_digits_is_a_fault_with_its_place(tmp_path: Path) -> None:
    digits = b"9" * 10**6
    (tmp_path / "t.jsonl").write_bytes(row("a", "x")[:-2] + digits + b"}")
    (tmp_path / "t.csv").write_bytes(b"contest,player,rank\na,x," + digits + b"\n")
    (tmp_path / "0.json").write_bytes(contest().replace(b"1000", digits))
    for path in sorted(tmp_path.iterdir()):
        assert len(str(refusal(path))) < 500


def test_a_contest_nested_a_million_deep_is_a_fault_of_that_contest(tmp_path: Path) -> None:
    deep = contest()[:-1] + b',"more":' + b"[" * 10**6 + b"]" * 10**6 + b"}"
    path = write_zip(tmp_path / "set.zip", [("0.json", contest()), ("1.json", deep)])
    assert "nested too deeply" in refusal(path).rule
    assert [c.contest_id for c in read_contests(path, ReadOptions(on_error="skip"))] == ["0"]


@pytest.mark.parametrize("rows", [True, False])
def test_a_long_array_is_decoded_item_by_item_with_the_same_result(
    tmp_path: Path, monkeypatch: Any, rows: bool
) -> None:
    items = [row("a", f"p{i}", i) for i in range(1, 9)] if rows else [contest(contest_id=f"c{i}") for i in range(8)]
    path = tmp_path / "t.json"
    path.write_bytes(b" [ " + b" ,\n".join(items) + b" ]\n")
    at_once = [(c.contest_id, c.content_digest) for c in read_contests(path)]
    monkeypatch.setattr(json_items, "MAX_AT_ONCE", 3)
    assert [(c.contest_id, c.content_digest) for c in read_contests(path)] == at_once
    for end in (b"", b",]", b"] x", b" x]", b',{"a":]', b",[" + b"[" * 10**5):
        path.write_bytes(b"[" + b",".join(items) + end)
        assert "JSON" in refusal(path).rule


def test_a_json_document_beyond_the_limit_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_bytes(b"[" + b",".join(row("a", f"p{i}", i) for i in range(99)) + b"]")
    rule = refusal(tmp_path / "t.json", limits=["document=1000"]).rule
    assert (
        "a JSON document of more than 1,000 bytes, the limit; use JSON Lines (.jsonl), which are read line by line"
        in rule
    )


# --- contests -----------------------------------------------------------------------------------------------------


def test_a_contest_of_more_participants_than_allowed_is_refused_before_it_is_decoded(tmp_path: Path) -> None:
    standings = [[f"[{i}]", i, i] for i in range(11)]
    path = write_zip(tmp_path / "set.zip", [("0.json", contest()), ("1.json", contest(standings=standings))])
    error = refusal(path, limits=["participants=10"])
    assert str(error) == (
        "set.zip, contest 1 (1.json): 11 participants, at most 10 are allowed; --limit participants=... allows more"
    )
    assert len(list(read_contests(path, ReadOptions.parse(limits=["participants=11"])))) == 2
    rows = "".join(f"a,p{i},{i}\n" for i in range(1, 12))
    (tmp_path / "t.csv").write_text(f"contest,player,rank\n{rows}b,p,1\n")
    assert "11 participants, at most 10" in refusal(tmp_path / "t.csv", limits=["participants=10"]).rule
    options = ReadOptions.parse(limits=["participants=10"], on_error="skip")
    assert [c.contest_id for c in read_contests(tmp_path / "t.csv", options)] == ["b"]


LONG: dict[str, tuple[dict[str, Any], str]] = {
    "handle": ({"standings": [["ann", 0, 0], ["é" * 1_025, 1, 1]]}, "has 1,025 characters, at most 1,024 are allowed"),
    "a million": ({"standings": [["ann", 0, 0], ["x" * 10**6, 1, 1]]}, "has 1,000,000 characters, at most 1,024"),
    "name": ({"name": "x" * 4_097}, "the name of a contest has 4,097 characters, at most 4,096"),
    "url": ({"url": "x" * 8_193}, "the address of a contest has 8,193 characters, at most 8,192"),
}


@pytest.mark.bound("ranklake.flows.sources.limits.MAX_URL")
@pytest.mark.parametrize(("changes", "rule"), LONG.values(), ids=LONG.keys())
def test_a_text_that_is_too_long_is_a_fault_of_its_contest(tmp_path: Path, changes: Any, rule: str) -> None:
    path = write_zip(tmp_path / "set.zip", [("0.json", contest()), ("1.json", contest(**changes))])
    error = refusal(path)
    assert rule in error.rule
    assert error.contest == "1"
    assert list(error.rows) == ([1] if "standings" in changes else [])
    assert [c.contest_id for c in read_contests(path, ReadOptions(on_error="skip"))] == ["0"]


def test_texts_of_a_table_that_are_too_long_are_faults_with_their_rows(tmp_path: Path) -> None:
    table = f"contest,player,rank\na,x,1\na,{'y' * 1_025},2\n{'c' * 1_025},z,1\nb,z,1\nb,{'é' * MAX_HANDLE},2\n"
    (tmp_path / "t.csv").write_text(table, encoding="utf-8")
    error = refusal(tmp_path / "t.csv")
    assert (error.contest, list(error.rows), list(error.lines)) == ("a", [2], [3])
    report = IngestReport()
    assert [c.contest_id for c in read_contests(tmp_path / "t.csv", ReadOptions(on_error="skip"), report)] == ["b"]
    assert "the id of a contest has 1,025 characters" in report.left_out[1].reason


# --- settings, memory, mirrors ------------------------------------------------------------------------------------


def test_limits_have_units_and_separators() -> None:
    limits = Limits.parse(["expanded=100GB", "rows=200_000_000", "table=8GiB", "document=5M", "members=10k"])
    assert (limits.expanded, limits.rows, limits.table) == (10**11, 2 * 10**8, 2**33)
    assert (limits.document, limits.members, limits.participants) == (5_000_000, 10_000, 20_000_000)
    for setting in ("rows", "rows=", "rows=0", "rows=-1", "rows=1.5", "rows=many", "size=1", "rows=1XB"):
        with pytest.raises(ValueError, match=f"^limit '{setting}': expected KEY=NUMBER, as expanded=100GB"):
            Limits.parse([setting])
    with pytest.raises(ValueError, match="limit rows must be a whole number > 0, got 0"):
        Limits(rows=0)


@pytest.mark.parametrize("error", [MemoryError(), pa.ArrowMemoryError("malloc of size 8 failed")])
@pytest.mark.parametrize("name", ["t.csv", "t.jsonl", "set.zip"])
def test_too_little_memory_is_an_error_in_one_line(tmp_path: Path, name: str, error: Any, monkeypatch: Any) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise error

    path = tmp_path / name
    path.write_bytes(b"contest,player,rank\na,x,1\n" if name == "t.csv" else row("a", "x"))
    if name == "set.zip":
        write_zip(path, [("0.json", contest())])
    targets = {
        "t.csv": "ranklake.flows.sources.files.text_tables.pa.Table",
        "t.jsonl": "ranklake.flows.sources.files.json_tables._chunk",
    }
    monkeypatch.setattr(targets.get(name, "ranklake.flows.sources.files.contests.parse_reference"), fail)
    if name == "t.csv":
        monkeypatch.setattr("ranklake.flows.sources.archives.arrow_csv.pacsv.open_csv", fail)
    for on_error in ("stop", "skip"):
        rule = refusal(path, on_error=on_error).rule
        assert rule.startswith("not enough memory to read it; use a machine with more memory")


def test_too_little_memory_while_a_lake_is_written_is_an_error_in_one_line(tmp_path: Path, monkeypatch: Any) -> None:
    def fail(*_: Any) -> Any:
        raise MemoryError

    path = write_zip(tmp_path / "set.zip", [("0.json", contest())])
    monkeypatch.setattr("ranklake.storage.datasets.ingest.Ingest.add", fail)
    with pytest.raises(SourceError, match=r"^data set d: not enough memory; nothing was ingested"):
        ingest_files(Lake.open(str(tmp_path / "lake"), create=True), path, "d")


def test_a_mirror_does_not_remove_unreadable_contests(tmp_path: Path) -> None:
    lake, path = Lake.open(str(tmp_path / "lake"), create=True), tmp_path / "t.jsonl"
    path.write_bytes(lines(row("a", "x"), row("b", "y")))
    options = {"mirror": True, "on_error": "skip"}
    ingest_files(lake, path, "d", options)
    path.write_bytes(lines(row("a", "x"), row("b", "y") + b"?"))
    with pytest.raises(SourceError, match=r"a mirror needs every record.*t\.jsonl, line 2: not JSON"):
        ingest_files(lake, path, "d", options)
    assert ingest_files(lake, path, "d", {"on_error": "skip"}).removed == 0


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this platform has no named pipes")
def test_a_named_pipe_is_refused_without_waiting(tmp_path: Path) -> None:
    folder, lake = tmp_path / "set", Lake.open(str(tmp_path / "lake"), create=True)
    folder.mkdir()
    (folder / "0.json").write_bytes(contest())
    os.mkfifo(folder / "1.json")
    (folder / "2.json").symlink_to(tmp_path / "nothing")
    assert "neither a plain file nor a folder; use - (standard input) for a pipe" in refusal(folder / "1.json").rule
    assert [c.contest_id for c in read_contests(folder)] == ["0"]
    assert watch(lake, "d", folder, sleep=lambda seconds: None).n_files == 1
    with pytest.raises(SourceError, match="neither a plain file nor a folder"):
        watch(lake, "d", folder / "1.json", sleep=lambda seconds: None)


def test_standard_input_is_bounded(monkeypatch: Any) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"contest,player,rank\na,x,1\n" * 100)))
    with pytest.raises(SourceError, match=r"^standard input: more than 1,000 bytes, the limit.*--limit expanded="):
        list(read_contests("-", ReadOptions.parse(limits=["expanded=1000"])))


@pytest.mark.slow
def test_a_large_archive_is_read_in_bounded_memory(tmp_path: Path) -> None:
    # As an archive of 4 GB of real contests, but smaller: 150 MB, whose contents would exceed the limit.
    names = [f"player number {i}" for i in range(5_000)]
    path = tmp_path / "set.tar.gz"
    n = 0
    with tarfile.open(path, "w:gz", compresslevel=1) as archive:
        while n < 800:
            start = zlib.crc32(str(n).encode()) % 1000
            standings = [[name, i, i] for i, name in enumerate(names[start:] + names[:start])]
            raw = contest(name=f"Round {n}", standings=standings)
            info = tarfile.TarInfo(f"{799 - n}.json")
            info.size = len(raw)
            archive.addfile(info, io.BytesIO(raw))
            n += 1
    memory, result = in_child(path)
    assert int(result) == 800 * 5_000
    assert memory < 100 * 2**20, byte_count(memory)
