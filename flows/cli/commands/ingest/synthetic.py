"""The command that ingests synthetic contests and games."""

from __future__ import annotations

import dataclasses
from typing import Any

import click

from ...terminal.parameters import DATASET, LakeAddress
from ...terminal.terminal import lake_option, print_wait, progress, rewrite_option, steal_option, usage
from .output import ingest_checked, print_report

__all__ = ["ingest_synthetic"]


@click.command("synthetic", short_help="Generate a history of players with known skills.")
@click.option("--preset", required=True, help="paper, paper-quarter, synth-sm, synth-la, or chess for games.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the history.")
@click.option("--dataset", type=DATASET, help="Name of the data set; by default the preset's.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Change the preset, as n_rounds=100.")
@rewrite_option
@steal_option
@lake_option
def ingest_synthetic(
    preset: str,
    seed: int,
    dataset: str | None,
    settings: tuple[str, ...],
    lake: LakeAddress,
    rewrite: bool,
    steal: bool,
) -> None:
    """Ingest a synthetic history of players with known skills; the same seed gives the same contests.

    The preset chess makes a data set of one-to-one games: 10 million by 200,000 players, 100,000 a day.

    \b
    Examples:
      ranklake ingest synthetic --preset paper --lake lake
      ranklake ingest synthetic --preset chess --set n_games=1000000 \\
          --lake lake
    """
    from ....common.configuration.settings import convert_fields, parse_settings
    from ....ingestion.files import ReadContests
    from ....ingestion.games import ingest_synthetic_games
    from ....sources.base import IngestReport, filter_contests
    from ....sources.games.synthetic import GAMES_PRESETS, GamesPreset
    from ....sources.synthetic import PRESETS, generate

    presets: dict[str, Any] = {**PRESETS, **GAMES_PRESETS}
    with usage():
        if preset not in presets:
            raise ValueError(f"preset must be one of {', '.join(presets)}, got {preset!r}")
        changes = convert_fields(type(presets[preset]), parse_settings(settings), f"preset {preset}")
        chosen = dataclasses.replace(presets[preset], **changes)
    how: dict[str, Any] = {"rewrite": rewrite, "steal": steal}
    if isinstance(chosen, GamesPreset):
        opened = lake.open(create=True)
        with progress("ingesting", "games") as update:
            taken = ingest_synthetic_games(
                opened, chosen, seed, dataset or preset, on_wait=print_wait, on_progress=update, **how
            )
        print_report(taken)
        return
    report = IngestReport()
    contests = ReadContests(filter_contests(generate(chosen, seed), report), report)
    ingest_checked(lake, dataset or preset, contests, **how)
