"""Codeforces, from the site to rated players."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import responses
from helpers.answers import leaderboard
from helpers.contents import counts, standings
from helpers.data import sample, shared
from helpers.fake_codeforces import BEGAN, DAY, FakeCodeforces, changes
from helpers.lakes import rate_run
from helpers.server import Reply, Server

from ranklake.flows.ingestion.adding import How
from ranklake.flows.ingestion.report import SourceReport
from ranklake.flows.ingestion.sites import ingest_source, normalise_source
from ranklake.flows.sources.base import SourceError
from ranklake.flows.sources.files.contests import read_contests
from ranklake.flows.sources.sites.codeforces import Codeforces
from ranklake.flows.sources.sites.site import LATEST
from ranklake.storage import Dataset, Lake

LIST = "/api/contest.list"


@pytest.fixture
def site(server: Server) -> FakeCodeforces:
    """A site with three rated rounds, an unrated one, and one that has not ended."""
    fake = FakeCodeforces(server)
    fake.add(1, changes(1, ("tourist", 1), ("Petr", 2), ("ada", 2), ("bob", 4)))
    fake.add(2, None)
    fake.add(3, changes(3, ("Petr", 1), ("tourist", 2)))
    fake.add(4, changes(4, ("ada", 1), ("bob", 2), ("tourist", 3)))
    fake.add(5, None, phase="CODING")
    return fake


def follow(lake: Lake, site: FakeCodeforces, **choices: Any) -> SourceReport:
    """One ingestion; the server's list of requests begins anew."""
    site.server.requests.clear()
    return ingest_source(lake, "codeforces", client=site.client(), **choices)


def parse(number: int, result: Any) -> list[Any]:
    """The contests in a response."""
    return responses.parse("codeforces", "rating-changes", str(number), {"status": "OK", "result": result})


# A first ingestion, and later ones


def test_ingest__first_time_requests_each_contest_once_at_the_rate_limit_of_the_site(
    lake: Lake, site: FakeCodeforces
) -> None:
    report = follow(lake, site)
    assert site.server.paths == [LIST, *map(site.path, (1, 2, 3, 4))]
    assert site.server.clock.slept == [2.0] * 4
    assert counts(report) == {"new": 3, "requests": 5}
    assert report.changed
    assert standings(lake, "codeforces")["1"] == [("tourist", 0, 0), ("Petr", 1, 2), ("ada", 1, 2), ("bob", 3, 3)]
    row = Dataset.open(lake, "codeforces").contests.slice(0, 1).to_pylist()[0]
    assert (row["contest_id"], row["name"], row["url"], row["time_seconds"]) == (
        "1",
        "Round 1",
        "https://codeforces.com/contest/1/standings",
        BEGAN + DAY + 9000,
    )


def test_ingest__nothing_new_costs_one_request_for_the_list(lake: Lake, site: FakeCodeforces) -> None:
    follow(lake, site)
    report = follow(lake, site)
    assert (counts(report), report.changed) == ({"unchanged": 3, "requests": 1}, False)
    assert report.line().startswith("3 unchanged contests; 1 request, in ")


def test_ingest__requests_only_a_new_contest(lake: Lake, site: FakeCodeforces) -> None:
    follow(lake, site)
    site.add(6, changes(6, ("bob", 1), ("Petr", 2)))
    report = follow(lake, site)
    assert site.server.paths == [LIST, site.path(6)]
    assert counts(report) == {"new": 1, "unchanged": 3, "requests": 2}
    assert list(standings(lake, "codeforces")) == ["1", "3", "4", "6"]


