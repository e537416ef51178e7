"""The sample league of the documents: its files are those of the generator."""

from __future__ import annotations

import sample_league


def test_sample_league__is_what_the_generator_makes() -> None:
    """``python docs/sample_league.py`` writes the files again."""
    assert (sample_league.FOLDER / "league.csv").read_text("utf-8") == sample_league.games()
    assert (sample_league.FOLDER / "league.json").read_text("utf-8") == sample_league.truth()
