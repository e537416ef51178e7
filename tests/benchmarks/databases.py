"""The row about a database: Codeforces published into a private PostgreSQL server, and ingested from it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from changes import RUN, rate, rated
from timing import Command, Options, Result, SkippedRow, from_tests, invoke, reported, run_command

RESULTS = """
create table results as
select contest_id as contest, handle as player, lo, hi, time_seconds as time, round_index as changed from ratings
"""


def sql(options: Options) -> Iterator[Result]:
    """`publish --to` of all of Codeforces at once, of one more round, and without a change; then `ingest sql`."""
    with rated(options, without=1) as (lake, data, n_rounds), _server() as server:
        url = server.url_of("ranklake")
        done = {"a whole run": _publish(lake, url)}
        rate(lake, RUN, n_rounds)
        done["one more round"] = _publish(lake, url)
        done["nothing new"] = _publish(lake, url)
        for (what, command), limit in zip(done.items(), (60.0, 2.0, None), strict=True):
            yield _result(what, command, limit)
        server.sql(RESULTS)
        query = ("--query", "select * from results", "--watermark", "changed")
        read = run_command(invoke(), "ingest", "sql", "--url", url, *query, "--dataset", "e", "--lake", lake)
        n_rows = sum(data.contests.column("n_players").to_pylist()[:n_rounds])
        pace = n_rows / read.seconds
        told = f"ranklake ingest sql, {n_rows:,} rows; {read.cpu_seconds:.1f} s of all cores without the server's"
        target = {f"at least 200,000 rows a second: {pace:,.0f}": pace >= 200_000}
        figures = {"cpu_seconds": read.cpu_seconds}
        yield Result("sql", told, read.seconds, targets=target, figures=figures, case="ingest")


def _result(what: str, command: Command, limit: float | None) -> Result:
    told = f"ranklake publish --to PostgreSQL, {what}; {command.cpu_seconds:.1f} s of all cores without the server's"
    figures = {"cpu_seconds": command.cpu_seconds}
    if limit is None:
        return Result("sql", told, command.seconds, figures=figures, case=what)
    figures["reported_seconds"] = inside = reported(command)
    target = {f"at most {limit:.0f} s reported: {inside:.1f} s": inside <= limit}
    return Result("sql", told, command.seconds, targets=target, figures=figures, case=what)


def _publish(lake: str, url: str) -> Command:
    return run_command(invoke(), "publish", "--run", RUN, "--to", url, "--lake", lake)


@contextmanager
def _server() -> Iterator[Any]:
    """The server of the tests, which writes to the disk here; the row is skipped where it cannot be started."""
    servers = from_tests("helpers.database_servers")
    try:
        with servers.postgres(fsync="on") as server:
            yield server
    except servers.pytest.skip.Exception as why:
        raise SkippedRow(str(why)) from None
