"""The command that publishes a run as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ..terminal.parameters import LakeAddress
from ..terminal.terminal import (
    deviations_option,
    lake_option,
    print_freshness,
    print_line,
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
@titles_option
@steal_option
@lake_option
def publish(
    run: str,
    deviations: float | None,
    maintain: bool,
    rebuild: bool,
    no_index: bool,
    titles: TitlesChoice,
    steal: bool,
    lake: LakeAddress,
) -> None:
    """Publish a run as tables for other programs: leaderboard, ratings, players, contests."""

    from ...publication.publish import publish as publish_run

    opened = lake.open()
    report = publish_run(opened, run, deviations, maintain, steal, rebuild, titles, not no_index)
    print_freshness(opened, run)
    print_line(f"run {run}: {report.line()}")
