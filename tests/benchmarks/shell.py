"""A row about commands that show results of a published run: their time from the shell."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from changes import RUN, published_lake
from timing import Best, Command, Options, Result, invoke, run_command

from ranklake.flows.publication.root import index_path

REPEATS = 5
SECONDS = 0.5


def shell(options: Options) -> Iterator[Result]:
    """`leaderboard`, `player` and `plot player` of all of Codeforces with an index, and without it."""
    with published_lake(options) as lake, tempfile.TemporaryDirectory() as folder:
        picture = Path(folder, "player.png")

        def show(*words: str) -> tuple[Command, bytes]:
            """The command, and the file that it wrote."""
            done = run_command(invoke(), *words, "--run", RUN, "--lake", lake)
            return done, picture.read_bytes() if "plot" in words else b""

        best, _ = show("leaderboard", "--top", "1", "--format", "csv")
        player = best.output.splitlines()[-1].split(",")[1].strip('"')
        commands = {
            "leaderboard": ("leaderboard",),
            "leaderboard --format csv": ("leaderboard", "--format", "csv"),
            "player": ("player", player),
            "plot player": ("plot", "player", player, "--output", str(picture)),
        }
        if options.quick:  # a table and a picture
            commands = {name: commands[name] for name in ("leaderboard", "plot player")}
        turns = {name: [show(*words) for _ in range(options.repeats(REPEATS))] for name, words in commands.items()}
        Path(lake, index_path(RUN)).unlink()
        for name, words in commands.items():
            without, written = show(*words)
            same = all(done.output == without.output and file == written for done, file in turns[name])
            seconds = Best(done.seconds for done, _ in turns[name])
            cpu_seconds = Best(done.cpu_seconds for done, _ in turns[name])
            yield Result(
                "shell",
                f"ranklake {name}; {cpu_seconds:.2f} s of all cores, {without.cpu_seconds:.1f} s without the index",
                seconds,
                targets={f"at most {SECONDS} s: {seconds:.2f} s": seconds <= SECONDS, "the same output": same},
                figures={"cpu_seconds": cpu_seconds, "without_index_cpu_seconds": without.cpu_seconds},
                case=name,
            )
