"""The command that ingests one-to-one games from tables and PGN files."""

from __future__ import annotations

import dataclasses
from typing import Any

import click

from ...terminal.file_options import delimiter_option, duration_option, encoding_option, time_format_option
from ...terminal.options import DATASET, LakeAddress, dataset_option, lake_option, usage, writing_options
from .output import ingesting, print_files_report, print_report


@click.command("games", short_help="Ingest one-to-one games from tables and PGN files.")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@click.option("--column", "columns", multiple=True, metavar="KEY=COLUMN", help="Name of a column of a table: KEY is "
              "white, black, result, winner, loser, draw, time, clock, weight, precision, duration, advantage, "
              "importance, points or opponent_points. Repeatable.")  # fmt: skip
@click.option("--value", "values", multiple=True, metavar="TEXT=SCORE", help="What a text of the column result means: "
              "the score of white, as model_a=1, or none to leave such games out. Repeatable.")  # fmt: skip
@click.option("--advantage", type=float, metavar="POINTS", help="Rating points by which every game favours white, as "
              "35; by default those of the column advantage, or none.")  # fmt: skip
@click.option("--keep", multiple=True, metavar="COLUMN", help="A further column of the table that the data set keeps, "
              "as league or surface, for `rate --chances-by`. Repeatable.")  # fmt: skip
@click.option("--covariate", "covariates", multiple=True, metavar="NAME[=COLUMN]", help="A number by which the game "
              "differed for its players, as the first one's length less the second one's. Repeatable.")  # fmt: skip
@click.option("--covariate-null", type=float, metavar="0", help="The value of an empty covariate, 0; by default it is "
              "an error.")  # fmt: skip
@click.option("--importance", metavar="TABLE", help="K by the importance of a game, which the column importance names: "
              "world-football, or a CSV file with the columns importance and k. Stored as weight, for `rate --set k=1`."
              )  # fmt: skip
@click.option("--fractional", is_flag=True, help="A result may be any score from 0 to 1, as 0.75; only elo, glicko and "
              "glicko2 rate such games.")  # fmt: skip
@click.option("--points-may-disagree", is_flag=True, help="Keep games whose side with more points did not win, as "
              "after penalties: they have no margin, and are counted.")  # fmt: skip
@click.option("--fewer-wins", is_flag=True, help="Fewer points are better, as in golf; stored with the other sign.")
@click.option("--period", type=click.Choice(["hour", "day", "week", "month", "year"]), default="day",
              show_default=True, help="The games of a period, in UTC, are one round of a run.")  # fmt: skip
@time_format_option
@duration_option
@delimiter_option
@encoding_option
@click.option("--on-error", type=click.Choice(["stop", "skip"]), default="stop", show_default=True,
              help="For an invalid value: stop and ingest nothing, or leave the game out and count it.")  # fmt: skip
@click.option("--limit", "limits", multiple=True, metavar="KEY=NUMBER", help="Raise a limit for large files, as "
              "expanded=300GB, the decompressed bytes of a file.")  # fmt: skip
