"""Tables of many columns, equal names and deep values: each is read or refused in little memory."""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
import subprocess
import sys
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from chaos.cases import Violation
from chaos.world import World

MOST_BYTES = 2**28  # that the reading of one file may add to a process
MOST_COLUMNS, SHALLOW, HEADER_BYTES = 10_000, 10, 2**20
KEYS = {
    "contests": ["contest", "player", "rank"],
    "preview": ["contest", "player", "rank"],
    "games": ["white", "black", "result", "time"],
    "attributes": ["handle"],
}
FORMS = {
    "contests": ("csv", "tsv", "csv.gz", "jsonl", "json", "parquet"),
    "preview": ("csv", "csv.gz", "jsonl", "parquet"),
    "games": ("csv", "csv.gz", "parquet"),
    "attributes": ("csv", "parquet"),
}
READ = """
import re, sys
from pathlib import Path
from ranklake.flows.ingestion.attributes import _csv_rows, _names, _parquet_rows
from ranklake.flows.preview.standings import standings_from_file
from ranklake.flows.sources.base import SourceError
from ranklake.flows.sources.files.contests import read_contests
from ranklake.flows.sources.files.inputs import Input, damage_of
from ranklake.flows.sources.games.batch import GamesReport
from ranklake.flows.sources.games.options import GamesOptions
from ranklake.flows.sources.games.tables import read_table
from ranklake.flows.sources.options import ReadOptions
door, path, on_error = sys.argv[1:]
def peak():
    import resource
    try:
        return int(re.search(r"VmHWM:\\s*(\\d+)", open("/proc/self/status").read())[1]) * 1024
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
def contests():
    return sum(map(len, read_contests(path, options=ReadOptions(on_error=on_error))))
def preview():
    return len(standings_from_file(path).players)
def games():
    form, options = "parquet" if path.endswith("parquet") else "csv", GamesOptions(on_error=on_error)
    with damage_of(path):  # as the reader of all files
        return sum(map(len, read_table(Input(Path(path), path, form), options, GamesReport())))
def attributes():
    rows = (_parquet_rows if path.endswith("parquet") else _csv_rows)(path)
    _names(next(rows), path)
    return sum(1 for _ in rows)
before = peak()
try:
    said = globals()[door]()
except SourceError as error:
    said = f"refused: {error}"
print(peak() - before, said)
"""


def draw(seed: int) -> dict[str, Any]:
    dice = random.Random(seed)
    door = dice.choice(list(KEYS))
    form = dice.choice(FORMS[door])
    widths = [0, 40, 3_000, 9_996, 10_001, 20_000] + [100_000, 300_000] * (form != "parquet")
    columns = dice.choice(widths)
    return {
        "door": door,
        "form": form,
        "on_error": dice.choice(["stop", "skip"]),
        "columns": columns,
        "length": dice.choice([0, 0, 0, *(length for length in (90, 3_000) if columns * length < 2**22)]),
        "equal": dice.random() < 0.2,
        "depth": dice.choice([0, 0, SHALLOW, 200, 100_000]),
        "rows": dice.choice([2, 50 if columns < 20_000 else 2]),
    }


def check(world: World, parameters: dict[str, Any]) -> None:
    path = world.fresh_folder() / f"table.{parameters['form']}"
    names = _names(parameters)
    path.write_bytes(_table(names, parameters))
    world.counts["records"] += parameters["rows"]
    command = [sys.executable, "-c", READ, parameters["door"], str(path), parameters["on_error"]]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Violation(
            "the reading of a table ends the process", f"exit code {done.returncode}\n{done.stderr[-2000:]}"
        )
    memory, said = done.stdout.split(" ", 1)
    said = said.strip()
    if int(memory) > MOST_BYTES:
        raise Violation("a table takes too much memory", f"{int(memory):,} bytes: {said[:300]}")
    if "\n" in said:
        raise Violation("the error of a table has several lines", said[:2000])
    if len(set(names) if parameters["form"].startswith("json") else names) > MOST_COLUMNS:
        if "refused" not in said:
            raise Violation("a table of too many columns is read", said)
    elif _is_plain(names, parameters) and said != str(parameters["rows"]):
        raise Violation("a valid table is not read", said[:300])


def _is_plain(names: list[str], parameters: dict[str, Any]) -> bool:
    """Whether a table of an allowed width is valid."""
    distinct = len(set(names)) == len(names)
    deepest = 0 if parameters["door"] == "attributes" else SHALLOW  # every column is used
    return distinct and parameters["depth"] <= deepest and sum(map(len, names)) + len(names) < HEADER_BYTES


def _names(parameters: dict[str, Any]) -> list[str]:
    others = ("c" if parameters["equal"] else f"c{number}" for number in range(parameters["columns"]))
    return [*KEYS[parameters["door"]], *(name.ljust(parameters["length"], "-") for name in others)]


def _table(names: list[str], parameters: dict[str, Any]) -> bytes:
    """The bytes of a table: keys with values, other columns that are empty, and a last one of lists in lists."""
    form, depth = parameters["form"], parameters["depth"] if parameters["columns"] else 0
    keys = KEYS[parameters["door"]]
    rows = [_values(keys, number) for number in range(parameters["rows"])]
    if form == "parquet":
        return _parquet(names, rows, min(depth, 200))
    if form.startswith("json"):
        deep = "[" * depth + "]" * depth if depth else "0"
        more = "".join(f",{json.dumps(name)}:0" for name in names[len(keys) : -1])
        more += f",{json.dumps(names[-1])}:{deep}" if len(names) > len(keys) else ""
        texts = [json.dumps(dict(zip(keys, row, strict=True)))[:-1] + more + "}" for row in rows]
        return ("\n".join(texts) if form == "jsonl" else f"[{','.join(texts)}]").encode()
    text = io.StringIO()
    writer = csv.writer(text, delimiter="\t" if form == "tsv" else ",", lineterminator="\n")
    others = [""] * (len(names) - len(keys))
    writer.writerow(names)
    writer.writerows([*row, *others] for row in rows)
    raw = text.getvalue().encode()
    return gzip.compress(raw, 1) if form == "csv.gz" else raw


def _values(keys: list[str], number: int) -> list[Any]:
    of = {"contest": "a", "rank": number + 1, "result": "1-0", "time": "2020-01-01"}
    return [of.get(key, f"{key} {number}") for key in keys]


def _parquet(names: list[str], rows: list[list[Any]], depth: int) -> bytes:
    columns = [pa.array(column) for column in zip(*rows, strict=True)]
    columns += [pa.array([1] * len(rows), pa.int8())] * (len(names) - len(columns))
    for _ in range(depth):
        columns[-1] = pa.StructArray.from_arrays([columns[-1]], ["f"])
    sink = io.BytesIO()
    pq.write_table(pa.table(columns, names), sink, use_dictionary=False)
    return sink.getvalue()
