"""Almost valid files: each is ingested, or refused with one line that names it."""

from __future__ import annotations

import csv
import gzip
import io
import json
import lzma
import random
import sys
import tarfile
import time
import zipfile
from bz2 import compress as bz2_compress
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ranklake.flows.ingestion.files import ingest_files
from ranklake.flows.sources.base import SourceError
from ranklake.storage import Lake, LakeError

MAX_SECONDS = 10.0
MAX_BYTES = 2**29  # maximum increase of the peak memory by one input

Files = list[tuple[str, bytes]]
ODD_NAMES = (
    "", " ", "\t", "ann", "nan", "NULL", "\ufeff", "\u202e", "\0", "a\nb", "a\rb", "\x1b[2J", "é", "e\u0301",
    "\U0010ffff", "ﬁ", "İ", "x" * 2_000, '"', "'", ",", ";", "=1+1", "1e308", "-0", "007", "１", "\u0085", "\u2028",
)  # fmt: skip
ODD_VALUES = (
    None, True, [], {}, [[]], "", "x", -1, 0, 0.5, 1e308, -1e308, 5e-324, 2**31, 2**53 + 1, 2**63, -(2**63) - 1, 2**64,
    10**400, "9" * 5_000,
)  # fmt: skip
ODD_FILES = (
    "", ".json", "/0.json", "../0.json", "a\\b.json", "0.JSON", "x.json/", "é.json", "00.json", "set/0.json",
    "con.json", "x" * 300 + ".json", "a/" * 200 + "1.json", "1.json\0.txt", "set/1.zip", "99999999999999999999.json",
)  # fmt: skip
# Bytes with a meaning in one of the formats.
SPLICES = (
    b"\0", b"\0" * 600, b"\xff", b"\xfe\xff", b"\xef\xbb\xbf", b"\xed\xa0\x80",
    b"\r", b"\n", b"\r\n", b'"', b"'", b",",
    b";", b"\t", b"{", b"}", b"[", b"]", b":", b"[" * 100_000, b'{"a":' * 50_000, b"9" * 10_000, b"1e999999999", b"-",
    b"NaN", b"Infinity", b"\\ud800", b"\\u0000", b"null", b"true", b'"standings":[]', b'"time_seconds":1',
    b"PK\x01\x02", b"PK\x05\x06", b"PAR1",
    b"\x1f\x8b\x08", b"BZh9", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd", b"sep=;\n", b"x" * 100_000,
)  # fmt: skip


def check_input(seed: int, folder: Path) -> str | None:
    """Ingest one file that is derived from a seed; returns the violation, or None.

    A violation is an exception of another kind, a message that does not name the file or has more than one line, too
    much memory or time. The folder is empty, for the file and a lake.
    """
    rng = random.Random(seed)
    form = rng.choice(sorted(FORMATS))
    path = write_input(form, rng, folder)
    options: dict[str, Any] = {"on_error": rng.choice(["stop", "skip"])}
    for name, values in OPTIONS.items():
        if rng.random() < 0.15:
            options[name] = rng.choice(values)
    place = f"seed {seed}, {path.name}, {options}"
    before, began = _peak(), time.monotonic()
    try:
        ingest_files(Lake.open(str(folder / "lake"), create=True), path, "d", options)
    except (SourceError, ValueError) as error:
        message = str(error)
        if isinstance(error, UnicodeError):
            return f"{place}: {type(error).__name__}: {message[:200]}"
        if path.stem.partition(".")[0] not in message or "\n" in message or len(message) > 2_000:
            return f"{place}: the message is {message[:300]!r}"
    except LakeError as error:
        return f"{place}: {type(error).__name__}: {error}"
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise
        return f"{place}: {type(error).__name__}: {str(error)[:300]}"
    seconds, more = time.monotonic() - began, _peak() - before
    if seconds > MAX_SECONDS:
        return f"{place}: took {seconds:.1f} s"
    if more > MAX_BYTES:
        return f"{place}: took {more:,} bytes of memory"
    return None


def write_input(form: str, rng: random.Random, folder: Path) -> Path:
    """Write a file of a format, with a few faults in its values, or in its bytes, or none."""
    path = folder / f"input.{form}"
    kind = rng.choice(["contents", "bytes", "both", "none"] if rng.random() < 0.97 else ["none"])
    odd = kind in ("contents", "both")
    raw = FORMATS[form](rng, odd)
    if kind in ("bytes", "both"):
        raw = _spoiled(rng, raw)
    path.write_bytes(raw)
    return path


