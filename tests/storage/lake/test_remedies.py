"""The remedy for a damaged file depends on the file's place in the lake."""

import pytest

from ranklake.storage import DamagedError
from ranklake.storage.lake.remedies import damaged, remedies_for_sources, remedy_for

REBUILD = (
    "restore it, or `ranklake delete --dataset d --with-runs` and ingest again, without the corrections of "
    "amend, alias, remove and season, which no source can send again"
)


@pytest.mark.parametrize(
    ("path", "remedy"),
    [
        ("runs/x/run.json", "restore it, or `ranklake delete --run x` and rate again with the options of before"),
        ("runs/x/rounds/000412.json", "`ranklake rate --run x --from 412` rates it again"),
        ("runs/x/rounds/000412.parquet", "`ranklake rate --run x --from 412` rates it again"),
        ("runs/x/rounds/1000412-1000500.parquet", "`ranklake rate --run x --from 1000412` rates it again"),
        ("runs/x/snapshots/000499", "`ranklake compact --run x` removes it, and an older one is used"),
        ("runs/x/snapshots/000499/part-0000.arrow", "`ranklake compact --run x` removes it, and an older one is used"),
        ("runs/x/lease-000003.json", "delete it if no process uses that folder"),
        ("d/lease-000003.json", "delete it if no process uses that folder"),
        ("d/contests/contests.parquet", REBUILD),
        ("d/players/000000-ab.parquet", REBUILD),
        ("d/log/ab.parquet", REBUILD),
        ("d/standings/ab.parquet", "restore it, or ingest d again with --rewrite"),
        ("published/x/latest.parquet", "delete it if it exists, and `ranklake publish --run x` makes it again"),
        ("published/x/ratings", "`ranklake publish --run x --afresh` makes it again"),
        (
            "raw/site/round/1.0.zst",
            "delete it and raw/site/index.json, and the next `ranklake ingest` of the site requests it again",
        ),
        ("raw/site/index.json", "delete it, it is made again"),
        ("d/sources/site.json", "delete it, and `ranklake normalise --source site --dataset d` makes it again"),
        ("d/attributes/attributes.parquet", "delete it, and `ranklake attributes FILE --dataset d` writes it again"),
        ("somewhere/else", "restore it or make it again"),
        ("runs", "restore it or make it again"),
        ("runs/x", "restore it or make it again"),
        ("", "restore it or make it again"),
    ],
)
def test_remedy_for__depends_on_the_path(path, remedy):
    assert remedy_for(path) == remedy


def test_damaged__names_the_file_the_damage_and_the_remedy():
    error = damaged("runs/x/rounds/000412.json", "is torn")
    assert isinstance(error, DamagedError)
    assert error.path == "runs/x/rounds/000412.json"
    assert str(error) == "runs/x/rounds/000412.json: is torn; `ranklake rate --run x --from 412` rates it again"


@pytest.mark.parametrize("folder", ["contests", "standings"])
def test_remedies_for_sources__of_a_data_set_of_sites_rebuild_it_from_their_responses(lake, folder):
    path = f"games/{folder}/ab.parquet"
    message = str(damaged(path, "is torn"))
    assert remedies_for_sources(lake, message, path) == message
    lake.write_bytes("games/sources/codeforces.json", b"{}")
    remedy = remedies_for_sources(lake, message, path)
    assert remedy == message.replace(remedy_for(path), remedy_for(path, ["codeforces"]))
    assert "`ranklake normalise --source codeforces --dataset games" in remedy
