"""Clocks that go back, or are years ahead: neither the files nor the state of leases depend on them."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.command_server import CommandServer
from helpers.life import Step, assert_as_after, put

pytestmark = pytest.mark.slow

YEARS = 10 * 366 * 86_400
CLOCKS = {
    "set back between commands": f"import time\nreal = time.time\ntime.time = lambda: real() - {YEARS}",
    "set forward between commands": f"import time\nreal = time.time\ntime.time = lambda: real() + {YEARS}",
    "going back all the time": "import itertools, time\nturns = itertools.count()\n"
    "time.time = lambda: 2e9 - 86_400.0 * next(turns)",
}


def test_life__under_a_clock_that_jumps_is_the_same(
    command_server: CommandServer, steps: list[Step], tmp_path: Path
) -> None:
    lake, clocks = tmp_path / "lake", [*CLOCKS.values(), ""]
    put(steps[0].before, lake)
    for number, step in enumerate(steps):
        ended = command_server.run(*step.command, "--lake", str(lake), before=clocks[number % len(clocks)])
        assert ended.code == 0, ended.err
        assert_as_after(lake, step)


@pytest.mark.parametrize("clock", CLOCKS)
def test_lease__state_of_its_process_decides_whatever_the_clock_is(
    command_server: CommandServer, steps: list[Step], tmp_path: Path, clock: str
) -> None:
    step, lake = steps[8], tmp_path / "lake"  # rate
    arguments = (*step.command, "--lake", str(lake))
    for theirs, ours in ((CLOCKS[clock], ""), ("", CLOCKS[clock])):
        put(step.before, lake)
        running = command_server.start(*arguments, at=40, how="stop", before=theirs)
        assert running.wait().stopped
        refused = command_server.run(*arguments, before=ours)
        assert refused.code == 1
        assert f"process {running.pid}) holds the lease, last heartbeat" in refused.err
        assert running.kill().killed
        assert command_server.run(*arguments, before=ours).code == 0
        assert_as_after(lake, step)
