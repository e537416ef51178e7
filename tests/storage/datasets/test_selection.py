"""Games selected by their kept columns, and what is said if none is left."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from helpers.builders import contest, ingest
from helpers.games import as_periods, ingest_periods, league, with_covariates, with_points

from ranklake.storage import Dataset, Lake, LakeError, StandingsPart
from ranklake.storage.datasets.selection import Selection, check_selection
from ranklake.storage.datasets.tables.games import Period
from ranklake.storage.datasets.tables.kept import Kept

TEXTS = ('{"language":"English","turn":"1"}', '{"language":"Deutsch"}', '{"language":"English","turn":"2"}')
GAMES = with_covariates(with_points(league(60)))


def votes() -> list[Period]:
    """Games in English and German, and without a language; the second period has none of these columns."""
    periods = as_periods(GAMES)
    kept = [Kept(TEXTS, (np.arange(len(period)) % 4 - 1).astype(np.int32)) for period in periods]
    return [
        period if number == 1 else replace(period, games=replace(period.games, kept=kept[number]))
        for number, period in enumerate(periods)
    ]


def select(part: StandingsPart, *settings: str) -> StandingsPart:
    """The standings of the selected games."""
    assert part.games is not None
    return part.keep_games(Selection.parse(settings).mask(part.games.kept, len(part.games.time_seconds)))


def selected(lake: Lake, *settings: str) -> list[tuple]:
    """The period, players, points, time and covariates of each selected game."""
    found = []
    for part in Dataset.open(lake, "league").standings():
        part = select(part, *settings)
        assert part.games is not None
        assert part.games.covariates is not None
        assert part.points is not None
        assert part.games.points is not None
        assert np.array_equal(part.points, part.games.points, equal_nan=True)
        assert part.offsets[-1] == len(part.player) == 2 * len(part.games.time_seconds)
        period = part.contests_of(np.arange(0, len(part.player), 2)).tolist()
        players = part.player.reshape(-1, 2).tolist()
        facts = (
            part.points.reshape(-1, 2).tolist(),
            part.games.time_seconds.tolist(),
            part.games.covariates.values.tolist(),
        )
        found += list(zip(period, players, *facts, strict=True))
    return found


def test_selection__keeps_the_games_with_the_values_and_all_that_belongs_to_them(lake: Lake) -> None:
    ingest_periods(lake, votes())
    every, codes = selected(lake), np.concatenate([[] if p.games.kept is None else p.games.kept.codes for p in votes()])
    at, sizes = np.cumsum([0, *map(len, votes())]), list(map(len, votes()))
    codes = np.concatenate([codes[: at[1]], np.full(sizes[1], -1), codes[at[1] :]]).tolist()
    for settings, texts in [
        (["language=English"], {0, 2}), (["language=English", "turn=2"], {2}), (["language = Deutsch"], {1}),
        (["language=Deutsch", "language=English"], {0, 1, 2}), (["turn=3"], set()), (["color=red"], set()),
    ]:  # fmt: skip
        assert str(selected(lake, *settings)) == str(
            [game for game, code in zip(every, codes, strict=True) if code in texts]
        )
    assert 0 < len(selected(lake, "turn=2")) < len(selected(lake, "language=English")) < len(every) == len(GAMES)


def test_selection__leaves_empty_periods(lake: Lake) -> None:
    ingest_periods(lake, votes())
    (part,) = Dataset.open(lake, "league").standings()
    assert np.diff(select(part, "turn=2").offsets)[1] == 0
    assert len(select(part, "turn=2")) == len(part) == 6


def test_settings__are_the_same_in_any_order() -> None:
    one, other = Selection.parse(["b=2", "a=x=y", "b=1"]), Selection.parse(["a=x=y", "b=1", "b=2", "b=1"])
    assert one == other
    assert one.settings() == ["a=x=y", "b=1", "b=2"]
    assert Selection.parse(one.settings()) == one
    for wrong in ("language", "=English", "language=", " = "):
        with pytest.raises(ValueError, match=f"--where is COLUMN=VALUE, got '{wrong}'"):
            Selection.parse([wrong])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["languagge=English"], r"--where languagge=English: no game of data set league has this column; did you mean "
         r"'language'\?; it has 'language', 'turn'; `ranklake ingest games FILE --keep languagge --dataset league`"),
        (["language=english"], r"has this value; there is 'English'; there are 'Deutsch', 'English'$"),
        (["turn=2", "language=Deutsch"], r"no game of data set league has language=Deutsch and turn=2; some have one"),
    ],
)  # fmt: skip
def test_empty_selection__is_refused_with_the_values_that_exist(lake: Lake, settings: list[str], message: str) -> None:
    ingest_periods(lake, votes())
    check_selection(Dataset.open(lake, "league"), Selection.parse(["language=English", "turn=2"]))
    with pytest.raises(LakeError, match=message):
        check_selection(Dataset.open(lake, "league"), Selection.parse(settings))


def test_selection__is_of_games_with_kept_columns(lake: Lake) -> None:
    ingest_periods(lake, as_periods(GAMES))
    with pytest.raises(
        LakeError, match=r"no game of data set league has this column; `ranklake ingest games FILE --keep"
    ):
        check_selection(Dataset.open(lake, "league"), Selection.parse(["turn=1"]))
    ingest(lake, [contest("a", ["x", "y"])], "contests")
    with pytest.raises(LakeError, match="--where selects games, and data set contests has contests"):
        check_selection(Dataset.open(lake, "contests"), Selection.parse(["turn=1"]))
    check_selection(Dataset.open(lake, "contests"), Selection())
