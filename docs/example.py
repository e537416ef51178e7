"""The example of the documents: Formula One from 1950 to 1957, rated; its pictures and its web site.

``python docs/example.py`` writes the pictures again: docs/_static/player-light.svg and player-dark.svg, the graph of a
player in both schemes, and terminal.svg, what two commands print. The site is part of the documentation site, which
calls :func:`publish_site`. The races are those of tests/data; nothing here needs a network.
"""

from __future__ import annotations

import csv
import os
import re
import subprocess
import sys
import tempfile
from io import StringIO
from pathlib import Path

import pyarrow.parquet as pq
from rich.console import Console
from rich.text import Text

from ranklake.flows.answers.run import open_published
from ranklake.flows.pages.views.players import picture
from ranklake.storage import Lake

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "_static"
RACES = ROOT / "tests" / "data" / "formula-one-1950-1957.parquet"
RUN, PLAYER = "races", "juan-manuel-fangio"
COMMANDS = (
    f"ranklake leaderboard --run {RUN} --top 8",
    f"ranklake predict {PLAYER} stirling-moss nino-farina --run {RUN}",
)
WIDTH = 80  # columns of the terminal
TITLES = """name,minimum,colour
newcomer,-1000,#7a7a7a
driver,1200,#3aa76d
front runner,1500,#4d8fe8
race winner,1750,#b07ce8
champion,2000,#e0604f
"""
BRAND = """title = "Formula One, 1950 to 1957"
description = "Ratings of all drivers of the first eight seasons, from 64 races. An example of ranklake."
player = "driver"
players = "drivers"
contest = "race"
contests = "races"
"""
_DARK = re.compile(r"@media \(prefers-color-scheme: ?dark\) ?\{((?:[^{}]*\{[^{}]*\})*)\s*\}")
_NOT_KEPT = re.compile(r"@font-face \{.*?\}\s*|<!--.*?-->", re.DOTALL)


def make_lake(folder: Path) -> str:
    """A lake in a folder with the races, rated and published; its address."""
    lake = str(folder / "lake")
    (folder / "titles.csv").write_text(TITLES, encoding="utf-8")
    (folder / "brand.toml").write_text(BRAND, encoding="utf-8")
    with (folder / "names.csv").open("w", encoding="utf-8", newline="") as file:
        handles = sorted(set(pq.read_table(RACES, columns=["player"]).column("player").to_pylist()))
        csv.writer(file).writerows([("handle", "name"), *((one, _name(one)) for one in handles)])
    races = ("--dataset", RUN, "--column", "contest=contest_id", "--duplicates", "best")
    _ranklake("ingest", "files", str(RACES), *races, lake=lake)
    _ranklake("attributes", str(folder / "names.csv"), "--dataset", RUN, lake=lake)
    look = ("--titles", str(folder / "titles.csv"), "--brand", str(folder / "brand.toml"))
    _ranklake("rate", "--dataset", RUN, "--run", RUN, *look, lake=lake)
    _ranklake("publish", "--run", RUN, lake=lake)
    return lake


def publish_site(folder: Path) -> None:
    """Publish the site of the races into a folder."""
    with tempfile.TemporaryDirectory() as made:
        write_site(make_lake(Path(made)), folder)


def write_site(lake: str, folder: Path) -> None:
    """Publish the site of a lake of :func:`make_lake` into a folder."""
    _ranklake("publish", "--run", RUN, "--site", str(folder), lake=lake)


def pictures(lake: str) -> dict[str, str]:
    """The pictures by the names of their files."""
    graph = picture(open_published(Lake.open(lake), RUN), PLAYER, "graph")
    light, dark = _DARK.sub("", graph), _DARK.sub(r"\1", graph)
    return {"player-light.svg": light, "player-dark.svg": dark, "terminal.svg": terminal(lake)}


def terminal(lake: str) -> str:
    """What the commands print on a terminal, as SVG without fonts from elsewhere."""
    console = Console(record=True, width=WIDTH, file=StringIO(), force_terminal=True, color_system="truecolor")
    for command in COMMANDS:
        console.print(f"$ {command}", highlight=False, markup=False)
        printed = _ranklake(*command.split()[1:], lake=lake, columns=WIDTH)
        console.print(Text.from_ansi(printed.rstrip("\n")))
    svg = console.export_svg(title="ranklake", unique_id="ranklake")
    return "".join(f"{line.rstrip()}\n" for line in _NOT_KEPT.sub("", svg).splitlines() if line.strip())


def _ranklake(*arguments: str, lake: str, columns: int = 0) -> str:
    """What a command prints; as on a terminal of so many columns, if they are given."""
    environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    if columns:
        environment |= {"FORCE_COLOR": "1", "COLUMNS": str(columns), "TERM": "xterm-256color", "COLORTERM": "truecolor"}
    command = [sys.executable, "-m", "ranklake", *arguments, "--lake", lake]
    done = subprocess.run(command, check=True, capture_output=True, env=environment, encoding="utf-8")
    return done.stdout


def _name(handle: str) -> str:
    """The name of a driver: words in capitals, save the small ones inside."""
    first, *words = (word.capitalize() for word in handle.split("-"))
    return " ".join([first, *(word.lower() if word in ("De", "Di", "Da", "Von", "Van") else word for word in words)])


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        for name, drawn in pictures(make_lake(Path(made))).items():
            (FOLDER / name).write_text(drawn, encoding="utf-8", newline="\n")
            print(f"wrote {FOLDER / name}")
