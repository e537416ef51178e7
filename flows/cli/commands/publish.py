"""The command that publishes a run as tables or as a site."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ..terminal.parameters import LakeAddress
from ..terminal.terminal import (
    deviations_option,
    lake_option,
    print_freshness,
    print_line,
    progress,
    run_option,
    steal_option,
    titles_option,
)

if TYPE_CHECKING:
    from ...common.titles import TitlesChoice

__all__ = ["publish"]


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
