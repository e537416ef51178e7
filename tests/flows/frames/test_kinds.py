"""Frames of any kind with columns of any type: used ones are read, and the others do not stop the frame."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from ranklake import Ratings, preview

FRAME = {"contest": ["x", "x", "y", "y"], "player": ["ann", "bob", "bob", "ann"], "rank": [1, 2, 1, 2]}


def mu_of(history: Any) -> np.ndarray[Any, Any]:
    return np.asarray(history["mu"] if hasattr(history, "__getitem__") else pa.table(history).column("mu"), float)


@pytest.fixture(scope="module")
def expected() -> np.ndarray[Any, Any]:
    return mu_of(Ratings.rate(pd.DataFrame(FRAME)).history)


def check(make: Callable[[], Any], expected: np.ndarray[Any, Any], path: Path | None = None) -> Any:
    """Rate a frame, and ask everything that converts its history to another kind."""
    ratings = Ratings.rate(make())
    history = ratings.history
    assert type(history) is type(make())
    np.testing.assert_array_equal(mu_of(history), expected)
    assert len(ratings.player("ann")) == 2
    np.testing.assert_array_equal(mu_of(pickle.loads(pickle.dumps(ratings)).history), expected)
    if path is not None:
        ratings.save(path)
        np.testing.assert_array_equal(mu_of(Ratings.load(path).history), expected)
    return history


def dictionary(codes: list[int], values: Any) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int8()), values)


NAMED: dict[str, Callable[[str, str], pa.Array]] = {
    "null": lambda a, b: dictionary([1, 2, 2, 1], pa.array([None, a, b])),
    "repeated": lambda a, b: dictionary([0, 1, 2, 3], pa.array([a, b, b, a])),
    "view": lambda a, b: pa.array([a, b, b, a], pa.string_view()),
    "dictionary of views": lambda a, b: dictionary([0, 1, 1, 0], pa.array([a, b], pa.string_view())),
    "runs": lambda a, b: pa.RunEndEncodedArray.from_arrays(pa.array([1, 3, 4], pa.int32()), pa.array([a, b, a])),
}


@pytest.mark.parametrize("kind", NAMED)
def test_names__in_any_dictionary_are_read(kind: str, expected: np.ndarray[Any, Any], tmp_path: Path) -> None:
    players = NAMED[kind]("ann", "bob")
    history = check(lambda: pa.table(FRAME | {"player": players}), expected, tmp_path / "saved")
    assert history.column("player").to_pylist() == FRAME["player"]


@pytest.mark.parametrize("kind", ["null", "repeated"])
def test_names__of_contests_in_any_dictionary_are_read(kind: str, expected: np.ndarray[Any, Any]) -> None:
    codes, values = ([1, 1, 2, 2], [None, "x", "y"]) if kind == "null" else ([0, 1, 2, 3], ["x", "x", "y", "y"])
    check(lambda: pa.table(FRAME | {"contest": dictionary(codes, pa.array(values))}), expected)


UNUSED: dict[str, Any] = {
    "runs": NAMED["runs"]("a", "b"),
    "binary view": pa.array([b"a"] * 4, pa.binary_view()),
    "list of views": pa.array([["a"]] * 4, pa.list_(pa.string_view())),
    "list of dictionaries": pa.ListArray.from_arrays(
        pa.array([0, 1, 2, 3, 4], pa.int32()), NAMED["repeated"]("a", "b")
    ),
    "dictionary of lists": dictionary([0, 1, 1, 0], pa.array([[1], [1]])),
    "dictionary": NAMED["null"]("a", "b"),
    "map": pa.array([[("a", 1)]] * 4, pa.map_(pa.string(), pa.int64())),
    "union": pa.UnionArray.from_sparse(pa.array([0] * 4, pa.int8()), [pa.array([1] * 4)]),
    "extension": pa.array([bytes(16)] * 4, pa.uuid()),
    "year 2,941,775": pa.array([2**30] * 4, pa.date32()),
    "text that is not UTF-8": pa.Array.from_buffers(
        pa.string(), 4, [None, pa.array([0, 1, 2, 3, 4], pa.int32()).buffers()[1], pa.py_buffer(b"\xff" * 4)]
    ),
}


@pytest.mark.parametrize("kind", UNUSED)
def test_arrow__columns_without_use_come_back(kind: str, expected: np.ndarray[Any, Any]) -> None:
    history = check(lambda: pa.table(FRAME | {"more": UNUSED[kind]}), expected)
    if kind not in ("text that is not UTF-8", "year 2,941,775"):  # which Python does not have
        assert history.column("more").to_pylist() == UNUSED[kind].to_pylist()


@pytest.mark.parametrize("lazy", [False, True])
def test_polars__integers_of_128_bits_are_read(lazy: bool, expected: np.ndarray[Any, Any], tmp_path: Path) -> None:
    polars = pytest.importorskip("polars")

    def make() -> Any:
        wide = polars.DataFrame(FRAME).with_columns(polars.col("rank").cast(polars.Int128), k=polars.lit(2**70))
        deep = wide.with_columns(
            deep=polars.struct(a=polars.concat_list(polars.lit(7, polars.Int128))),
            long=polars.lit(2**127 - 1, polars.Int128), other=polars.Series([object()] * 4, dtype=polars.Object),
        )  # fmt: skip
        return deep.lazy() if lazy else deep

    ratings = Ratings.rate(make())
    history = ratings.history.collect() if lazy else ratings.history
    np.testing.assert_array_equal(mu_of(history), expected)
    assert history["k"].to_list() == [2**70] * 4
    assert history["long"].to_list() == [str(2**127 - 1)] * 4  # more than 38 digits
    assert history["deep"].to_list() == [{"a": [7]}] * 4
    players = polars.DataFrame(FRAME | {"player": [1, 2, 2, 1]}).with_columns(polars.col("player").cast(polars.Int128))
    np.testing.assert_array_equal(mu_of(Ratings.rate(players).history), expected)


@pytest.mark.parametrize("value", ["1::hugeint", "union_value(a := 1)", "map {'a': 1}", "'01:00:00+01'::timetz"])
def test_duckdb__columns_without_use_come_back(value: str, expected: np.ndarray[Any, Any]) -> None:
    duckdb = pytest.importorskip("duckdb")
    results = pa.table(FRAME)
    history = Ratings.rate(duckdb.sql(f"select *, {value} as more from results")).history
    np.testing.assert_array_equal(mu_of(history.to_arrow_table()), expected)
    assert "more" in history.columns
    assert results.num_rows == 4  # the query reads the name


MIXED: dict[str, Any] = {
    "kinds": [1, "a", b"x", None],
    "objects": [object()] * 4,
    "lists": [[1], 2, {}, None],
    "periods": pd.period_range("2020", periods=4),
    "complex": [1j] * 4,
    "sparse": pd.arrays.SparseArray([1, 0, 0, 1]),
    "categories": pd.Categorical([1, "a", None, 1]),
}


@pytest.mark.parametrize("kind", MIXED)
def test_pandas__columns_without_use_come_back(kind: str, expected: np.ndarray[Any, Any]) -> None:
    history = check(lambda: pd.DataFrame(FRAME | {"more": MIXED[kind]}), expected)
    assert history["more"].dtype == pd.DataFrame({"more": MIXED[kind]})["more"].dtype


def test_pandas__a_sparse_column_is_read(expected: np.ndarray[Any, Any]) -> None:
    check(lambda: pd.DataFrame(FRAME | {"rank": pd.arrays.SparseArray(FRAME["rank"])}), expected)


def test_dask__columns_without_use_do_not_stop_the_frame(expected: np.ndarray[Any, Any]) -> None:
    dask = pytest.importorskip("dask.dataframe")
    rows = pd.DataFrame(FRAME | {"more": [object(), 1, "a", None]})
    history = Ratings.rate(dask.from_pandas(rows, npartitions=2)).history
    np.testing.assert_array_equal(mu_of(history.compute()), expected)


@pytest.mark.parametrize(
    ("column", "values", "got"),
    [("player", ["ann", 2, "bob", None], "'ann' in row 0 and 2 in row 1"), ("rank", [1j] * 4, "1j in row 0")],
)
def test_pandas__a_used_column_that_is_none_of_arrow_is_named(column: str, values: Any, got: str) -> None:
    frame = pd.DataFrame(FRAME | {column: values})
    message = f"column '{column}': the values of a column must be all texts, .* got {got}"
    with pytest.raises(ValueError, match=message):
        Ratings.rate(frame)
    with pytest.raises(ValueError, match=message):
        preview({"ann": 1500.0}, frame[:2])


def test_save__names_a_column_that_parquet_cannot_hold(tmp_path: Path) -> None:
    frame = pa.table(FRAME | {"more": pa.array([(1, 2, 3)] * 4, pa.month_day_nano_interval())})
    with pytest.raises(ValueError, match=r"Parquet cannot hold a column: .*interval; drop it from the results"):
        Ratings.rate(frame).save(tmp_path / "saved")
    assert not (tmp_path / "saved").exists()
