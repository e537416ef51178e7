"""Rows about a changing history: corrections, and repeated publishing."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from against_peer import CODEFORCES
from timing import Best, Command, Options, Result, invoke, reported, run_command

from ranklake.storage import Dataset, Lake

PLACES = 0.1, 0.5, 0.9  # positions of a corrected contest, as shares of the history
REPEATS = 3  # the first may compile; the best counts
RUN = "r"


def corrections(options: Options) -> Iterator[Result]:
    """`ranklake rate` after a disqualification early, in the middle or late in Codeforces."""
    with rated(options) as (lake, data, n_rounds):
        nothing = []
        for share in PLACES[1:2] if options.quick else PLACES:
            place = int(share * n_rounds)
            contest = data.contests.column("contest_id")[place].as_py()
            loser = data.handles()[int(next(data.standings(place, place + 1)).player[-1])].as_py()
            after, again = [], []
            for turn in range(options.repeats(REPEATS)):
                rate(lake, f"{RUN}{share}-{turn}", place)
                after.append(reported(rate(lake, f"{RUN}{share}-{turn}", n_rounds)))
                run_command(invoke(), "delete", "--run", f"{RUN}{share}-{turn}", "--yes", "--lake", lake)
                undo = ("--undo",) if turn % 2 else ()
                run_command(invoke(), "amend", contest, "--remove", loser, *undo, "--dataset", "d", "--lake", lake)
                again.append(rate(lake, RUN, n_rounds))
                nothing.append(rate(lake, RUN, n_rounds))
            best, bound = min(again, key=reported), min(after) + 0.5
            yield Result(
                "corrections",
                f"ranklake rate after a player was taken out of contest {place:,}; itself it reports "
                f"{reported(best):.1f} s, and the rounds from there on alone {min(after):.1f} s",
                Best(command.seconds for command in again),
                targets={
                    f"at most 0.5 s beside the rounds after: {reported(best) - min(after):.1f} s": reported(best)
                    <= bound
                },
                figures={
                    "reported_seconds": reported(best), "after_seconds": min(after), "cpu_seconds": best.cpu_seconds
                },
                case=f"at {share:g}",
            )  # fmt: skip
    idle = min(nothing, key=lambda command: command.seconds)
    yield Result(
        "corrections", f"ranklake rate, nothing changed; itself it reports {reported(idle):.1f} s",
        Best(command.seconds for command in nothing), case="nothing new",
        targets={f"at most 1 s after its start: {reported(idle):.1f} s": reported(idle) <= 1.0},
        figures={"reported_seconds": reported(idle), "cpu_seconds": idle.cpu_seconds},
    )  # fmt: skip


def publish(options: Options) -> Iterator[Result]:
    """Publish all of Codeforces: at once, one more round, and without a change."""
    done: dict[str, list[Command]] = {"a whole run": [], "one more round": [], "nothing new": []}
    with rated(options, without=1) as (lake, _, n_rounds):
        for turn in range(options.repeats(REPEATS)):
            run = f"{RUN}{turn}" if turn else RUN
            if turn:
                rate(lake, run, n_rounds - 1)
            done["a whole run"].append(_publish(lake, run))
            rate(lake, run, n_rounds)
            done["one more round"].append(_publish(lake, run))
            done["nothing new"].append(_publish(lake, run))
    for what, limit in (("a whole run", 10.0), ("one more round", 1.0), ("nothing new", None)):
        best, seconds = min(done[what], key=lambda command: command.seconds), Best(one.seconds for one in done[what])
        told = f"ranklake publish, {what}; {best.cpu_seconds:.1f} s of all cores; peak {best.peak_bytes / 1e9:.2f} GB"
        figures = {"cpu_seconds": best.cpu_seconds, "peak_bytes": best.peak_bytes}
        if limit is None:
            yield Result("publish", told, seconds, figures=figures, case=what)
            continue
        figures["reported_seconds"] = inside = Best(reported(command) for command in done[what])
        target = {f"at most {limit:.0f} s reported: {inside:.1f} s": inside <= limit}
        yield Result("publish", told, seconds, targets=target, figures=figures, case=what)


def site(options: Options) -> Iterator[Result]:
    """`ranklake publish --site` of all of Codeforces: at once, one more round, and without a change."""
    with rated(options, without=1) as (lake, _, n_rounds), tempfile.TemporaryDirectory() as folder:
        for what, limit in (("a whole run", 60.0), ("one more round", 5.0), ("nothing new", None)):
            if what == "one more round":
                rate(lake, RUN, n_rounds)
            done = run_command(invoke(), "publish", "--run", RUN, "--site", folder, "--lake", lake)
            targets = {} if limit is None else {f"at most {limit:.0f} s: {done.seconds:.1f} s": done.seconds <= limit}
            yield Result(
                "site",
                f"ranklake publish --site, {what}; {done.cpu_seconds:.1f} s of all cores; "
                f"peak {done.peak_bytes / 1e9:.2f} GB",
                done.seconds, targets=targets,
                figures={"cpu_seconds": done.cpu_seconds, "peak_bytes": done.peak_bytes}, case=what,
            )  # fmt: skip


@contextmanager
def published_lake(options: Options) -> Iterator[str]:
    """A lake with Codeforces, rated and published as ``RUN``."""

    def make(lake: str) -> None:
        with rated(options) as (filled, _, _):
            _publish(filled, RUN)
            shutil.copytree(filled, lake)

    with _prepared(options, "published", make) as lake:
        yield lake


@contextmanager
def rated(options: Options, without: int = 0) -> Iterator[tuple[str, Dataset, int]]:
    """The same as :func:`codeforces`, with the rounds rated as ``RUN``, without the last ones."""

    def make(lake: str) -> None:
        with codeforces(options) as (ingested, _, n_rounds):
            rate(ingested, RUN, n_rounds - without)
            shutil.copytree(ingested, lake)

    with _prepared(options, f"rated without {without}", make) as lake:
        yield _opened(lake, options)


@contextmanager
def codeforces(options: Options) -> Iterator[tuple[str, Dataset, int]]:
    """A lake with the contests of Codeforces, and the number of contests to rate."""

    def make(lake: str) -> None:
        run_command(invoke(), "ingest", "files", options.file(CODEFORCES), "--dataset", "d", "--lake", lake)

    with _prepared(options, "ingested", make) as lake:
        yield _opened(lake, options)


def _opened(lake: str, options: Options) -> tuple[str, Dataset, int]:
    data = Dataset.open(Lake.open(lake), "d")
    return lake, data, options.least(data.contests.num_rows)


@contextmanager
def _prepared(options: Options, name: str, make: Callable[[str], None]) -> Iterator[str]:
    """A lake as ``make`` fills it; with a limit, each row gets a copy of one."""
    with tempfile.TemporaryDirectory() as folder:
        lake = Path(folder, "lake")
        filled = lake if options.excerpts is None else options.excerpts / name
        if not filled.exists():
            make(str(filled))
        if filled != lake:
            shutil.copytree(filled, lake)
        yield str(lake)


def rate(lake: str, run: str, n_rounds: int) -> Command:
    """Rate the first rounds."""
    bound = ("--max-rounds", str(n_rounds))
    return run_command(invoke(), "rate", "--dataset", "d", "--run", run, "--lake", lake, *bound)


def _publish(lake: str, run: str) -> Command:
    return run_command(invoke(), "publish", "--run", run, "--lake", lake)