@pytest.mark.parametrize("fatal", [KeyboardInterrupt, SystemExit])
def test_ingest__interrupted_continues_where_it_stopped(
    lake: Lake, site: FakeCodeforces, fatal: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stops(done: int, total: int | None, message: str) -> None:
        if done == 2:
            raise fatal

    with pytest.raises(fatal):
        follow(lake, site, how=How(on_progress=stops))
    report = follow(lake, site)
    assert site.server.paths == [LIST, *map(site.path, (3, 4))]
    assert counts(report) == {"new": 3, "requests": 3}


def test_ingest__killed_before_its_index_is_written_requests_nothing_twice(
    lake: Lake, site: FakeCodeforces, tmp_path: Path
) -> None:
    follow(lake, site)
    index = tmp_path / "lake" / "raw" / "codeforces" / "index.json"
    entries = json.loads(index.read_text())
    index.write_text(json.dumps([entry for entry in entries if entry["kind"] == "list"]))
    assert counts(follow(lake, site)) == {"unchanged": 3, "requests": 1}
    index.unlink()
    assert counts(follow(lake, site)) == {"unchanged": 3, "requests": 1}


def test_ingest__responses_before_a_fault_of_the_site_are_not_requested_again(lake: Lake, site: FakeCodeforces) -> None:
    path = site.path(3)
    good = site.server.replies[path]
    site.server[path] = Reply(b"", 503)
    with pytest.raises(SourceError, match=r"contestId=3: HTTP 503 after 6 attempts; run again later"):
        follow(lake, site)
    site.server.replies[path] = good
    assert counts(follow(lake, site)) == {"new": 3, "requests": 3}


def test_ingest__since_leaves_out_earlier_contests(lake: Lake, site: FakeCodeforces) -> None:
    report = follow(lake, site, since=str(BEGAN + 3 * DAY))
    assert site.server.paths == [LIST, site.path(3), site.path(4)]
    assert report.new == 2
    assert follow(lake, site, since="2030-01-01").unchanged == 2
    assert list(standings(lake, "codeforces")) == ["3", "4"]
    follow(lake, site)
    assert list(standings(lake, "codeforces")) == ["1", "3", "4"]


# Corrections by the site


@pytest.mark.slow
def test_ingest__a_recent_contest_is_requested_again_whenever_its_age_has_doubled(
    lake: Lake, site: FakeCodeforces
) -> None:
    clock = site.server.clock
    begins = int(clock.now()) - 7200 - 3600  # it ended an hour ago
    site.add(9, changes(9, ("ada", 1), ("bob", 2), time=begins + 9000), begins=begins)
    follow(lake, site)
    asked = []
    for hour in range(1, 70):
        clock.passes(3600 - 4)  # two requests take four seconds
        follow(lake, site)
        assert len(site.server.requests) <= 2
        asked += [hour] * (site.path(9) in site.server.paths)
    assert asked == [2, 6, 14, 30, 62]
    clock.passes(40 * DAY)
    assert follow(lake, site).requests == 2
    clock.passes(400 * DAY)
    assert follow(lake, site).requests == 1  # the contest is settled


def test_ingest__an_unrated_contest_that_becomes_rated_is_added(lake: Lake, site: FakeCodeforces) -> None:
    clock = site.server.clock
    begins = int(clock.now()) - 7200 - 60
    for number in (7, 8):
        site.add(number, None, begins=begins)
    assert follow(lake, site).new == 3
    for number in (7, 8):
        site.add(number, changes(number, ("ada", 1), ("bob", 2), time=begins + 9000), begins=begins)
    clock.passes(3600)
    report = follow(lake, site)
    assert counts(report) == {"new": 2, "unchanged": 3, "requests": 3}
    assert list(standings(lake, "codeforces"))[-2:] == ["7", "8"]


def test_ingest__a_corrected_contest_replaces_the_old_one_and_both_responses_are_kept(
    lake: Lake, site: FakeCodeforces
) -> None:
    follow(lake, site)
    site.add(3, changes(3, ("tourist", 1), ("Petr", 2)))
    report = follow(lake, site, again=True)
    assert counts(report) == {"corrected": 1, "unchanged": 2, "requests": 5}
    assert standings(lake, "codeforces")["3"] == [("tourist", 0, 0), ("Petr", 1, 1)]
    assert [name for name in lake.list("raw/codeforces/rating-changes") if name.startswith("3.")] == [
        "3.0.zst",
        "3.1.zst",
    ]
    assert counts(follow(lake, site, again=True)) == {"unchanged": 3, "requests": 5}


def test_ingest__a_contest_that_becomes_unrated_is_removed_and_logged(lake: Lake, site: FakeCodeforces) -> None:
    follow(lake, site)
    site.add(3, None)
    report = follow(lake, site, again=True)
    assert (counts(report), report.changed) == ({"removed": 1, "unchanged": 2, "requests": 5}, True)
    assert list(standings(lake, "codeforces")) == ["1", "4"]
    (entry,) = Dataset.open(lake, "codeforces").log().entries
    assert (entry.kind, entry.contest_id, entry.why) == ("remove", "3", "codeforces has it no longer")
    assert counts(follow(lake, site)) == {"unchanged": 2, "requests": 1}


def test_ingest__a_contest_that_was_removed_manually_is_added_again_from_the_site(
    lake: Lake, site: FakeCodeforces
) -> None:
    follow(lake, site)
    with Dataset.ingest(lake, "codeforces") as changing:
        changing.remove("3", "a test")
    assert counts(follow(lake, site)) == {"new": 1, "unchanged": 2, "requests": 1}
    assert list(standings(lake, "codeforces")) == ["1", "3", "4"]


def test_ingest__manual_corrections_stay_in_force_after_corrections_by_the_site(
    lake: Lake, site: FakeCodeforces
) -> None:
    follow(lake, site)
    with Dataset.ingest(lake, "codeforces") as changing:
        changing.disqualify("1", "tourist", "cheated")
        changing.alias("Petr", "PetrM")
    site.add(1, changes(1, ("bob", 1), ("tourist", 2), ("Petr", 3)))
    assert follow(lake, site, again=True).corrected == 1
    assert standings(lake, "codeforces")["1"] == [("bob", 0, 0), ("PetrM", 1, 1)]


def test_ingest__from_first_response_to_leaderboard_and_a_later_correction(lake: Lake, site: FakeCodeforces) -> None:
    follow(lake, site)
    assert rate_run(lake, dataset="codeforces", system="elo-mmr").rated == 3
    before = {row["handle"]: row["rating"] for row in leaderboard(lake, "run").to_pylist()}
    site.add(4, changes(4, ("tourist", 1), ("bob", 2), ("ada", 3)))
    assert follow(lake, site, again=True).changed
    assert rate_run(lake, dataset="codeforces", system="elo-mmr").rated > 0
    after = {row["handle"]: row["rating"] for row in leaderboard(lake, "run").to_pylist()}
    assert after["tourist"] > before["tourist"]
    assert after["ada"] < before["ada"]
    assert after["Petr"] == before["Petr"]


# Invalid responses


HTML = b"<!DOCTYPE html><html><title>Just a moment...</title>\x1b[2J"


@pytest.mark.quick("*a web page*", "response6-*", "response8-*")
@pytest.mark.parametrize(
    ("response", "message"),
    [
        (HTML, r"a web page where data should be: '<!DOCTYPE html>"),
        (b'{"status": "OK", "result": [', r"not JSON: .*truncated"),
        (b"\xff\xfe", "not JSON|not UTF-8"),
        (b"[" * 100_000, "nested too deeply|not JSON|Expected"),
        ({"status": "OK", "result": [{"contestId": 3, "contestName": "x", "handle": "a", "rank": "first",
         "ratingUpdateTimeSeconds": 1}]}, r"Expected int, got str at result\[0\].rank, got 'first'"),
        ({"status": "OK", "result": [{"contestId": 3, "contestName": "x", "rank": 1, "ratingUpdateTimeSeconds": 1}]},
         r"missing required field handle at result\[0\], got \{'contestId'"),
        ({"status": "OK", "results": []}, r"missing required field result at the top, got \{"),
        ({"status": "DOWN"}, r"Invalid value 'DOWN' at status, got 'DOWN'"),
        ({"status": "FAILED", "comment": "Call limit exceeded"}, r"FAILED: 'Call limit exceeded'"),
        (Reply(b'{"status": "FAILED", "comment": "Call limit exceeded"}', 400), r"FAILED: 'Call limit exceeded'"),
    ],
)  # fmt: skip
def test_ingest__an_invalid_response_is_reported_stored_and_requested_again(
    lake: Lake, site: FakeCodeforces, response: Any, message: str
) -> None:
    good = site.server.replies[site.path(3)]
    site.server[site.path(3)] = response
    report = follow(lake, site)
    assert (report.new, len(report.rejected)) == (2, 1)
    contest, reason = report.rejected[0]
    assert contest == "3"
    assert re.search(message, reason), reason
    assert f"{site.server.url}api/contest.ratingChanges?contestId=3" in reason
    assert reason.isprintable()
    assert report.lines()[0] == f"rejected: {reason}"
    kept = reason.rpartition("the response is stored at ")[2]
    assert lake.exists(kept)

    assert counts(follow(lake, site)) == {"unchanged": 2, "requests": 1}  # not requested again at once
    site.server.replies[site.path(3)] = good
    site.server.clock.passes(3600)
    assert counts(follow(lake, site)) == {"new": 1, "unchanged": 2, "requests": 2}


def test_ingest__a_valid_response_is_not_replaced_by_an_invalid_one(lake: Lake, site: FakeCodeforces) -> None:
    follow(lake, site)
    site.server[site.path(3)] = HTML
    report = follow(lake, site, again=True)
    assert (report.unchanged, report.removed, [contest for contest, _ in report.rejected]) == (3, 0, ["3"])


@pytest.mark.bound("ranklake.flows.ingestion.fetch.MAX_UNREADABLE_IN_A_ROW")
def test_ingest__stops_after_several_invalid_responses_in_a_row(lake: Lake, site: FakeCodeforces) -> None:
    for number in range(10, 20):
        site.add(number, Reply(HTML))
    with pytest.raises(SourceError, match="a web page where data should be"):
        follow(lake, site)
    assert [path for path in site.server.paths if "1" in path[-2:-1]] == [site.path(number) for number in (10, 11, 12)]


@pytest.mark.parametrize(
    ("response", "message"),
    [
        (HTML, "a web page where data should be"),
        ({"status": "OK", "result": [{"id": 1}]}, r"missing required field phase at result\[0\]"),
        ({"status": "FAILED", "comment": "Codeforces is temporarily unavailable"}, "FAILED: 'Codeforces is temp"),
    ],
)
def test_ingest__a_broken_list_is_an_error(lake: Lake, site: FakeCodeforces, response: Any, message: str) -> None:
    site.server[LIST] = response
    with pytest.raises(SourceError, match=message) as error:
        follow(lake, site)
    assert str(error.value).startswith(f"codeforces, contest contests ({site.server.url}api/contest.list): ")
    assert len(site.server.requests) == 1


# Rules for single contests


@pytest.mark.slow  # the round is in the middle of a large archive
def test_parse__a_recorded_round_is_the_one_of_the_authors_data_set() -> None:
    recorded = json.loads(gzip.decompress(sample("codeforces/rating-changes-917.json.gz").read_bytes()))
    (ours,) = parse(917, recorded)
    archive = shared("elo-datasets/codeforces.tar.xz")
    theirs = next(one for one in read_contests(archive) if one.url.endswith("/917/standings"))
    assert (ours.name, ours.url, ours.time_seconds) == (theirs.name, theirs.url, theirs.time_seconds)
    assert np.array_equal(ours.lo, theirs.lo)
    assert np.array_equal(ours.hi, theirs.hi)
    place, later = (dict(zip(one.handles.to_pylist(), one.lo, strict=True)) for one in (ours, theirs))
    both = place.keys() & later.keys()  # some players were renamed in the three years between the recordings
    assert len(both) > 0.8 * len(place)
    assert all(place[handle] == later[handle] for handle in both)


def test_ingest__rounds_of_teams_are_never_requested(lake: Lake, site: FakeCodeforces) -> None:
    for number in (524, 951):
        site.add(number, changes(number, ("ada", 1), ("bob", 1)))
    assert follow(lake, site).new == 3
    assert site.path(524) not in site.server.paths


@pytest.mark.parametrize("number", [447, 472, 615])
def test_parse__a_repeated_player_of_a_known_round_gets_another_name(number: int) -> None:
    (contest,) = parse(number, changes(number, ("a", 1), ("a_clone", 2), ("a", 3), ("a", 4)))
    assert contest.handles.to_pylist() == ["a", "a_clone", "a_clone_clone", "a_clone_clone_clone"]


@pytest.mark.parametrize("number", [61, 318, 347, 373, 381, 400, 404, 405])
def test_parse__a_different_time_in_one_row_of_a_known_round_is_no_fault(number: int) -> None:
    rows = [*changes(number, ("a", 1), time=10_000), *changes(number, ("b", 2), time=10_000 + 4 * 3600)]
    (contest,) = parse(number, rows)
    assert contest.time_seconds == 10_000


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (changes(3, ("a", 1), ("b", 2), ("a", 3)), "rows 0 and 2: player 'a' is listed twice"),
        (changes(3, ("a", 1), time=100) + changes(3, ("b", 2), time=200),
         "row 1: ratingUpdateTimeSeconds = 200, but 100 in the first row"),
        (changes(3, ("a", 1), ("b", 3)), "row 1: rank = 3 of 2 participants"),
        (changes(3, ("a", 1), ("b", 1), ("c", 2)), "row 2: rank = 2 at position 3"),
        (changes(3, ("a", 2), ("b", 2)), "row 0: rank = 2 at position 1"),
        (changes(3, ("a", 1), ("b", 3), ("c", 2)), "row 1: rank = 3 at position 2"),
        (changes(3, ("a", 0), ("b", 2)), "row 0: rank = 0 of 2 participants"),
        (changes(3, ("a", -(10**30)), ("b", 2)), "row 0: rank = -1"),
        (changes(3, ("a", 1), ("", 2)), "row 1: a player needs a name"),
        (changes(3, ("a", 1)) + changes(4, ("b", 2)), "row 1: contestId = 4 in the response for 3"),
        (changes(3, ("a", 1), time=0), "0 s is no time"),
        (changes(3, ("a", 1), time=2**63), "9223372036854775808 s is no time"),
        (changes(3, ("a", 1), time=LATEST + 1), "253402300800 s is no time"),
    ],
)  # fmt: skip
def test_parse__a_contest_with_a_fault_is_its_error(rows: list[dict[str, Any]], message: str) -> None:
    (error,) = parse(3, rows)
    assert str(error).startswith("codeforces, contest 3 (URL)")
    assert message in str(error)


