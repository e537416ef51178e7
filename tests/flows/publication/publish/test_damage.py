"""Damaged tables and missing runs: reported with the remedy."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers.lakes import files, rate_run
from helpers.publishing import CONTESTS, go_on
from helpers.tables import assert_published, delta, folder

from ranklake.flows.publication.publish import publish
from ranklake.storage import DamagedError, Lake, LakeError


def damage(lake: Lake, name: str, how: str) -> None:
    log = folder(lake, name) / "_delta_log" / f"{0:020}.json"
    data = Path(delta(lake, name).file_uris()[0])
    if how == "torn log":
        log.write_bytes(log.read_bytes()[:100])
    elif how == "empty log":
        log.write_bytes(b"")
    elif how == "no data":
        data.unlink()
    elif how == "torn data":
        data.write_bytes(data.read_bytes()[:50])
    else:
        data.write_bytes(b"x" * data.stat().st_size)


@pytest.mark.quick("players-*", "leaderboard-*")
@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("players", "torn log"),
        ("contests", "empty log"),
        ("ratings", "no data"),
        ("ratings", "torn log"),
        ("leaderboard", "torn data"),
    ],
)
def test_publish__a_damaged_table_is_reported_with_the_remedy(published: Lake, name: str, how: str) -> None:
    damage(published, name, how)
    before = files(folder(published))
    with pytest.raises(LakeError) as caught:
        publish(published, "run")
    message = str(caught.value)
    assert message.startswith(f"published/run/{name}: damaged table, ")
    assert message.endswith("; `ranklake publish --run run --afresh` makes it again")
    assert "\n" not in message
    assert files(folder(published)) == before
    publish(published, "run", rebuild=True)
    assert_published(published)


def test_publish__a_leaderboard_with_other_bytes_is_reported(published: Lake) -> None:
    damage(published, "leaderboard", "other data")
    with pytest.raises(DamagedError, match=r"published/run/leaderboard: damaged table, .*--afresh`"):
        go_on(published, CONTESTS[:31])


@pytest.mark.quick("torn", "unknown")
@pytest.mark.parametrize("how", ["removed", "torn", "of another version", "unknown"])
def test_publish__an_outdated_plain_leaderboard_is_written_again(published: Lake, how: str) -> None:
    latest, root = folder(published, "latest.parquet"), folder(published, "index.json")
    before = latest.read_bytes()
    if how == "removed":
        latest.unlink()
    elif how == "torn":
        latest.write_bytes(latest.read_bytes()[:-7])
    elif how == "of another version":
        facts = json.loads(root.read_bytes())
        root.write_text(json.dumps(facts | {"tables": facts["tables"] | {"leaderboard": 0}}))
    else:
        root.write_bytes(b"{")
    assert publish(published, "run").tables == ("latest.parquet",)
    assert latest.read_bytes() == before
    assert_published(published)
    assert publish(published, "run").tables == ()


def test_publish__a_run_without_rounds_is_refused(lake: Lake) -> None:
    rate_run(lake, run="empty", max_rounds=0)
    with pytest.raises(LakeError, match=r"run empty has no rated rounds yet; `ranklake rate --run empty` makes them"):
        publish(lake, "empty")
    with pytest.raises(LakeError, match="no run 'nobody'"):
        publish(lake, "nobody")
    assert not Path(lake.uri("runs/nobody")).exists()
