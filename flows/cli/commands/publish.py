"""The commands that publish a run as tables, as a site or into a database, and serve published runs by HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ..terminal.imports import without_pandas
from ..terminal.parameters import RUN, LakeAddress
from ..terminal.terminal import (
    deviations_option,
    lake_option,
    print_freshness,
    print_line,
    progress,
    run_option,
    steal_option,
    titles_option,
    usage,
)

if TYPE_CHECKING:
    from ...common.titles import TitlesChoice

__all__ = ["publish", "serve"]


@click.command()
@run_option
@deviations_option
@click.option("--maintain", is_flag=True, help="Also merge small files, and remove files unused for a week.")
@click.option(
    "--afresh", "rebuild", is_flag=True, help="First delete the published tables of the run; repairs damaged tables."
)
@click.option(
    "--no-index", is_flag=True, help="Without the index for fast commands and the server; deletes an existing one."
)
@click.option(
    "--site",
    metavar="DIR",
    help="Write a site of static files there instead, a folder or an address as s3://bucket/site.",
)
@click.option(
    "--to",
    "database",
    metavar="URL",
    help="Write the tables into this database instead, as postgresql://USER@HOST/DATABASE, "
    "mariadb://USER@HOST/DATABASE or sqlite:///FILE.",
)
@click.option("--schema", metavar="NAME", help="With --to: schema of the tables; by default the current one.")
@click.option("--prefix", default="", metavar="TEXT", help="With --to: put before the names of the tables.")
@titles_option
@steal_option
@lake_option
def publish(
    run: str,
    deviations: float | None,
    maintain: bool,
    rebuild: bool,
    no_index: bool,
    site: str | None,
    database: str | None,
    schema: str | None,
    prefix: str,
    titles: TitlesChoice,
    steal: bool,
    lake: LakeAddress,
) -> None:
    """Publish a run as tables for other programs: leaderboard, ratings, players, contests.

    With --site, publish it as a web site instead: leaderboard, players, contests, comparison, distribution. With --to,
    write the same tables into a database, in one transaction.
    """
    without_pandas()
    if (site is not None or database is not None) and (maintain or no_index):
        option, target = "--maintain" if maintain else "--no-index", "--site" if site is not None else "--to"
        raise click.UsageError(f"{option} is for tables in the lake and not for {target}, which has no old files")
    if site is not None and database is not None:
        raise click.UsageError("--site and --to are two publishes: use a command for each")
    if database is None and (schema is not None or prefix):
        raise click.UsageError(f"{'--prefix' if schema is None else '--schema'} is for databases: give one with --to")
    if database is not None:
        from ...databases.address import DatabaseAddress
        from ...publication.database import publish_to_database

        with usage():
            DatabaseAddress.parse(database)
        opened = lake.open()
        with progress(f"publishing {run}", "participations") as on_progress:
            how: dict[str, Any] = {"steal": steal, "rebuild": rebuild, "on_progress": on_progress}
            stored = publish_to_database(opened, run, database, schema, prefix, deviations, titles, **how)
        print_freshness(opened, run)
        print_line(f"run {run}: {stored.line()}")
        return
    if site is not None:
        from ...site.publish import publish_site

        opened = lake.open()
        with progress(f"site of {run}", "rows") as on_progress:
            report = publish_site(opened, run, site, deviations, titles, steal, rebuild, on_progress)
        print_freshness(opened, run)
        print_line(f"run {run}: {report.line()}")
        return
    from ...publication.publish import publish as publish_run

    opened = lake.open()
    with progress(f"publishing {run}", "participations") as on_progress:
        published = publish_run(opened, run, deviations, maintain, steal, rebuild, titles, not no_index, on_progress)
    print_freshness(opened, run)
    print_line(f"run {run}: {published.line()}")


@click.command()
@click.option("--run", "runs", type=RUN, multiple=True, help="A published run; repeatable.  [default: all]")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on; 0.0.0.0 is all.")
@click.option(
    "--port", type=click.IntRange(0, 65_535), default=8080, show_default=True, help="Port; 0 takes a free one."
)
@click.option(
    "--root-path", default="", metavar="PATH", help="Path below which a proxy shows the server, for example /ratings."
)
@lake_option
def serve(runs: tuple[str, ...], host: str, port: int, root_path: str, lake: LakeAddress) -> None:
    """Serve published runs by HTTP, read-only; new versions are taken up without a restart."""
    from ...serving.server import serve as serve_runs

    with usage():
        if root_path and (not root_path.startswith("/") or root_path.endswith("/")):
            raise ValueError(f"--root-path must begin with / and not end with it, got {root_path!r}")

    def started(address: str, names: list[str]) -> None:
        none = "no run yet (`ranklake publish` adds them)"
        print_line(f"serving {', '.join(names) or none} at {address}/")

    try:
        serve_runs(lake.open(), runs, host, port, root_path, on_start=started)
    except KeyboardInterrupt:  # the way to end a server
        print_line("stopped")