def test_ingest__a_contest_with_a_fault_is_left_out_and_reported(lake: Lake, site: FakeCodeforces) -> None:
    site.add(3, changes(3, ("a", 1), ("a", 2)))
    report = follow(lake, site)
    assert report.new == 2
    assert [contest for contest, _ in report.rejected] == ["3"]
    assert "is listed twice" in report.lines()[0]
    site.add(3, changes(3, ("a", 1), ("b", 2)))
    assert follow(lake, site, again=True).new == 1
    site.add(3, changes(3, ("a", 1), ("a", 2)))
    report = follow(lake, site, again=True)  # the earlier valid response stays
    assert (report.removed, report.unchanged, len(report.rejected)) == (0, 2, 1)
    assert standings(lake, "codeforces")["3"] == [("a", 0, 0), ("b", 1, 1)]


HOSTILE = ["../../etc/passwd", "a/b\\c", "\x1b[31mred\x07", "x" * 1_024, "\u202egnp.exe", " \u00a0", "nul\x00l", "=1+1"]


def test_ingest__hostile_names_are_stored_unchanged(lake: Lake, site: FakeCodeforces, tmp_path: Path) -> None:
    site.add(7, changes(7, *[(name, place) for place, name in enumerate(HOSTILE, 1)]))
    assert follow(lake, site).new == 4
    assert [name for name, *_ in standings(lake, "codeforces")["7"]] == HOSTILE
    assert {path.name for path in tmp_path.iterdir()} == {"lake"}


