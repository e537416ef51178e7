"""The commands that publish a run as tables or as a site, and serve published runs by HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
    titles: TitlesChoice,
    steal: bool,
    lake: LakeAddress,
) -> None:
    """Publish a run as tables for other programs: leaderboard, ratings, players, contests.

    With --site, publish it as a web site instead: leaderboard, players, contests, comparison, distribution.
    """
    without_pandas()
    if site is not None:
        if maintain or no_index:
            option = "--maintain" if maintain else "--no-index"
            raise click.UsageError(f"{option} is for tables and not for --site, which removes its old files by itself")
        from ...site.publish import publish_site

        opened = lake.open()
        with progress(f"site of {run}", "rounds") as on_progress:
            report = publish_site(opened, run, site, deviations, titles, steal, rebuild, on_progress)
        print_freshness(opened, run)
        print_line(f"run {run}: {report.line()}")
        return
    from ...publication.publish import publish as publish_run

    opened = lake.open()
    published = publish_run(opened, run, deviations, maintain, steal, rebuild, titles, not no_index)
    print_freshness(opened, run)
    print_line(f"run {run}: {published.line()}")


@click.command()
@click.option("--run", "runs", type=RUN, multiple=True, help="A published run; repeatable.  [default: all]")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on; 0.0.0.0 is all.")
@click.option("--port", type=click.IntRange(0, 65_535), default=8080, show_default=True, help="0 takes a free port.")
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
        print_line(f"serving {', '.join(names) or 'no run yet'} at {address}/")

    serve_runs(lake.open(), runs, host, port, root_path, on_start=started)