def _name(rng: random.Random, odd: bool) -> str:
    return rng.choice(ODD_NAMES) if odd and rng.random() < 0.1 else f"player {rng.randrange(20)}"


def _rows(rng: random.Random, odd: bool) -> list[dict[str, Any]]:
    rows = []
    for contest in range(rng.randrange(1, 6)):
        players = rng.sample(range(20), rng.randrange(1, 8))
        for rank, player in enumerate(players, 1):
            row: dict[str, Any] = {
                "contest": f"c{contest}", "player": f"p{player}", "rank": rank, "time": 1_600_000_000 + contest,
                "weight": 1, "name": f"Round {contest}",
            }  # fmt: skip
            if odd and rng.random() < 0.1:
                row[rng.choice(list(row))] = rng.choice([*ODD_VALUES, *ODD_NAMES])
            if odd and rng.random() < 0.05:
                del row[rng.choice(list(row))]
            rows.append(row)
    if odd and rng.random() < 0.3:
        rows.append(dict(rng.choice(rows)))
    return rows


def _contest(rng: random.Random, odd: bool) -> dict[str, Any]:
    names = list(dict.fromkeys(_name(rng, odd) for _ in range(rng.randrange(1, 8))))
    value: dict[str, Any] = {
        "name": _name(rng, odd),
        "time_seconds": rng.randrange(2**31),
        "standings": [[name, i, i] for i, name in enumerate(names)],
    }
    if odd and rng.random() < 0.3:
        value[rng.choice(["url", "weight", "perf_ceiling", *value])] = rng.choice(ODD_VALUES)
    if odd and rng.random() < 0.2 and isinstance(value["standings"], list) and value["standings"]:
        value["standings"][0] = rng.choice([[], ["x"], ["x", 0, 0, 0], [1, 0, 0], ["x", 2**40, 0], ["x", 0.5, 0], None])
    return value


def _dump(value: Any, rng: random.Random, odd: bool) -> bytes:
    with _any_digits():
        text = json.dumps(value, ensure_ascii=rng.random() < 0.5)
    if odd and rng.random() < 0.1:
        text = text.replace('"name"', '"standings"', 1)  # a key twice
    raw = text.encode("utf-8", "surrogatepass")
    return _spoiled(rng, raw) if odd and rng.random() < 0.3 else raw


@contextmanager
def _any_digits() -> Iterator[None]:
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        yield
    finally:
        sys.set_int_max_str_digits(before)


def _csv(rng: random.Random, odd: bool, mark: str = ",") -> bytes:
    rows = _rows(rng, odd)
    header = list(rows[0]) if not odd else list(dict.fromkeys(key for row in rows for key in row))
    out = io.StringIO(newline="")
    with _any_digits():
        writer = csv.writer(out, delimiter=mark)
        writer.writerow(header)
        writer.writerows([row.get(key, "") for key in header] for row in rows)
    return out.getvalue().encode("utf-8", "surrogatepass")


def _jsonl(rng: random.Random, odd: bool) -> bytes:
    return b"\n".join(_dump(row, rng, odd) for row in _rows(rng, odd))


def _json(rng: random.Random, odd: bool) -> bytes:
    return b"[" + b",".join(_dump(row, rng, odd) for row in _rows(rng, odd)) + b"]"


def _contest_lines(rng: random.Random, odd: bool) -> bytes:
    return b"\n".join(_dump(_contest(rng, odd), rng, odd) for _ in range(rng.randrange(1, 6)))


def _parquet(rng: random.Random, odd: bool) -> bytes:
    rows = _rows(rng, False)
    columns: dict[str, Any] = {key: [row[key] for row in rows] for key in rows[0]}
    if odd:
        key = rng.choice(list(columns))
        change = rng.choice([
            lambda v: pa.array([None] * len(v)),
            lambda v: pa.array([str(x).encode() + b"\xff" for x in v]).view(pa.string()),
            lambda v: pa.array([str(x).encode() + b"\xff" for x in v], pa.large_binary()).view(pa.large_string()),
            lambda v: pa.array([b"\xff"] * len(v)),
            lambda v: pa.array([rng.choice(ODD_NAMES) for _ in v]),
            lambda v: pa.array([rng.choice([1e308, -0.0, 0.5, 1.0, float("nan"), float("inf")]) for _ in v]),
            lambda v: pa.array([[x] for x in v]),
            lambda v: pa.array([{"a": x} for x in v]),
            lambda v: pa.array([2**64 - 1] * len(v), pa.uint64()),
            lambda v: pa.array(["x" * 100_000] * len(v)),
            lambda v: pa.array([True] * len(v)),
            lambda v: pa.array([str(x) for x in v]).dictionary_encode(),
            lambda v: pa.array([0] * len(v), pa.timestamp("ns", "Europe/Rome")),
            lambda v: pa.array([0] * len(v), pa.time64("ns")),
        ])  # fmt: skip
        columns[key] = change(columns[key])
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out)
    return out.getvalue()