# Parsing again


def test_normalise__again_gives_the_same_bits_without_requests(lake: Lake, site: FakeCodeforces) -> None:
    follow(lake, site)
    asked = len(site.server.requests)
    report = normalise_source(lake, "codeforces")
    assert counts(report) == {"unchanged": 3}
    assert report.line().startswith("3 unchanged contests; no requests")
    assert counts(normalise_source(lake, "codeforces", "other")) == {"new": 3}
    assert len(site.server.requests) == asked
    one, other = (Dataset.open(lake, name) for name in ("codeforces", "other"))
    assert one.contests.column("content_digest").equals(other.contests.column("content_digest"))
    assert one.handles().equals(other.handles())


@pytest.mark.parametrize("first", [(1, 3), (4,), (3, 4)])
def test_normalise__the_order_does_not_depend_on_the_time_of_the_requests(
    lake: Lake, site: FakeCodeforces, first: tuple[int, ...]
) -> None:
    for number in (3, 4):  # two divisions, at one time
        site.add(number, changes(number, ("ada", 1), ("bob", 2), time=BEGAN + 5 * DAY))
    later = {number: site.listed.pop(number) for number in (1, 3, 4) if number not in first}
    site._update_list()
    follow(lake, site)
    site.listed.update(later)
    site._update_list()
    follow(lake, site)
    assert list(standings(lake, "codeforces")) == ["1", "3", "4"]
    assert counts(normalise_source(lake, "codeforces")) == {"unchanged": 3}


