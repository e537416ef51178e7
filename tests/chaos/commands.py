"""Random commands on a lake, and the contests and feeds that they read.

A command is a list of words as on the command line, without ``--lake``; ``{first}`` stands for a path.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TypeAlias

from chaos.world import World
from helpers.command_server import CommandServer, open_command_server
from helpers.folders import write_folder
from helpers.life import CONTESTS, SETTINGS, SOURCES

Words: TypeAlias = list[str]

DATASET = ["--dataset", "games"]
RATE = ["rate", *DATASET, "--run", "run"]
SYSTEMS = ("elo-mmr", "elo", "glicko")

# Commands import modules when they need them; here the modules are imported before.
WARM = f"""
import deltalake
import ranklake.flows.rating.chain
import ranklake.flows.compilation.child_processes
import ranklake.flows.engines.threads
import ranklake.flows.evaluation.evaluate
import ranklake.flows.publication.export
import ranklake.flows.ingestion.files
import ranklake.flows.scheduling.follow
import ranklake.flows.maintenance.freshness
import ranklake.flows.ingestion.sites
import ranklake.flows.answers.lake_rows
import ranklake.flows.answers.rated_run
import ranklake.flows.rating.multi_run
import ranklake.flows.publication.publish
import ranklake.flows.rating.resolve
import ranklake.flows.cli.terminal.show
import ranklake.flows.sources.files.contests
import ranklake.flows.sources.sites.topcoder
import ranklake.flows.maintenance.status
import ranklake.flows.maintenance.verify
import ranklake.flows.publication.verification
from helpers.lakes import rated_in_memory, synthetic
for system in {SYSTEMS[1:]}:
    rated_in_memory(synthetic(30), system=system)