@dataset_option
@lake_option
@writing_options
def ingest_games(
    paths: tuple[str, ...], dataset: str, lake: LakeAddress, writing: dict[str, Any], **choices: Any
) -> None:
    """Ingest one-to-one games from PATH: files or patterns of Parquet, CSV, JSON and PGN files (.parquet .csv .tsv
    .jsonl .json .pgn; the texts also as .gz .bz2 .zst .xz; all of them in .zip), or the folder of a Delta table.

    A table has one row a game, with the columns white, black, result (1-0, 0-1, 1/2-1/2, or the score of white) and
    time; clock is the time of day if time is a date, weight how much the game counts, precision the
    factor on the precision of performances, and advantage the rating points
    by which it favours white (empty for none). Instead of white, black and result it may have winner and loser, and
    draw (true or false). Draws are results. Games without a result, a known player or a full date, and forfeits, are
    left out and counted.

    points and opponent_points are what both sides scored, as goals, for systems that use margins of victory; without
    a result more points win, and equal ones draw. Columns home_score and away_score, score1 and score2, goals_for and
    goals_against, and points and opponent_points are found by their names.

    The games of a period are one round; an ingest replaces the periods that it has games of, so give all games of a
    period at once. Ratings are those of one game after the other, unless the system rates whole periods.

    \b
    Examples:
      ranklake ingest games games.csv --dataset chess --lake lake
      ranklake ingest games 'games/*.parquet' --column white=White \\
          --column black=Black --column result=Result \\
          --column time=UTCDate --column clock=UTCTime \\
          --dataset chess --lake lake
      ranklake ingest games lichess_db_standard_rated_2013-01.pgn.zst \\
          --advantage 35 --dataset lichess --lake lake
      ranklake ingest games football.csv --importance world-football \\
          --advantage 100 --dataset football --lake lake
      ranklake ingest games votes.jsonl --column white=model_a \\
          --column black=model_b --column result=winner \\
          --column time=tstamp --value model_a=1 --value model_b=0 \\
          --value 'tie (bothbad)=0.5' --dataset arena --lake lake
    """
    from ....ingestion.games import ingest_games
    from ....sources.games.covariates import parse_covariates
    from ....sources.games.importance import find_importance
    from ....sources.games.options import GamesOptions, parse_columns
    from ....sources.games.reading import check_paths
    from ....sources.games.scores import parse_values
    from ....sources.limits import Limits

    with usage():
        check_paths(paths)
        if (table := choices["importance"]) is not None:
            choices["importance"] = find_importance(table)
        choices["values"] = parse_values(choices["values"])
        choices["covariates"] = parse_covariates(choices["covariates"])
        columns, limits = parse_columns(choices.pop("columns")), Limits.parse(choices.pop("limits"))
        options = GamesOptions(columns=columns, limits=limits, **choices)
    with ingesting("ingesting", "games", **writing) as how:
        report = ingest_games(lake.open(create=True), paths, dataset, options, how)
    print_report(report)


@click.command("synthetic", short_help="Generate a history of players with known skills.")
@click.option("--preset", required=True, help="paper, paper-quarter, synth-sm, synth-la; chess or league for "
              "games.")  # fmt: skip
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the history.")
@click.option("--dataset", type=DATASET, help="Name of the data set; by default the preset's.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Change the preset, as n_rounds=100.")
@writing_options
@lake_option
def ingest_synthetic(
    preset: str, seed: int, dataset: str | None, settings: tuple[str, ...], lake: LakeAddress, writing: dict[str, Any]
) -> None:
    """Ingest a synthetic history of players with known skills; the same seed gives the same contests.

    The presets chess and league make data sets of one-to-one games: 10 million by 200,000 players, 100,000 a day; and
    1,200 by 24 clubs, some of them on neutral ground, the column neutral of its games.

    \b
    Examples:
      ranklake ingest synthetic --preset paper --lake lake
      ranklake ingest synthetic --preset chess --set n_games=1000000 \\
          --lake lake
    """
    from ....common.configuration.settings import convert_fields, parse_settings
    from ....ingestion.files import FILES, ReadContests, ingest_contests
    from ....ingestion.games import ingest_synthetic_games
    from ....ingestion.report import FilesReport
    from ....sources.base import IngestReport, filter_contests
    from ....sources.games.synthetic import GAMES_PRESETS, GamesPreset
    from ....sources.synthetic import PRESETS, generate

    presets: dict[str, Any] = {**PRESETS, **GAMES_PRESETS}
    with usage():
        if preset not in presets:
            raise ValueError(f"preset must be one of {', '.join(presets)}, got {preset!r}")
        changes = convert_fields(type(presets[preset]), parse_settings(settings), f"preset {preset}")
        chosen = dataclasses.replace(presets[preset], **changes)
    games = isinstance(chosen, GamesPreset)
    with ingesting("ingesting", "games" if games else "contests", **writing) as how:
        opened = lake.open(create=True)
        if isinstance(chosen, GamesPreset):
            print_report(ingest_synthetic_games(opened, chosen, seed, dataset or preset, how))
            return
        read = IngestReport()
        contests = ReadContests(filter_contests(generate(chosen, seed), read), read)
        report = ingest_contests(opened, contests, FilesReport(FILES, dataset or preset), how)
    print_files_report(report)
