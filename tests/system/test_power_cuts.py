"""Power cuts at any step of a command: nothing committed is lost, and the command again ends as if undisturbed."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from chaos.commands import DATASET, RATE, Words, with_paths
from chaos.lives import lives
from chaos.power import check_cut, check_kept, recorded
from chaos.world import World
from helpers.command_server import CommandServer
from helpers.life import CONTESTS
from helpers.power import SURVIVING, cuts

INGEST = ["ingest", "files", "{first}", *DATASET]
AGAIN = ["ingest", "files", "{second}", *DATASET]
PUBLISH = ["publish", "--run", "run"]
RATED = [INGEST, RATE]
OUT = CONTESTS[14].handles[0].as_py()
COMMANDS: dict[str, list[Words]] = {
    "first ingest": [INGEST],
    "ingest": [*RATED, AGAIN],
    "rewrite": [*RATED, [*AGAIN, "--rewrite"]],
    "ingest of a site": [["ingest", "topcoder", "--base-url", "{feed}"]],
    "amend": [*RATED, ["amend", "14", "--remove", OUT, *DATASET]],
    "alias": [*RATED, ["alias", OUT, "another name", *DATASET]],
    "remove": [*RATED, ["remove", "14", *DATASET]],
    "attributes": [INGEST, ["attributes", "{norway}", *DATASET], ["attributes", "{chile}", *DATASET]],
    "results": [INGEST, *(["ingest", "results", name, *DATASET] for name in ("{solves.csv}", "{more_solves.csv}"))],
    "first rate": [INGEST, RATE],
    "rate": [*RATED, AGAIN, RATE],
    "compact a data set": [*RATED, ["compact", *DATASET, "--rows", "150"]],
    "compact a run": [*RATED, ["compact", "--run", "run", "--rows", "100"]],
    "first publish": [*RATED, PUBLISH],
    "publish": [*RATED, PUBLISH, AGAIN, RATE, PUBLISH],
    "smooth": [*RATED, ["smooth", "--run", "run"]],
    "delete a run": [*RATED, PUBLISH, ["delete", "--run", "run", "--with-published", "--yes"]],
    "delete a data set": [*RATED, ["delete", *DATASET, "--with-runs", "--yes"]],
}
FEW = 2  # cuts of one command in the slow tests, for each way of surviving; and one after its end


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, command_server: CommandServer) -> Iterator[World]:
    made = World(tmp_path_factory.mktemp("power"))
    made.once("command_server", lambda: command_server)
    yield made
    made.__exit__()


@pytest.mark.slow
def test_ingest__a_power_cut_at_any_step_loses_nothing(world: World) -> None:
    step = lives(world).after([INGEST, AGAIN])
    done = recorded(world, step)
    for surviving in SURVIVING:
        for number, left in cuts(step.before, done, surviving):
            check_kept(world, step, left, number == len(done), f"after step {number} ({surviving} survived)")


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_command__after_a_power_cut_ends_as_if_undisturbed(world: World, name: str) -> None:
    step = lives(world).after(COMMANDS[name])
    assert step.ended.code == 0, step.ended.err
    done = recorded(world, step)
    for offset, surviving in enumerate(SURVIVING):
        states = list(cuts(step.before, done, surviving))
        chosen = states[offset :: max(len(states) // FEW, 1)]
        for number, left in chosen + states[-1:] if surviving == "flushed" else chosen:
            check_cut(world, step, left, number, surviving, last=number == len(done))


CALLS = re.compile(r"\d+ +(rename|renameat|renameat2|link|linkat|fsync|fdatasync)\((.*?)(?:\) += 0| <unfinished)")
PROGRAM = "import sys; from ranklake.flows.cli.main import main; sys.argv[0] = 'ranklake'; main()"


@pytest.mark.slow
def test_ingest__flushes_in_order_as_the_system_sees_it(world: World, tmp_path: Path) -> None:
    """The calls of a process: the file of a root before its rename, its folder after it, all others before both."""
    if shutil.which("strace") is None or subprocess.run(["strace", "-o", "/dev/null", "true"], check=False).returncode:
        pytest.skip("strace is not installed, or may not trace processes here")
    lake, log = tmp_path / "lake", tmp_path / "calls"
    words = with_paths(world, [*INGEST, "--lake", str(lake)])
    trace = ["strace", "-f", "-y", "-o", str(log), "-e", "trace=/rename,/link,fsync,fdatasync"]
    subprocess.run([*trace, sys.executable, "-c", PROGRAM, *words], check=True, capture_output=True)
    named, flushed = set[str](), set[str]()
    root = "/games/contests/contests.parquet"
    for call, given in CALLS.findall(log.read_text()):
        paths = re.findall(r'[<"](/[^">]*)[">]', given)
        if call.endswith("sync"):
            flushed.add(paths[0])
        elif paths[1].startswith(f"{lake}/games/"):
            named.add(paths[1])
            if paths[1].endswith(root):
                others = {path for path in named if "/lease-" not in path and not path.endswith(root)}
                assert others | {str(Path(path).parent) for path in others} <= flushed
                assert paths[0] in flushed
                flushed.clear()
    assert f"{lake}{root}" in named
    assert f"{lake}/games/contests" in flushed
