"""Results in the forms that files use: read if they are unambiguous, otherwise left out or refused."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from ranklake.flows.sources.base import SourceError
from ranklake.flows.sources.games import batch
from ranklake.flows.sources.games.batch import SCHEMA, GamesReport, Verdicts
from ranklake.flows.sources.games.options import GamesOptions
from ranklake.flows.sources.games.scores import judge_results, parse_values

ONE = ["1-0", " 1-0 ", "1:0", "1–0", "1 — 0", "1−0", "1.0-0.0", "1,0:0,0", "1", "1.0", "white", "White", "w", "home",
       "H", "win"]  # fmt: skip
HALF = [
    "1/2-1/2", "1/2 - 1/2", "½-½",
    "½–½", "½:½", "1/2:1/2", "0.5-0.5", "0,5-0,5", ".5-.5", "0.5", ".5", "0,5", "½", "1/2",
    "0.50", "=-=", "=", "draw", "D", "tie", "Tied",
]  # fmt: skip
NONE = ["0-1", "0:1", "0‑1", "0.0-1.0", "0", "0.0", "black", "away", "loss", "L"]
FORFEIT = ["0-0", "0:0", "0–0", "+/-", "-/+", "+-", "-+", "+--", "--+", "+:-", "-:+", "-:-", "-/-", "1-0F", "1F-0",
           "1-0 ff", "0-1f", "0F-1", "0f-0f", "w/o", "½-0", "0-1/2"]  # fmt: skip
NO_RESULT = ["", " ", "?", "-", "nan", "None", "\\N", "--", None]
UNKNOWN = ["2-0", "1-1", "10", "7", "-1", "x", "1-", "0.25", "1/0", "a b", "ff", "½-1", "1-½", "11-0", "1-00"]


def judged(values: list[object], fractional: bool = False, **how: object) -> tuple[list[float], GamesReport]:
    report = GamesReport()

    def error(rule: str, row: int) -> SourceError:
        return SourceError(rule, "f", rows=[row])

    verdicts = Verdicts(len(values), report, error, **how)  # type: ignore[arg-type]
    scores = judge_results(pa.chunked_array([pa.array(values)]), verdicts, fractional)
    empty = [pa.nulls(len(values), field.type) for field in SCHEMA]
    verdicts.close(pa.Table.from_arrays(empty, schema=SCHEMA))
    return scores.tolist(), report


@pytest.mark.parametrize(("values", "score"), [(ONE, 1.0), (HALF, 0.5), (NONE, 0.0)])
def test_results__in_words_digits_and_any_dash_are_read(values: list[object], score: float) -> None:
    scores, report = judged(values)
    assert dict(zip(values, scores, strict=True)) == dict.fromkeys(values, score)
    assert report.left_out == {}


@pytest.mark.parametrize(
    ("values", "reason"),
    [(FORFEIT, "decided by forfeit, "), (NO_RESULT, "without a result"), (["*", " *"], "unfinished")],
)
def test_results__of_no_game_are_left_out_and_counted(values: list[object], reason: str) -> None:
    for value in values:
        assert np.isnan(judged([value, "1-0"])[0][0])
        (only,) = judged([value, "1-0"])[1].left_out.items()
        assert only[0].startswith(reason)
        assert (only[1].n, only[1].first) == (1, "f, row 0")


@pytest.mark.parametrize("value", [*UNKNOWN, 2, 0.25, -1.0, np.inf])
def test_results__of_unknown_meaning_are_refused_by_row(value: object) -> None:
    rest = ["1-0", value] if isinstance(value, str) else [1, value]
    with pytest.raises(SourceError, match=r"f, row 1: a result must be 1-0, .* got ") as raised:
        judged(rest)
    assert ("--fractional takes the scores" in str(raised.value)) == (value in ("0.25", 0.25))
    assert judged(rest, on_error="skip")[1].n_left_out == 1


def test_results__of_many_unknown_values_are_counted_without_all_names() -> None:
    report = judged([f"{n}-{n}" for n in range(1, 500)], on_error="skip")[1]
    assert report.n_left_out == 499
    assert len(report.lines()) == 21


@pytest.mark.parametrize(
    "values", [pa.array([1, 0, 1]), pa.array([True, False, True]), pa.array([1.0, 0.0, 1.0]).dictionary_encode(),
               pa.array(["1", "0", "1"]).dictionary_encode(), pa.array([1, 0, 1]).cast(pa.decimal128(22, 1))],
)  # fmt: skip
def test_results__of_any_type_are_read(values: pa.Array) -> None:
    verdicts = Verdicts(6, GamesReport(), lambda rule, row: SourceError(rule))
    assert judge_results(pa.chunked_array([values, values]), verdicts).tolist() == [1.0, 0.0, 1.0] * 2


def test_report__names_some_reasons_and_counts_the_others_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "MOST_REASONS", 2)
    report = GamesReport()
    for row in range(5):
        report.leave_out(f"of kind {row % 4}", 1, f"row {row}")
    assert report.lines() == [
        "left out: 2 games, for other reasons (first: row 2)",
        "left out: 2 games, of kind 0 (first: row 0)",
        "left out: 1 game, of kind 1 (first: row 1)",
    ]


def test_fractions__are_results_where_they_are_asked_for() -> None:
    texts = ["0.75", "0,1", "1-0", "1/2-1/2", "1", "*"]
    assert judged(texts, fractional=True)[0][:5] == [0.75, 0.1, 1.0, 0.5, 1.0]
    assert judged([0.75, 0.0, 1e-9], fractional=True)[0] == [0.75, 0.0, 1e-9]
    for value in ("1.5", "-0.25", "x", "2-1"):
        with pytest.raises(SourceError, match="a result must be a number from 0 to 1, 1-0, 0-1 or 1/2-1/2, got"):
            judged([value], fractional=True)


def test_values__say_what_other_texts_and_numbers_mean() -> None:
    meanings = parse_values(["model_a=1", " Model_B =0", "tie (bothbad)=0.5", "2=0", "a=b=1", "draw=none"])
    given = ["model_a", "Model_B ", "tie (bothbad)", "A=b", "1-0", "tie"]
    column = pa.chunked_array([pa.array(given)])
    verdicts = Verdicts(len(given), GamesReport(), lambda rule, row: SourceError(rule, "f", rows=[row]))
    assert judge_results(column, verdicts, meanings=meanings).tolist() == [1.0, 0.0, 0.5, 1.0, 1.0, 0.5]
    for numbers in ([1, 2], [1.0, 2.0]):
        column = pa.chunked_array([pa.array(numbers)])
        assert judge_results(column, Verdicts(2, GamesReport(), verdicts.error), meanings=meanings).tolist() == [
            1.0,
            0.0,
        ]
    report = GamesReport()
    verdicts = Verdicts(2, report, verdicts.error)
    judge_results(pa.chunked_array([pa.array(["Draw", "1-0"])]), verdicts, meanings=meanings)
    assert report.left_out["with the result 'Draw', as --value says"].n == 1


@pytest.mark.parametrize("setting", ["model_a", "=1", "model_a=", "model_a=2", "model_a=-0.5", "model_a=nan", "a=won"])
def test_value__of_another_form_is_refused(setting: str) -> None:
    with pytest.raises(
        ValueError, match=rf"--value '{setting}': expected TEXT=SCORE with a SCORE from 0 to 1, or none"
    ):
        parse_values([setting])


def test_values__are_checked() -> None:
    with pytest.raises(ValueError, match="--value 'A=0': this text is given twice"):
        parse_values(["a=1", "A=0"])
    assert GamesOptions(values={"a": 0.75}, fractional=True).values == {"a": 0.75}
    with pytest.raises(
        ValueError, match=r"--value a=0\.75 is between a win, a draw and a loss, which needs --fractional"
    ):
        GamesOptions(values={"a": 0.75})
