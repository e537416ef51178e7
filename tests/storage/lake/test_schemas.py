import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.builders import rounds

from ranklake.storage import DamagedError, FormatError
from ranklake.storage.lake import schemas
from ranklake.storage.lake.schemas import TABLES, check_format, conform

FIXED = {
    "contests": "contest_id name url time_seconds weight perf_ceiling n_players content_digest",
    "standings": "contest_id player handle lo hi",
    "games": "contest_id player opponent score time_seconds",
    "players": "player handle",
    "attributes": "handle attribute value",
    "results": "contest_id player problem share after attempts",
    "result_contests": "contest_id content_digest file row_start n_rows",
    "problems": "problem name url position tags max_score same_as",
    "log": "kind contest_id handle new_handle since_seconds who time_seconds why",
    "events": "event_id time_seconds kind name centre keep widen history restart_counts who log_entry removed",
    "rounds": "round_index contest_id player lo hi perf mu_prior sigma_prior mu sigma n_before",
    "smoothed": "round_index contest_id player lo hi perf smooth_mu smooth_sigma cavity_mu cavity_sigma",
    "checkpoint": "mean",
    "entry": "contest_id handle rating",
    "reset_players": "handle",
}

ROWS = {  # two rows a table, in the order of its columns
    "contests": [
        ("a", "Erste Runde", "https://example.org/a", 1_700_000_000, 1.0, None, 2, "00", "x.parquet", 0, 3, "01",
         None, None, None, 2100.5, True, None, None, None),
        ("b", "", None, -(2**62), 0.5, 2400.0, 0, "ff", "y.parquet", 2**40, 0, "ff", 1, True, 1900.0,
         None, None, 2.5, True, "length side"),
    ],
    "standings": [
        ("a", 0, "Ünal", 0, 0, None, None, None, 1e9),
        ("a", 2**31 - 1, " ", 1, 1, "Ünal", 0.5, False, None),
    ],
    "games": [
        ("2024-01-31", 0, 1, 0.5, 1_700_000_000, None, 35.0, 2.0, None, None, None),
        ("2024-01-31", 2**31 - 1, 0, 0.0, -(2**62), 2.0, None, -1e9, 0.5, 0.5, '{"liga":"Süd"}'),
    ],
    "players": [(0, ""), (1, "\u0000")],
    "attributes": [("Ünal", "country", "TR"), (" ", "", "\u0000")],
    "results": [("a", 0, "Ü", 0.25, None, None), ("a", 2**31 - 1, "", 1.0, 0.5, 2**31 - 1)],
    "result_contests": [("a", "00", "x.parquet", 0, 3), ("b", "ff", "y.parquet", 2**40, 0)],
    "problems": [("Ü", None, None, None, None, None, None), ("b", "B", "b.org", -1, ["dp", ""], 0.5, "Ü")],
    "log": [
        ("disqualify", "a", "Ünal", None, None, "root@host", 1_700_000_000, "", None),
        ("alias", None, "", "ann", -(2**62), "x@y", 0, "two accounts", "Ü"),
    ],
    "events": [
        (0, 1_700_000_000, "reset", "Ü", "1500.0", 0.75, 60.0, "keep", True, "country=PL", 3, False),
        (2**31 - 1, -(2**62), "season", " ", "mean", 1.0, 0.0, "forget", False, "all", 0, True),
    ],
    "smoothed": [
        (0, "a", 3, 0, 0, 1900.5, 1700.25, 80.0, 1600.0, 90.0, -0.25),
        (0, "a", 2**31 - 1, 1, 1, -3.0, 1400.0, 1e-9, 1500.0, 350.0, None),
    ],
    "checkpoint": [(-1.5,), (5e-324,)],
    "entry": [("a", "Ünal", 1900.5), ("a", "", -3.0)],
    "reset_players": [("Ünal",), ("",)],
}  # fmt: skip
EXAMPLES = {
    **{
        name: {column: list(values) for column, values in zip(TABLES[name].names, zip(*rows, strict=True), strict=True)}
        for name, rows in ROWS.items()
    },
    "rounds": rounds(7, [3, 0, 4])[0].to_pydict() | {"rated": [True, False, None, None, True, True, True]},
}


