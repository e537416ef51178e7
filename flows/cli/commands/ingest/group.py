"""The group of commands `ingest`."""

from __future__ import annotations

import click

from . import files, games, kaggle, sites, synthetic

__all__ = ["ingest"]


@click.group()
def ingest() -> None:
    """Ingest contests into the lake; unchanged contests are not written again."""


for command in (
    files.ingest_files,
    files.ingest_database,
    synthetic.ingest_synthetic,
    games.ingest_games,
    kaggle.ingest_kaggle,
    sites.ingest_atcoder,
    sites.ingest_codeforces,
    sites.ingest_codeforces_teams,
    sites.ingest_ctftime,
    sites.ingest_dmoj,
    sites.ingest_lichess,
    sites.ingest_topcoder,
):
    ingest.add_command(command)
