"""Every golden vector against the package: one test a file, named by its id."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from golden.answers_elo_mmr import package, twin
from golden.families import FAMILIES, Family
from golden.runner import FOLDER, Case, Vector, cases, check

VECTOR = json.loads((FOLDER / "elo_mmr-rho1-full.json").read_text(encoding="utf-8"))


def family(vector: Vector) -> Family:
    assert vector["system"] in FAMILIES, f"no family answers system {vector['system']!r}"
    return FAMILIES[vector["system"]]


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
def test_vector__is_answered(case: Case) -> None:
    vector = case.load()
    known = family(vector)
    check(vector, known.package(vector), known.inner)


@pytest.mark.parametrize("case", cases([FOLDER]), ids=lambda case: case.name)
def test_vector__is_answered_by_the_steps_of_a_large_round_too(case: Case) -> None:
    """The path that a round of thousands takes, with its table, gives a handful of players the same numbers."""
    vector = case.load()
    known = family(vector)
    rtol = max(vector["rtol"], (known.cancels or {}).get(case.name, 0.0))
    check(vector | {"rtol": rtol}, known.package(vector, step_by_step=True))


@pytest.mark.parametrize("case", cases([FOLDER]), ids=lambda case: case.name)
def test_vector__is_answered_by_the_twin(case: Case) -> None:
    vector = case.load()
    check(vector, family(vector).twin(vector))


def test_ties_by_weights__of_teams_are_those_of_the_twin() -> None:
    vector = json.loads((FOLDER / "elo_mmr_teams-shares-split.json").read_text(encoding="utf-8"))
    params = {name: value for name, value in vector["params"].items() if name != "tie_mode"}
    vector |= {"params": params | {"tie_loss": 0.9, "tie_win": 0.4}}
    known = family(vector)
    vector |= {"expected": known.twin(vector)}
    for step_by_step in (False, True):
        check(vector, known.package(vector, step_by_step=step_by_step))


@pytest.mark.parametrize("runner", [package, twin], ids=["package", "twin"])
def test_runner__refuses_what_it_does_not_know(runner) -> None:
    with pytest.raises(ValueError, match="unknown parameter: speed"):
        runner(VECTOR | {"params": {"speed": 3}})
    with pytest.raises(ValueError, match="unknown contest key: divisions"):
        runner(VECTOR | {"contests": [{"divisions": []}]})
    with pytest.raises(ValueError, match="unknown key: misprinted"):
        runner(VECTOR | {"misprinted": "x"})


def test_check__notices_a_changed_number_a_missing_player_and_a_lost_factor() -> None:
    answers = twin(VECTOR)
    check(VECTOR, answers)
    player = next(iter(answers[-1]))
    for damage in ({"mu": answers[-1][player]["mu"] + 1e-8}, {"performance": float("nan")}, {"factors": []}):
        spoilt = [*answers[:-1], answers[-1] | {player: answers[-1][player] | damage}]
        with pytest.raises(AssertionError, match=f"contest {len(answers) - 1}, {player}, {next(iter(damage))}: got"):
            check(VECTOR, spoilt)
    with pytest.raises(AssertionError, match="expected"):
        check(VECTOR, [*answers[:-1], {}])


def test_cases__come_from_every_folder_and_a_copy_counts_once(tmp_path: Path) -> None:
    copy, other = tmp_path / "copy.json", tmp_path / "other.json"
    copy.write_bytes((FOLDER / "elo_mmr-sixty.json").read_bytes())
    other.write_text(json.dumps(VECTOR | {"rtol": 1e-9}), encoding="utf-8")
    here = {case.name for case in cases([FOLDER])}
    assert {case.name for case in cases([FOLDER, tmp_path])} - here == {f"elo_mmr-rho1-full@{tmp_path.name}/other"}


def test_cases__refuse_a_folder_without_vectors(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no vector files"):
        cases([tmp_path])


def test_case__of_an_unreadable_file_fails_by_itself(tmp_path: Path) -> None:
    (tmp_path / "torn.json").write_text('{"id": "elo', encoding="utf-8")
    (tmp_path / "list.json").write_text("[]", encoding="utf-8")
    by_name = {case.name: case for case in cases([tmp_path])}
    with pytest.raises(ValueError, match="Unterminated string"):
        by_name["torn"].load()
    with pytest.raises(ValueError, match=r"list\.json is no vector"):
        by_name["list"].load()
