"""The command that ingests the competitions of Kaggle from the files of their data set."""

from __future__ import annotations

import click

from ...terminal.parameters import DATASET, LakeAddress
from ...terminal.terminal import lake_option, print_wait, progress, steal_option, usage
from .output import print_report

__all__ = ["ingest_kaggle"]


@click.command("kaggle", short_help="Ingest the competitions of Kaggle from files.")
@click.option("--base-url", required=True, metavar="FOLDER", help="Folder of Competitions.csv, Teams.csv, "
              "TeamMemberships.csv and Users.csv.")  # fmt: skip
@click.option("--dataset", type=DATASET, default="kaggle", show_default=True, help="Name of the data set.")
@click.option("--since", metavar="TIME", help="Only competitions that ended at this time or later; older ones stay.")
@steal_option
@lake_option
def ingest_kaggle(base_url: str, dataset: str, since: str | None, steal: bool, lake: LakeAddress) -> None:
    """Ingest the competitions of Kaggle from the files of the "Meta Kaggle" set.

    The ranks are those of the private leaderboard; every member of a team has the rank of the team.
    """
    from pathlib import Path

    from ....common.times import parse_time
    from ....ingestion.sites import ingest_source

    with usage():
        if since is not None:
            parse_time(since, "--since")
        if not Path(base_url).is_dir():
            raise ValueError(f"--base-url must be a folder, got {base_url!r}")
    with progress("kaggle") as update:
        opened = lake.open(create=True)
        report = ingest_source(
            opened,
            "kaggle",
            dataset,
            since=since,
            base_url=base_url,
            steal=steal,
            on_wait=print_wait,
            on_progress=update,
        )
    print_report(report)
