"""TopCoder from the files of its closed feed."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from helpers.contents import counts, standings
from helpers.data import sample
from helpers.responses import follow, parse
from helpers.server import Reply, Server

from ranklake.flows.ingestion.fetch import FolderClient
from ranklake.flows.ingestion.report import SourceReport
from ranklake.flows.ingestion.sites import ingest_source, normalise_source
from ranklake.flows.sources.base import SourceError
from ranklake.storage import Dataset, Lake

HEAD = '<?xml version="1.0" encoding="ISO-8859-1"?>'
ABOUT = {"name": "SRM 1", "time_seconds": 989_355_600}


def results(*rows: tuple[int, str, int, float, int]) -> bytes:
    """A round: coder id, handle, division, points, rated."""
    tags = ("coder_id", "handle", "division", "final_points", "rated_flag")
    elements = ["".join(f"<{tag}>{value}</{tag}>" for tag, value in zip(tags, row, strict=True)) for row in rows]
    return (HEAD + "<r>" + "".join(f"<row><paid/>{row}</row>" for row in elements) + "</r>").encode("latin-1")


def rounds(*numbers: int) -> bytes:
    """The list: one round a day."""
    rows = "".join(
        f"<row><round_id>{n}</round_id><full_name>SRM {n}</full_name><date>2001-05-{n:02d} 21:00</date></row>"
        for n in numbers
    )
    return (HEAD + "<l>" + rows + "</l>").encode("latin-1")


@pytest.fixture
def feed(tmp_path: Path) -> Path:
    folder = tmp_path / "feed"
    folder.mkdir()
    return folder


def ingest(lake: Lake, feed: Path, **choices: Any) -> SourceReport:
    return ingest_source(lake, "topcoder", base_url=str(feed), **choices)


def contests_of(body: bytes) -> list[Any]:
    return parse("topcoder", "round", "1", body, ABOUT)


def test_ingest__recorded_rounds_in_the_order_of_time(lake: Lake, feed: Path) -> None:
    samples = sample("topcoder")
    for name in ("dd_round_results_rd=2009.xml", "dd_round_results_rd=57.xml"):
        shutil.copyfile(samples / name, feed / name)
    listed = (samples / "dd_round_list_excerpt.xml").read_text("latin-1")
    more = "<row><round_id>57</round_id><full_name>Invitational</full_name><date>2001-11-03 18:00</date></row>"
    (feed / "dd_round_list.xml").write_text(listed.replace("</dd_round_list>", more + "</dd_round_list>"), "latin-1")
    assert "<round_id>2009</round_id>" in listed
    report = ingest(lake, feed)
    assert (report.new, report.rejected) == (2, [])
    found = standings(lake, "topcoder")
    assert list(found) == ["2009-1", "57-1"]
    # By division_placed of the recording itself.
    assert found["2009-1"][0] == ("qubits", 0, 0)
    assert found["57-1"][-1] == ("PabloGilberto", 3, 3)
    assert [(lo, hi) for _, lo, hi in found["57-1"]] == [(i, i) for i in range(4)]


def test_parse__divisions_are_contests_and_points_are_places() -> None:
    body = results((1, "a", 1, 300.5, 1), (2, "b", 1, 500, 1), (3, "c", 2, 9000, 1), (4, "d", 1, 300.5, 1))
    one, two = contests_of(body)
    assert (one.contest_id, one.name, one.time_seconds) == ("1-1", "SRM 1, Division 1", 989_355_600)
    assert (one.handles.to_pylist(), one.lo.tolist(), one.hi.tolist()) == (["2", "1", "4"], [0, 1, 1], [0, 2, 2])
    assert two.handles.to_pylist() == ["3"]


def test_parse__the_unrated_and_repeated_rows_are_left_out() -> None:
    body = results((1, "a", 1, 5, 1), (2, "b", 1, 9, 0), (1, "a", 1, 500, 1), (3, "c", 1, 7, 1))
    (contest,) = contests_of(body)
    assert contest.handles.to_pylist() == ["3", "1"]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"<html><body>Gone<br>", "not XML: .*'<html>"),
        (b'<!DOCTYPE r [<!ENTITY a "aaaa">]><r><row/></r>', "a declaration '<!DOCTYPE"),
        (results((1, "a", 1, 5, 1)).replace(b"<coder_id>1<", b"<coder_id>one<"),
         r"Expected int, got str at \[0\].coder_id, got 'one'"),
        (results((1, "a", 1, 5, 1)).replace(b"final_points", b"points"), "missing required field final_points"),
        (HEAD.encode() + b"<r><row>", "not XML"),
    ],
)  # fmt: skip
def test_parse__document_of_another_format_is_an_error(body: bytes, message: str) -> None:
    with pytest.raises(SourceError, match=rf"topcoder, URL: .*{message}"):
        contests_of(body)


def test_ingest__a_coder_with_a_new_handle_stays_one_player(lake: Lake, feed: Path) -> None:
    (feed / "dd_round_list.xml").write_bytes(rounds(1, 2, 3))
    (feed / "dd_round_results_rd=1.xml").write_bytes(results((7, "\xe9t\xe9", 1, 2, 1), (8, "b", 1, 1, 1)))
    assert counts(ingest(lake, feed)) == {"new": 1, "requests": 4}
    before = Dataset.open(lake, "topcoder").contests.column("content_digest").to_pylist()
    # The feed gets a new round, in which one coder has another name.
    (feed / "dd_round_results_rd=3.xml").write_bytes(results((8, "b", 1, 2, 1), (7, "summer", 1, 1, 1)))
    report = ingest(lake, feed, again=True)
    assert (report.new, report.unchanged, report.corrected) == (1, 1, 0)
    found = standings(lake, "topcoder")
    assert [name for name, *_ in found["1-1"]] == ["summer", "b"]
    assert [name for name, *_ in found["3-1"]] == ["b", "summer"]
    assert before[0] is not None
    assert counts(normalise_source(lake, "topcoder")) == {"unchanged": 2}


@pytest.mark.parametrize("tag", ["", '"1"'])
def test_ingest__a_round_that_appears_with_the_body_of_its_404_is_ingested(
    lake: Lake, server: Server, tag: str
) -> None:
    server["/dd_round_list.xml"] = rounds(1)
    body, headers = results((7, "a", 1, 2, 1), (8, "b", 1, 1, 1)), {"ETag": tag} if tag else {}
    server.script("/dd_round_results_rd=1.xml", Reply(body, 404, headers), Reply(body, 200, headers), Reply(b"", 404))
    found = []
    for _ in range(3):
        found.append(counts(follow(lake, server, "topcoder", again=True)))
    assert found == [{"requests": 2}, {"new": 1, "requests": 2}, {"removed": 1, "requests": 2}]


def test_ingest__files_that_did_not_change_are_not_read_again(lake: Lake, feed: Path) -> None:
    (feed / "dd_round_list.xml").write_bytes(rounds(1))
    (feed / "dd_round_results_rd=1.xml").write_bytes(results((7, "a", 1, 2, 1)))
    with FolderClient("topcoder", str(feed)) as folder:
        first = folder.get("dd_round_list.xml")
        assert folder.get("dd_round_list.xml", etag=first.etag).status == 304
    ingest(lake, feed)
    assert counts(ingest(lake, feed)) == {"unchanged": 1, "requests": 1}


def test_ingest__errors_say_that_the_feed_is_closed_and_name_a_missing_file(lake: Lake, feed: Path) -> None:
    with pytest.raises(ValueError, match="is closed; --base-url must be the folder"):
        ingest_source(lake, "topcoder")
    with pytest.raises(SourceError, match=r"dd_round_list.xml: no such file"):
        ingest(lake, feed)
    (feed / "dd_round_list.xml").write_bytes(rounds(1).replace(b"2001-05-01", b"May 1"))
    with pytest.raises(SourceError, match="date must be as 2001-04-21 14:00, got 'May 1 21:00' for round 1"):
        ingest(lake, feed)