def _files(rng: random.Random, odd: bool) -> Files:
    files = [(f"set/{i}.json", _dump(_contest(rng, odd), rng, odd)) for i in range(rng.randrange(1, 6))]
    if odd and rng.random() < 0.4:
        name = rng.choice(ODD_FILES)
        files.insert(rng.randrange(len(files) + 1), (name, _dump(_contest(rng, odd), rng, odd)))
    if odd and rng.random() < 0.1:
        files.append(("set/9.json", b"[" * 10**6))
    return files


def _tar(rng: random.Random, odd: bool) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=rng.choice([tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])) as archive:
        for name, raw in _files(rng, odd):
            info = tarfile.TarInfo(name)
            info.size = len(raw)
            if odd and rng.random() < 0.05:
                info.type = rng.choice([tarfile.SYMTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE, tarfile.GNUTYPE_SPARSE])
            archive.addfile(info, io.BytesIO(raw))
    return out.getvalue()


def _zip(rng: random.Random, odd: bool) -> bytes:
    out = io.BytesIO()
    method = rng.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, raw in dict(_files(rng, odd)).items():
            archive.writestr(name or zipfile.ZipInfo(name), raw)
    return out.getvalue()


FORMATS: dict[str, Callable[[random.Random, bool], bytes]] = {
    "csv": _csv,
    "tsv": lambda rng, odd: _csv(rng, odd, "\t"),
    "jsonl": _jsonl,
    "ndjson": _contest_lines,
    "json": lambda rng, odd: _dump(_contest(rng, odd), rng, odd) if rng.random() < 0.3 else _json(rng, odd),
    "parquet": _parquet,
    "csv.gz": lambda rng, odd: gzip.compress(_csv(rng, odd), mtime=0),
    "csv.xz": lambda rng, odd: lzma.compress(_csv(rng, odd)),
    "jsonl.bz2": lambda rng, odd: bz2_compress(_contest_lines(rng, odd)),
    "json.zst": lambda rng, odd: pa.compress(_json(rng, odd), "zstd", asbytes=True),
    "tar": _tar,
    "tar.gz": lambda rng, odd: gzip.compress(_tar(rng, odd), mtime=0),
    "tar.xz": lambda rng, odd: lzma.compress(_tar(rng, odd)),
    "zip": _zip,
}
OPTIONS: dict[str, list[Any]] = {
    "order": ["number", "time", "given"],
    "dedupe": [True],
    "duplicates": ["best", "last"],
    "absent": ["last", "drop", "none"],
    "time_format": ["unix", "iso", "yyyymmdd", "%d/%m/%Y"],
    "encoding": ["latin-1", "utf-16", "cp1252", "utf-7"],
    "delimiter": [";", "tab"],
    "input_format": ["csv", "json", "jsonl", "parquet"],
}


def _spoiled(rng: random.Random, raw: bytes) -> bytes:
    """The bytes with one to three mutations."""
    data = bytearray(raw)
    for _ in range(rng.randrange(1, 4)):
        at = rng.randrange(len(data) + 1)
        to = min(len(data), at + rng.choice([1, 2, 4, 16, 64]))
        kind = rng.randrange(6)
        if kind == 0 and data:
            data[at % len(data)] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del data[at:]
        elif kind == 2:
            data[at:at] = rng.choice(SPLICES)
        elif kind == 3:
            data[at:to] = rng.randbytes(to - at)
        elif kind == 4:
            data[at:at] = data[at:to] * rng.choice([1, 3, 100])
        else:
            del data[at:to]
    return bytes(data)


def _peak() -> int:
    """Peak memory of this process, bytes; 0 if the platform does not report it."""
    try:
        import resource
    except ImportError:  # Windows
        return 0
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used if sys.platform == "darwin" else used * 1024