def test_normalise__a_new_version_of_the_parser_parses_all_responses_again(
    lake: Lake, site: FakeCodeforces, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.add(7, changes(7, ("a", 1), ("a", 2)))
    follow(lake, site)
    monkeypatch.setattr(Codeforces, "version", 2)
    monkeypatch.setattr("ranklake.flows.sources.sites.codeforces.DOUBLES", {7})
    assert counts(follow(lake, site)) == {"new": 1, "unchanged": 3, "requests": 1}


def test_normalise__error_without_responses_has_a_remedy(lake: Lake) -> None:
    with pytest.raises(Exception, match=r"no responses of codeforces .*`ranklake ingest codeforces` fetches them"):
        normalise_source(lake, "codeforces")


def test_normalise__error_of_a_damaged_response_names_its_file(
    lake: Lake, site: FakeCodeforces, tmp_path: Path
) -> None:
    follow(lake, site)
    path = tmp_path / "lake" / "raw" / "codeforces" / "rating-changes" / "3.0.zst"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(Exception, match=r"rating-changes/3.0.zst: does not match the digest of the response; delete"):
        normalise_source(lake, "codeforces")
    path.unlink()
    (tmp_path / "lake" / "raw" / "codeforces" / "index.json").unlink()
    assert counts(follow(lake, site)) == {"unchanged": 3, "requests": 2}


def test_ingest__a_data_set_from_another_source_is_not_overwritten(lake: Lake, site: FakeCodeforces) -> None:
    from helpers.lakes import contest, ingest

    ingest(lake, [contest("3", "somebody", "else")], "codeforces")
    with pytest.raises(ValueError, match="already has a contest 3 from another source than codeforces; give"):
        follow(lake, site)
    assert list(standings(lake, "codeforces")) == ["3"]


def test_ingest__response_files_have_address_and_time_and_unpack_with_common_tools(
    lake: Lake, site: FakeCodeforces, tmp_path: Path
) -> None:
    import pyarrow as pa

    follow(lake, site)
    path = tmp_path / "lake" / "raw" / "codeforces" / "rating-changes" / "3.0.zst"
    header, _, body = pa.CompressedInputStream(pa.OSFile(str(path)), "zstd").read().partition(b"\n")
    fields = json.loads(header)
    assert (fields["url"], fields["status"]) == (f"{site.server.url}{site.path(3)[1:]}", 200)
    assert fields["time_seconds"] == (1_800_000_000 + 6)
    assert body == Reply.of(site.server.replies[site.path(3)][0]).body
