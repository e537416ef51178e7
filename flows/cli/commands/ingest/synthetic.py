"""The command that ingests synthetic contests."""

from __future__ import annotations

import dataclasses

import click

from ...terminal.parameters import DATASET, LakeAddress
from ...terminal.terminal import lake_option, rewrite_option, steal_option, usage
from .output import ingest_checked

__all__ = ["ingest_synthetic"]


@click.command("synthetic", short_help="Generate a history of players with known skills.")
@click.option("--preset", required=True, help="paper, paper-quarter, synth-sm or synth-la.")
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
    """Ingest a synthetic history of players with known skills; the same seed gives the same contests."""
    from ....common.configuration.settings import convert_fields, parse_settings
    from ....sources.base import IngestReport, filter_contests
    from ....sources.synthetic import PRESETS, generate

    with usage():
        if preset not in PRESETS:
            raise ValueError(f"preset must be one of {', '.join(PRESETS)}, got {preset!r}")
        changes = convert_fields(type(PRESETS[preset]), parse_settings(settings), f"preset {preset}")
        chosen = dataclasses.replace(PRESETS[preset], **changes)
    report = IngestReport()
    contests = filter_contests(generate(chosen, seed), report)
    ingest_checked(lake, dataset or preset, contests, report, rewrite=rewrite, steal=steal)
