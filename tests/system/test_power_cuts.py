"""Power cuts at any step of a command: nothing committed is lost, and the command again ends as if undisturbed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from chaos.commands import DATASET, RATE, Words
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
FEW = 4  # cuts of one command in the slow tests, for each way of surviving; and the last one


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, command_server: CommandServer) -> Iterator[World]:
    made = World(tmp_path_factory.mktemp("power"))
    made.once("command_server", lambda: command_server)
    yield made
    made.__exit__()


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
        for number, left in states[offset :: max(len(states) // FEW, 1)] + states[-1:]:
            check_cut(world, step, left, number, surviving, last=number == len(done))
