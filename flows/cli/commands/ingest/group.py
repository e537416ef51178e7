"""The group of commands `ingest`."""

from __future__ import annotations

import click

from . import files, games, results, sites


@click.group()
def ingest() -> None:
    """Ingest contests into the lake; unchanged contests are not written again."""


for command in (
    files.ingest_files,
    files.ingest_database,
    games.ingest_synthetic,
    games.ingest_games,
    results.ingest_results,
    sites.ingest_kaggle,
    *sites.site_commands(),
):
    ingest.add_command(command)