@pytest.mark.parametrize("name", TABLES)
def test_schema__fixed_columns_come_first_and_have_a_meaning_and_a_unit(name):
    schema = TABLES[name]
    assert schema.names[: len(FIXED[name].split())] == FIXED[name].split()
    assert all(field.metadata[b"meaning"] for field in schema)
    assert schema.field(0).metadata.keys() <= {b"meaning", b"unit"}
    for field in schema:
        unit = field.metadata.get(b"unit")
        if {"mu", "sigma", "perf"} & set(field.name.split("_")):
            assert unit == b"rating points"
        if field.name.endswith("_seconds"):
            assert unit == b"UTC seconds since the epoch"
        if field.name in ("lo", "hi"):
            assert unit == b"place"


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("n_rows", [0, 2])
def test_table__round_trip_keeps_every_value_and_type(lake, name, n_rows):
    columns = {column: values[:n_rows] for column, values in EXAMPLES[name].items()}
    table = pa.table(columns, schema=TABLES[name])
    size, digest = lake.write_table("folder/file.parquet", table, name, metadata={"more": "é"})
    back = lake.read_table("folder/file.parquet", name)
    assert back.to_pydict() == columns
    assert back.schema.equals(TABLES[name])
    for field in back.schema:
        assert field.metadata.items() >= TABLES[name].field(field.name).metadata.items()
    assert len(lake.read_bytes("folder/file.parquet")) == size
    assert len(digest) == 32


def test_table__of_games_has_covariates_after_its_other_columns(lake):
    row = dict(zip(TABLES["games"].names, ROWS["games"][0], strict=True)) | {"x_b": -0.5, "x_a": 2.0}
    table = pa.Table.from_pylist(
        [row], schema=pa.schema([*TABLES["games"], ("x_b", pa.float64()), ("x_a", pa.float64())])
    )
    lake.write_table("g.parquet", table, "games")
    assert lake.read_table("g.parquet", "games").to_pylist() == [row]
    assert lake.read_table("g.parquet", "games", ["player", "x_*"]).to_pylist() == [
        {"player": 0, "x_b": -0.5, "x_a": 2.0}
    ]
    with pytest.raises(ValueError, match=r"games\.x_a must have no nulls, got 1"):
        conform(pa.Table.from_pylist([row | {"x_a": None}], schema=table.schema), "games")


def test_table__doubles_keep_their_bits(lake):
    table, _, _ = rounds(0, [6])
    odd = np.array([math.nan, math.inf, -math.inf, -0.0, 5e-324, 1.0]).view(np.int64)
    odd[0] |= 0xBEEF
    table = table.set_column(table.column_names.index("mu"), "mu", pa.array(odd.view(np.float64)))
    lake.write_table("r.parquet", table, "rounds")
    back = lake.read_table("r.parquet", "rounds").column("mu").to_numpy()
    assert back.tobytes() == odd.tobytes()


def test_table__has_the_requested_columns_and_its_format_for_any_reader(lake, tmp_path):
    lake.write_table("r.parquet", rounds(0, [3])[0], "rounds")
    assert lake.read_table("r.parquet", "rounds", ["mu", "player"]).column_names == ["mu", "player"]
    metadata = pq.read_schema(tmp_path / "lake" / "r.parquet").metadata
    assert (metadata[b"ranklake.format"], metadata[b"ranklake.table"]) == (b"1", b"rounds")


def test_conform__error_names_the_wrong_column():
    table = rounds(0, [6])[0]
    with pytest.raises(ValueError, match="needs a column mu "):
        conform(table.drop_columns(["mu"]), "rounds")
    wide = table.set_column(2, "player", table.column("player").cast(pa.int64()))
    with pytest.raises(ValueError, match=r"rounds\.player must be int32, got int64"):
        conform(wide, "rounds")
    holes = table.set_column(8, "mu", table.column("perf"))
    with pytest.raises(ValueError, match=r"rounds\.mu must have no nulls, got 2"):
        conform(holes, "rounds")


def test_format__error_of_another_version_has_a_remedy(lake, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("ranklake.storage.lake.parquet.FORMAT_VERSION", 3)
        lake.write_table("r.parquet", rounds(0, [3])[0], "rounds")
    with pytest.raises(FormatError, match=r"^r\.parquet is format 3, this code reads 1; update ranklake$") as caught:
        lake.read_table("r.parquet", "rounds")
    assert (caught.value.path, caught.value.found) == ("r.parquet", 3)
    monkeypatch.setattr(schemas, "FORMAT_VERSION", 2)
    with pytest.raises(FormatError, match="older release"):
        check_format(1, "x")


@pytest.mark.parametrize("found", [None, "1", 0, -1, True, 1.0])
def test_format__invalid_version_is_damage(found):
    with pytest.raises(DamagedError, match="x: has format"):
        check_format(found, "x")
