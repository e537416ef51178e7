"""The configuration of a run: hyperparameters that a system did not have at first are recorded only if they are set."""

from __future__ import annotations

import pytest

from ranklake.flows.common.configuration.settings import build_params, params_to_json
from ranklake.flows.rating.config import RunConfig
from ranklake.flows.rating.resolve import refuse_other
from ranklake.rating_kernels import SYSTEMS

TEAMS = {"team": "mean", "team_noise": "team", "credit": "joint"}


def config(system: str, **settings: str) -> RunConfig:
    return RunConfig("d", "r", system, build_params(SYSTEMS[system], settings))


@pytest.mark.parametrize("system", ["elo-mmr", "elo-mmx", "elo-mms"])
def test_configuration__of_a_run_without_settings_for_teams_is_that_of_older_releases(system: str) -> None:
    plain = config(system)
    assert not plain.to_json()["params"].keys() & TEAMS.keys()
    assert plain.digest == config(system, **TEAMS).digest
    assert params_to_json(plain.params, whole=True).items() >= TEAMS.items()


@pytest.mark.parametrize("name", TEAMS)
def test_configuration__with_another_rule_for_teams_is_another_run(name: str) -> None:
    plain, other = (
        config("elo-mmr"),
        config("elo-mmr", **{name: {"team": "best", "credit": "own"}.get(name, "members")}),
    )
    assert plain.digest != other.digest
    assert build_params(SYSTEMS["elo-mmr"], other.to_json()["params"]) == other.params
    for recorded, wanted in ((plain, other), (other, plain)):
        with pytest.raises(ValueError, match=f"run r exists with {name} .*requested was {name} "):
            refuse_other(recorded, wanted)
    refuse_other(other, other)
