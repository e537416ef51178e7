"""The sample league of the documents: docs/_static/league.csv, and what its results depend on, league.json.

``python docs/sample_league.py`` writes both again. The games are those of `ranklake ingest synthetic --preset league`.
"""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np

from ranklake.flows.sources.games.synthetic import GAMES_PRESETS, generate_games, truth_of

FOLDER = Path(__file__).resolve().parent / "_static"
PRESET, SEED = GAMES_PRESETS["league"], 34
COLUMNS = ("time", "home", "away", "result", "neutral")
RESULTS = {0.0: "0-1", 0.5: "1/2-1/2", 1.0: "1-0"}


def games() -> str:
    """The games as CSV, in order of time."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for period in generate_games(PRESET, SEED):
        names, kept = period.handles.to_pylist(), period.games.kept
        assert kept is not None
        grounds, codes = kept.values("neutral")
        numbers = zip(period.player.tolist(), period.opponent.tolist(), strict=True)
        times = np.datetime_as_string(period.games.time_seconds.astype("M8[s]")).tolist()
        rows = zip(times, numbers, period.score.tolist(), codes.tolist(), strict=True)
        for time, (home, away), score, ground in rows:
            writer.writerow((time, names[home], names[away], RESULTS[score], grounds[ground]))
    return text.getvalue()


def truth() -> str:
    """What the results depend on, as JSON: nu, the advantage, and the skills on the last day."""
    found = truth_of(PRESET, SEED)
    skills = {name: round(skill, 2) for name, skill in found.skills.items()}
    facts = {"nu": round(found.nu, 12), "advantage": found.advantage, "seed": SEED, "skills": skills}
    return json.dumps(facts, indent=1, allow_nan=False) + "\n"


if __name__ == "__main__":
    (FOLDER / "league.csv").write_text(games(), encoding="utf-8")
    (FOLDER / "league.json").write_text(truth(), encoding="utf-8")
