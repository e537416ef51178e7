"""A row about reading responses of sites."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from itertools import islice

from against_peer import CODEFORCES
from timing import Best, Options, Result, invoke, reported, run_command

from ranklake.flows.ingestion.response_archive import ResponseArchive
from ranklake.flows.sources.files.contests import read_contests
from ranklake.flows.sources.sites.documents import Document, Key, Response
from ranklake.storage import Lake
from ranklake.storage.datasets.tables.contests import Contest

CONTESTS = 1000
REPEATS = 3


def normalise(options: Options) -> Iterator[Result]:
    """Responses about the first rounds of Codeforces, read into a data set."""
    n = options.least(CONTESTS)
    with tempfile.TemporaryDirectory() as folder:
        lake = Lake.open(folder)
        archive = ResponseArchive(lake, "codeforces")
        rows = size = 0
        for contest in islice(read_contests(options.file(CODEFORCES)), n):
            number, body = _answer(contest)
            archive.store(Document(Key("rating-changes", number), Response(contest.url, 200, body, 0)))
            rows, size = rows + len(contest), size + len(body)
        archive.save()
        command = (invoke(), "normalise", "--source", "codeforces", "--lake", folder)
        done = [run_command(*command, "--dataset", f"d{turn}") for turn in range(options.repeats(REPEATS))]
    best = min(done, key=reported)
    yield Result(
        "normalise",
        f"ranklake normalise, {n:,} contests, {rows:,} participations, {size / 1e6:,.0f} MB of JSON; "
        f"peak {best.peak_bytes / 1e9:.2f} GB",
        Best(command.seconds for command in done),
        targets={f"at most 10 s by its own account: {reported(best):.1f} s": reported(best) <= 10.0},
        figures={"reported_seconds": reported(best), "cpu_seconds": best.cpu_seconds, "peak_bytes": best.peak_bytes},
    )


def _answer(contest: Contest) -> tuple[str, bytes]:
    """Number of a contest, and the response of the site for it; the ratings are synthetic."""
    number = contest.url.split("/")[-2]
    facts = {"contestId": int(number), "contestName": contest.name}
    changes = [
        {**facts, "handle": handle, "rank": lo + 1, "ratingUpdateTimeSeconds": contest.time_seconds,
         "oldRating": 1500, "newRating": 1500}
        for handle, lo in zip(contest.handles.to_pylist(), contest.lo.tolist(), strict=True)
    ]  # fmt: skip
    return number, json.dumps({"status": "OK", "result": changes}, separators=(",", ":")).encode()
