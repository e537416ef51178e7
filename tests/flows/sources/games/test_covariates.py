"""Covariates of games: read from tables, stored for the winner, read back, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.commands import Command

from ranklake.flows.sources.base import SourceError
from ranklake.flows.sources.games.batch import GamesReport
from ranklake.flows.sources.games.covariates import parse_covariates
from ranklake.flows.sources.games.options import GamesOptions
from ranklake.flows.sources.games.reading import read_periods
from ranklake.storage import Dataset, Lake
from ranklake.storage.datasets.tables.games import Period

TABLE = (
    "white,black,result,date,side,len\n"
    "a,b,1-0,2026-01-01,1,12\nc,b,0-1,2026-01-01,-1, 3.5 \na,c,1/2-1/2,2026-01-02,1,-0.0\nb,c,0-1,2026-01-03,1,1e2\n"
)


def read(path: Path, *covariates: str, **options: Any) -> list[Period]:
    chosen = GamesOptions(covariates=parse_covariates(covariates), **options)
    return list(read_periods([str(path)], chosen, GamesReport()))


def test_covariates__are_stored_and_read_back_as_the_winner_sees_them(tmp_path: Path, invoke: Command) -> None:
    path, at = tmp_path / "games.csv", ("--dataset", "g", "--lake", str(tmp_path / "lake"))
    path.write_text(TABLE)
    both = ("--covariate", "side", "--covariate", "length=len")
    assert invoke("ingest", "games", str(path), *both, *at).code == 0
    dataset = Dataset.open(Lake.open(tmp_path / "lake"), "g")
    assert dataset.covariates == ("length", "side")
    (games,) = [part.games for part in dataset.standings()]
    assert games is not None
    assert games.covariates is not None
    assert games.swapped.tolist() == [False, True, False, True]
    assert games.covariates.names == ("length", "side")
    assert games.covariates.values.tolist() == [[12.0, 1.0], [-3.5, 1.0], [0.0, 1.0], [-100.0, -1.0]]
    assert not np.signbit(games.covariates.values[2, 0])
    assert games.covariates.turned(games.swapped).values[:, 0].tolist() == [12.0, 3.5, 0.0, 100.0]
    assert "3 unchanged" in invoke("ingest", "games", str(path), *reversed_pairs(both), *at).out
    assert "3 corrected" in invoke("ingest", "games", str(path), *both[:2], *at).out
    path.write_text(TABLE.partition("c,b")[0])
    lacking = invoke("ingest", "games", str(path), *at)
    assert lacking.code == 1
    assert "no covariates, and those of the other periods of data set g, as 2026-01-02, have" in lacking.err
    assert Dataset.open(Lake.open(tmp_path / "lake"), "g").covariates == ("side",)


def reversed_pairs(options: tuple[str, ...]) -> tuple[str, ...]:
    return options[2:] + options[:2]


def test_covariates__of_winners_and_losers_are_those_of_the_winner(tmp_path: Path) -> None:
    path = tmp_path / "games.csv"
    path.write_text("winner,loser,date,length\na,b,2026-01-01,3\nb,a,2026-01-01,-2\n")
    (period,) = read(path, "length")
    assert period.games.covariates is not None
    assert period.games.covariates.values.ravel().tolist() == [3.0, -2.0]


def test_empty_covariates__are_zero_by_option(tmp_path: Path) -> None:
    path, games = tmp_path / "games.parquet", {"white": ["a", "b"], "black": ["b", "c"], "result": [1.0, 0.5]}
    pq.write_table(pa.table({**games, "date": ["2026-01-01"] * 2, "n": pa.array([None, 7], pa.int64())}), path)
    with pytest.raises(SourceError, match=r"games\.parquet, row 1: the covariate n has no value; --covariate-null 0"):
        read(path, "n")
    (period,) = read(path, "n", covariate_null=0.0)
    assert period.games.covariates is not None
    assert period.games.covariates.values.ravel().tolist() == [0.0, 7.0]
    (period,) = read(path, "n", on_error="skip")
    assert len(period) == 1


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "long", "1,5", "true"])
@pytest.mark.parametrize("null", [None, 0.0])
def test_covariate__that_is_no_finite_number_is_refused_by_its_row(
    tmp_path: Path, value: str, null: float | None
) -> None:
    path = tmp_path / "games.csv"
    problem = rf"games\.csv, row 2 \(line 3\): the covariate len must be a finite number, got ' {value} '; correct it"
    path.write_text(TABLE.replace(" 3.5 ", f'" {value} "'))
    with pytest.raises(SourceError, match=problem):
        read(path, "len", covariate_null=null)


def test_covariate__that_is_nan_in_a_column_of_numbers_is_refused(tmp_path: Path) -> None:
    path, games = tmp_path / "games.parquet", {"white": ["a", "b"], "black": ["b", "c"], "result": [1.0, 0.5]}
    pq.write_table(pa.table({**games, "date": ["2026-01-01"] * 2, "n": [1.0, np.nan]}), path)
    with pytest.raises(SourceError, match="row 2: the covariate n must be a finite number, got 'nan'"):
        read(path, "n", covariate_null=0.0)
    pq.write_table(pa.table({**games, "date": ["2026-01-01"] * 2, "n": [True, False]}), path)
    with pytest.raises(SourceError, match="the n column holds true and false; it must hold numbers"):
        read(path, "n")


@pytest.mark.parametrize(
    ("covariates", "rule"),
    [
        (["size"], r"games\.csv: has no column 'size' for --covariate size; it has 'white', .*--covariate size=\.\.\."),
        (["len", "len=side"], "--covariate len is given twice"),
        (["first=side"], "--covariate first is the name of the constant 1"),
        (["a b"], "expected NAME or NAME=COLUMN, with a NAME of at most 40 letters"),
        (["x="], "expected NAME or NAME=COLUMN"),
        (["=len"], "expected NAME or NAME=COLUMN"),
    ],
)
def test_covariates__are_refused(tmp_path: Path, covariates: list[str], rule: str) -> None:
    path = tmp_path / "games.csv"
    path.write_text(TABLE)
    with pytest.raises((SourceError, ValueError), match=rule):
        read(path, *covariates)


def test_options__are_checked(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="--covariate-null must be 0, the number that favours neither player, got 5"):
        GamesOptions(covariates={"n": "n"}, covariate_null=5.0)
    with pytest.raises(ValueError, match="--covariate-null needs --covariate"):
        GamesOptions(covariate_null=0.0)
    path = tmp_path / "games.pgn"
    path.write_text('[White "a"]\n[Black "b"]\n[Result "1-0"]\n[Date "2026.01.01"]\n\n1-0\n')
    with pytest.raises(SourceError, match="--covariate names columns of tables, and a PGN file has none"):
        read(path, "length")