"""

FEEDS = {  # rounds of TopCoder: division, points of each coder
    "feed": {1: (1, [500, 400, 400, 100]), 2: (2, [300, 200]), 3: (1, [50, 40, 30, 20, 10])},
    "longer": {1: (1, [500, 400, 400, 100]), 2: (2, [200, 300]), 3: (1, [50, 40, 30, 20, 10]), 4: (1, [7, 6, 5])},
}

COUNTRIES = ("norway", "chile")  # tables of attributes
SOLVES = ("solves.csv", "more_solves.csv")  # tables of results of problems


def command_server(world: World) -> CommandServer:
    """The server that starts commands without delay."""

    def made() -> AbstractContextManager[CommandServer]:
        return open_command_server(SETTINGS + WARM)

    return world.once("command_server", made)


def with_paths(world: World, command: Words) -> Words:
    """A command with the paths of its sources."""
    folder = world.once("sources", lambda: _sources(world.folder / "sources"))
    names = {f"{{{name}}}": str(folder / name) for name in [*SOURCES, *FEEDS, *COUNTRIES, *SOLVES]}
    return [names.get(word, word) for word in command]


def draw_commands(dice: random.Random, n: int) -> list[Words]:
    """``n`` commands; the first ones make a data set and a run."""
    life = [["ingest", "files", "{first}", *DATASET], list(RATE)]
    while len(life) < n:
        life.append(draw_command(dice))
        if dice.random() < 0.3:
            life.append(list(RATE))
    return life[:n]


def draw_command(dice: random.Random) -> Words:
    """A random command."""
    kinds = [_ingest, _amend, _rate, _publish, _compact, _follow, _feed, _read, _delete]
    return dice.choices(kinds, [4, 5, 3, 3, 3, 2, 2, 1, 1])[0](dice)


def _ingest(dice: random.Random) -> Words:
    more = dice.choice([[], [], [], ["--mirror"], ["--rewrite"], ["--order", "time"]])
    return ["ingest", "files", f"{{{dice.choice(list(SOURCES))}}}", *DATASET, *more]


def _amend(dice: random.Random) -> Words:
    """A manual correction."""
    contest = dice.choice(CONTESTS[:24])
    handles = contest.handles.to_pylist()
    kind = dice.choice(["out", "out", "undo", "alias", "unalias", "remove"])
    if kind in ("out", "undo"):
        undo = ["--undo"] if kind == "undo" else []
        return ["amend", contest.contest_id, "--remove", handles[0], *undo, *DATASET]
    if kind == "remove":
        return ["remove", contest.contest_id, *DATASET]
    old, new = f"player {dice.randrange(4)}", f"player {dice.randrange(4, 8)}"
    return ["alias", old, new, *DATASET] if kind == "alias" else ["unalias", old, *DATASET]


def _rate(dice: random.Random) -> Words:
    more = dice.choice(["again", "several", "exclude", "first", "replace"])
    if more == "several":
        return ["rate", *DATASET, *(word for name in dice.sample(SYSTEMS, 2) for word in ("--system", name))]
    if more == "replace":
        return [*RATE, "--system", dice.choice(SYSTEMS), "--replace"]
    if more == "exclude":
        return [*RATE, "--exclude", str(dice.randrange(20))]
    return [*RATE, "--from", str(dice.randrange(20))] if more == "first" else list(RATE)


def _publish(dice: random.Random) -> Words:
    return ["publish", "--run", "run", *dice.choice([[], [], ["--maintain"], ["--afresh"]])]


def _compact(dice: random.Random) -> Words:
    rows = str(dice.choice([50, 100, 150, 10_000]))
    return ["compact", *dice.choice([DATASET, ["--run", "run"], []]), "--rows", rows]


def _follow(dice: random.Random) -> Words:
    source = ["--source", "files", "--path", f"{{{dice.choice(list(SOURCES))}}}"]
    return ["follow", *source, *DATASET, "--run", "run", *dice.choice([[], ["--no-publish"]])]


def _feed(dice: random.Random) -> Words:
    if dice.random() < 0.4:
        return ["normalise", "--source", "topcoder"]
    return ["ingest", "topcoder", "--base-url", f"{{{dice.choice(list(FEEDS))}}}", *dice.choice([[], ["--again"]])]


def _read(dice: random.Random) -> Words:
    return dice.choice([["verify"], ["runs"], ["leaderboard", "--run", "run"], ["verify", "--run", "run"]])


def _delete(dice: random.Random) -> Words:
    which = dice.choice([["--run", "run"], ["--run", "run", "--with-published"], [*DATASET, "--with-runs"]])
    return ["delete", *which, "--yes"]


@contextlib.contextmanager
def _sources(folder: Path) -> Iterator[Path]:
    for name, contests in SOURCES.items():
        write_folder(folder / name, contests)
    for name, rounds in FEEDS.items():
        _write_feed(folder / name, rounds)
    for name in COUNTRIES:
        (folder / name).write_text(f"handle,country\nplayer 1,{name}\nplayer 2,Peru\n")
    for name, problem in zip(SOLVES, "AB", strict=True):
        solved = [f"{one.contest_id},{one.handles[0]},{problem},1" for one in CONTESTS[:3]]
        (folder / name).write_text("\n".join(["contest,player,problem,solved", *solved]) + "\n")
    yield folder


def _write_feed(folder: Path, rounds: dict[int, tuple[int, list[int]]]) -> None:
    """The files of TopCoder's feed."""

    def document(name: str, rows: list[dict[str, object]]) -> str:
        inside = "".join("<row>" + "".join(f"<{k}>{v}</{k}>" for k, v in row.items()) + "</row>" for row in rows)
        return f'<?xml version="1.0" encoding="ISO-8859-1"?><{name}>{inside}</{name}>'

    folder.mkdir()
    listed = [{"round_id": number, "full_name": f"Round {number}", "date": f"2001-04-{number:02} 14:00"}
              for number in rounds]  # fmt: skip
    (folder / "dd_round_list.xml").write_text(document("dd_round_list", listed))
    for number, (division, points) in rounds.items():
        rows = [{"coder_id": 100 + coder, "handle": f"coder {coder}", "division": division, "final_points": score,
                 "rated_flag": 1} for coder, score in enumerate(points)]  # fmt: skip
        (folder / f"dd_round_results_rd={number}.xml").write_text(document("dd_round_results", rows))
