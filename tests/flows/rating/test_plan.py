"""Configurations, digests of rounds, and the plan: which rounds are rated again, and why."""

from __future__ import annotations

from hashlib import blake2b
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from helpers.lakes import lake_of, often, rate_run, synthetic

from ranklake.flows.common.configuration.settings import build_params, params_to_json
from ranklake.flows.rating.chain import first_break, n_valid, round_contents, round_digests
from ranklake.flows.rating.config import RunConfig
from ranklake.flows.rating.plan import Plan
from ranklake.flows.rating.resolve import refuse_other
from ranklake.rating_kernels import SYSTEMS
from ranklake.storage import Chain, Dataset, Events, Lake, Run

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


@pytest.mark.parametrize(
    ("at", "rated", "present", "before", "exclude", "text"),
    [
        (1, ["a", "b"], ["a", "b"], [], [], "contest b, changed"),
        (1, ["a", "b"], ["a", "b"], [], ["b"], "contest b, is excluded"),
        (1, ["a", "b"], ["a", "b"], ["b"], [], "contest b, is included again"),
        (0, ["a", "b"], ["b"], [], [], "contest a, was removed"),
        (1, ["a", "b"], ["a"], [], [], "contest b, was removed"),
        (1, ["a", "b"], ["a", "c", "b"], [], [], "contest c, was inserted"),
        (0, ["a", "b"], ["b", "a"], [], [], "contest b, was moved here"),
    ],
)
def test_first_break__says_what_happened_to_the_contest(
    at: int, rated: list[str], present: list[str], before: list[str], exclude: list[str], text: str
) -> None:
    segment: Any = SimpleNamespace(contest_ids=rated)
    chain = Chain((segment,), (), "")
    contests = pa.table({"contest_id": present, "scored": [None] * len(present)})
    dataset: Any = SimpleNamespace(contests=contests, events=Events)
    run: Any = SimpleNamespace(config={"exclude": before})
    assert first_break(at, chain, dataset, run, exclude, []) == text


@pytest.mark.parametrize("exclude", [set(), {"b"}, {"a", "c", "unknown"}])
def test_round_digests__are_each_the_digest_of_the_one_before_and_its_contest(exclude: set[str]) -> None:
    contents = {name: blake2b(name.encode(), digest_size=16).hexdigest() for name in "abc"}
    dataset: Any = SimpleNamespace(
        contests=pa.table({"contest_id": list(contents), "content_digest": list(contents.values())})
    )
    digest, wanted = b"configuration", []
    for name, content in contents.items():
        update = b"excluded " + name.encode() if name in exclude else bytes.fromhex(content)
        digest = blake2b(digest + update, digest_size=16).digest()
        wanted.append(digest.hex())
    assert round_digests(b"configuration", round_contents(dataset, exclude, {}), []) == wanted


@pytest.mark.parametrize(
    ("recorded", "required", "n"),
    [
        ("", "", 0),
        ("abc", "", 0),
        ("", "abc", 0),
        ("abc", "abc", 3),
        ("ab", "abc", 2),
        ("abc", "ab", 2),
        ("axc", "abc", 1),
    ],
)
def test_n_valid__counts_the_rounds_before_the_first_difference(recorded: str, required: str, n: int) -> None:
    assert n_valid(list(recorded), list(required)) == n


OFTEN = often(segment_rows=20, snapshot_rows=10**9)


@pytest.fixture
def rated(tmp_path: Path) -> Lake:
    """A lake with a rated run of several segments."""
    lake = lake_of(tmp_path / "lake", synthetic(20, n_players=12))
    rate_run(lake, system="elo", policy=OFTEN)
    return lake


def test_plan__of_a_damaged_chain_has_its_reason(rated: Lake) -> None:
    config, dataset = RunConfig.of(Run.open(rated, "run")), Dataset.open(rated, "games")
    whole = Plan.of(config, dataset)
    assert (whole.kept, whole.why) == (20, "")
    manifests = sorted(Path(rated.url, "runs", "run", "rounds").glob("*.json"))
    manifests[1].unlink()
    plan = Plan.of(config, dataset)
    assert plan.kept == int(manifests[1].stem)
    assert f"{manifests[1].name}: is missing" in plan.why
