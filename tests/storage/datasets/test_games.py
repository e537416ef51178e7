"""Data sets of kind ``games``: periods are read back as two rows a game, corrected, verified and merged."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.builders import contest, ingest
from helpers.games import Game, as_periods, ingest_periods, league, with_advantages, with_covariates, with_points

from ranklake.storage import Dataset, Lake, LakeError
from ranklake.storage.datasets.tables.games import Period
from ranklake.storage.lake.layout import dataset_folder
from ranklake.storage.lake.parquet import metadata_of
from ranklake.storage.leases.acquire import hold_lease
from ranklake.storage.maintenance.compact import compact_dataset
from ranklake.storage.maintenance.verify import verify_dataset

GAMES = league(120)
FAVOURED = with_advantages(GAMES)
SCORED = with_points(GAMES)
PRECISE = [game._replace(precision=1.0 if game.time_seconds % 3 else 0.25) for game in GAMES]
COVARIED = with_covariates(FAVOURED)
FRACTIONAL = [game._replace(score=(game.time_seconds % 65) / 64) for game in GAMES]


def content(lake: Lake, name: str = "league") -> list[tuple]:
    """Every game as winner, loser, score of the winner, time, weight and precision, points of both, advantage and
    covariates of the winner, with its period's id.
    """
    dataset = Dataset.open(lake, name)
    handles, ids = dataset.handles().to_pylist(), dataset.contests.column("contest_id").to_pylist()
    rows = []
    for part in dataset.standings():
        assert part.games is not None
        periods = np.repeat(np.arange(len(part)), np.diff(part.offsets) // 2) + part.first_contest
        advantage = part.games.advantage if len(part.games.advantage) else np.zeros(len(periods))
        precision = part.games.precision if len(part.games.precision) else np.ones(len(periods))
        factors = zip(part.games.weight.tolist(), precision.tolist(), strict=True)
        facts = zip(periods, part.games.time_seconds, factors, advantage, strict=True)
        for g, (period, time, both, ahead) in enumerate(facts):
            a, b = part.player[2 * g : 2 * g + 2]
            drawn = part.lo[2 * g + 1] == 0
            assert part.hi[2 * g : 2 * g + 2].tolist() == [int(drawn), 1]
            score = float(part.games.score[g]) if len(part.games.score) else 0.5 if drawn else 1.0
            points = None if part.points is None else part.points[2 * g : 2 * g + 2].tolist()
            points = None if points is None or np.isnan(points).all() else tuple(points)
            assert drawn == (score == 0.5)
            given = None if part.games.covariates is None else tuple(part.games.covariates.values[g].tolist())
            rows.append((ids[period], handles[a], handles[b], score, int(time), both, points, given, float(ahead)))
    return rows


def expected(games: list[Game]) -> list[tuple]:
    rows = []
    for game in games:
        names = (game.white, game.black) if game.score >= 0.5 else (game.black, game.white)
        period = f"period-{game.time_seconds // 86_400}"
        ahead = game.advantage if game.score >= 0.5 else -game.advantage
        points = game.points if game.points is None or game.score >= 0.5 else game.points[::-1]
        score, given = max(game.score, 1.0 - game.score), game.covariates
        given = given if given is None or game.score >= 0.5 else (-given[0], -given[1])
        facts = (game.weight, game.precision), points, given, ahead
        rows.append((period, *names, score, game.time_seconds, *facts))
    return rows


@pytest.mark.parametrize("games", [GAMES, FAVOURED, SCORED, PRECISE, FRACTIONAL, COVARIED])
def test_games__are_read_back_in_order(lake: Lake, games: list[Game]) -> None:
    assert ingest_periods(lake, as_periods(games)) == ["new"] * 6
    assert content(lake) == expected(games)
    assert ingest_periods(lake, as_periods(games)) == ["unchanged"] * 6
    dataset = Dataset.open(lake, "league")
    assert dataset.kind == "games"
    assert dataset.contests.column("n_players").to_pylist() == [2 * len(period) for period in as_periods(GAMES)]
    assert list(verify_dataset(dataset)) == []


def test_games__replace_only_the_periods_that_changed(lake: Lake) -> None:
    ingest_periods(lake, as_periods(GAMES))
    before = Dataset.open(lake, "league").contests.column("content_digest").to_pylist()
    changed = [*GAMES[:50], replace_score(GAMES[50]), *GAMES[51:]]
    at = [period.contest_id for period in as_periods(GAMES)].index(f"period-{GAMES[50].time_seconds // 86_400}")
    states = ["unchanged"] * 6
    states[at] = "corrected"
    assert ingest_periods(lake, as_periods(changed)) == states
    after = Dataset.open(lake, "league").contests.column("content_digest").to_pylist()
    assert [one == other for one, other in zip(before, after, strict=True)] == [i != at for i in range(6)]
    assert content(lake) == expected(changed)
    assert list(verify_dataset(Dataset.open(lake, "league"))) == []


def replace_score(game: Game) -> Game:
    return game._replace(score=1.0 - game.score if game.score != 0.5 else 1.0)


def test_digest__is_independent_of_numbers_and_covers_everything_else() -> None:
    (period,) = as_periods(GAMES[:8], seconds=10**9)
    order = np.arange(len(period.handles))[::-1]
    place = np.argsort(order).astype(np.int32)
    same = replace(
        period, handles=period.handles.take(pa.array(order)), player=place[period.player],
        opponent=place[period.opponent],
    )  # fmt: skip
    assert same.content_digest == period.content_digest
    variants = [
        [*GAMES[1:8]],
        [GAMES[1], GAMES[0], *GAMES[2:8]],
        [GAMES[0]._replace(time_seconds=GAMES[0].time_seconds - 1), *GAMES[1:8]],
        [GAMES[0]._replace(weight=7.0), *GAMES[1:8]],
        [GAMES[0]._replace(advantage=7.0), *GAMES[1:8]],
        [GAMES[0]._replace(advantage=-7.0), *GAMES[1:8]],
        [GAMES[0], GAMES[1]._replace(advantage=7.0), *GAMES[2:8]],
        [GAMES[0]._replace(white="new"), *GAMES[1:8]],
        [GAMES[0]._replace(points=(3.0, 1.0)), *GAMES[1:8]],
        [GAMES[0]._replace(points=(1.0, 3.0)), *GAMES[1:8]],
        [GAMES[0]._replace(points=(3.0, np.nan)), *GAMES[1:8]],
        [GAMES[0], GAMES[1]._replace(points=(3.0, 1.0)), *GAMES[2:8]],
        [GAMES[0]._replace(score=0.25), *GAMES[1:8]],
        [GAMES[0]._replace(score=0.75), *GAMES[1:8]],
        [replace_score(GAMES[0]), *GAMES[1:8]],
    ]
    digests = {as_periods(games, seconds=10**9)[0].content_digest for games in variants}
    assert len(digests - {period.content_digest}) == len(variants)


def test_digest__is_that_of_earlier_releases_and_of_the_same_game_told_from_the_other_side(lake: Lake) -> None:
    digests = [period.content_digest for period in as_periods(GAMES)[:2]]
    assert digests == ["2f84aa6f54ef820a2ec1f864aea3f6c0", "a8a32b4ff66da6bb9a88433534a887c6"]  # without advantages
    told = [Game("a", "b", 0.75, 100, 1.0, 35.0, (2.0, 1.0)), Game("b", "a", 0.25, 100, 1.0, -35.0, (1.0, 2.0))]
    one, other = (as_periods([game]) for game in told)
    assert one[0].content_digest == other[0].content_digest
    ingest_periods(lake, one)
    assert ingest_periods(lake, other) == ["unchanged"]
    weighted, favoured = (as_periods([Game("a", "b", 1.0, 100, **{name: 2.0})]) for name in ("weight", "advantage"))
    assert weighted[0].content_digest != favoured[0].content_digest


def test_advantages_of_zero__of_either_sign_are_none() -> None:
    def period(advantage: list[float]) -> Period:
        (plain,) = as_periods(GAMES[:4], seconds=10**9)
        return replace(plain, games=replace(plain.games, advantage=np.array(advantage)))

    plain, *zeros = (period(values).content_digest for values in ([], [0.0] * 4, [-0.0] * 4))
    assert zeros == [plain, plain]
    assert period([-0.0, 5.0, 0.0, -0.0]).content_digest == period([0.0, 5.0, -0.0, 0.0]).content_digest


def test_points_and_scores_of_other_periods__change_no_digest(lake: Lake) -> None:
    digests = [period.content_digest for period in as_periods(GAMES)]
    for other in (SCORED, PRECISE, FRACTIONAL):
        mixed = [*GAMES[:100], *other[100:]]
        assert [period.content_digest for period in as_periods(mixed)][:4] == digests[:4]
        ingest_periods(lake, as_periods(mixed))
        assert list(verify_dataset(Dataset.open(lake, "league"))) == []
    (plain,) = as_periods(GAMES[:4], seconds=10**9)
    unknown = replace(plain, games=replace(plain.games, points=np.full(8, np.nan)))
    assert unknown.content_digest == plain.content_digest


def test_file__has_advantages_and_points_only_if_some_game_has_one(lake: Lake) -> None:
    columns = ["contest_id", "player", "opponent", "score", "time_seconds", "weight"]
    cases = [
        ("plain", GAMES, columns),
        ("favoured", FAVOURED, [*columns, "advantage"]),
        ("scored", SCORED, [*columns, "points", "opponent_points"]),
        ("precise", PRECISE, [*columns, "precision"]),
        ("covaried", COVARIED, [*columns, "advantage", "x_length", "x_side"]),
    ]
    for name, games, expected in cases:
        ingest_periods(lake, as_periods(games), name)
        (file,) = set(Dataset.open(lake, name).contests.column("file").to_pylist())
        data = lake.read_bytes(f"{name}/standings/{file}")
        assert pq.read_schema(pa.BufferReader(data)).names == expected


def test_compact__merges_the_files_of_a_year_with_and_without_advantages_and_points(lake: Lake) -> None:
    mixed = [*GAMES[:50], *SCORED[50:70], *FAVOURED[70:]]
    for period in as_periods(mixed):
        ingest_periods(lake, [period])
    (plain, *_), favoured = as_periods(GAMES), as_periods(mixed)[-1]
    assert (len(plain.games.advantage), len(favoured.games.advantage)) == (0, len(favoured))
    for files in ((6, 1), (1, 1)):
        assert content(lake) == expected(mixed)
        assert Dataset.open(lake, "league").kind == "games"
        assert list(verify_dataset(Dataset.open(lake, "league"))) == []
        with hold_lease(lake, dataset_folder("league"), "compact league") as lease:
            assert compact_dataset(lake, "league", lease) == files


def test_compact__merges_files_with_covariates(lake: Lake) -> None:
    first, *others = as_periods(COVARIED)
    ingest_periods(lake, [first])
    for period in others:
        ingest_periods(lake, [period])
    with hold_lease(lake, dataset_folder("league"), "compact league") as lease:
        assert compact_dataset(lake, "league", lease) == (6, 1)
    assert content(lake) == expected(COVARIED)


def test_covariates__are_those_of_all_periods(lake: Lake) -> None:
    plain, covaried = as_periods(FAVOURED), as_periods(COVARIED)
    ingest_periods(lake, covaried)
    assert Dataset.open(lake, "league").covariates == ("length", "side")
    problem = "the games of this ingest have no covariates, .* as period-1001, have the covariates length, side; give"
    with pytest.raises(LakeError, match=problem):
        ingest_periods(lake, plain[:1])
    with pytest.raises(ValueError, match="periods of one ingest must have the same covariates"):
        ingest_periods(lake, [covaried[0], *plain[1:]], "other")
    assert content(lake) == expected(COVARIED)  # nothing was ingested
    assert ingest_periods(lake, plain) == ["corrected"] * 6
    assert Dataset.open(lake, "league").covariates == ()
    assert content(lake) == expected(FAVOURED)


def test_digest__covers_covariates_and_the_first_player_with_them() -> None:
    one = Game("a", "b", 0.0, 100, covariates=(2.0, 1.0))
    told = Game("b", "a", 1.0, 100, covariates=(-2.0, -1.0))  # a covariate first = 1 is another one here
    variants = [one._replace(covariates=(2.0, 0.0)), one._replace(covariates=(-2.0, 1.0)), told]
    digests = {as_periods([game])[0].content_digest for game in (one, one._replace(covariates=None), *variants)}
    assert len(digests) == 5
    zeros = [as_periods([one._replace(covariates=(zero, 1.0))])[0].content_digest for zero in (0.0, -0.0)]
    assert zeros[0] == zeros[1]


def test_change_of_advantages__replaces_the_period(lake: Lake) -> None:
    ingest_periods(lake, as_periods(GAMES))
    changed = [*GAMES[:119], GAMES[119]._replace(advantage=35.0)]
    assert ingest_periods(lake, as_periods(changed)) == [*["unchanged"] * 5, "corrected"]
    assert content(lake) == expected(changed)
    assert ingest_periods(lake, as_periods(GAMES)) == [*["unchanged"] * 5, "corrected"]
    assert content(lake) == expected(GAMES)


@pytest.mark.quick("games0", "games5")
@pytest.mark.parametrize("games", [GAMES, FAVOURED, SCORED, PRECISE, FRACTIONAL, COVARIED])
def test_disqualification__removes_the_games_of_a_player_in_one_period(lake: Lake, games: list[Game]) -> None:
    ingest_periods(lake, as_periods(games))
    victim, period = GAMES[40].white, f"period-{GAMES[40].time_seconds // 86_400}"
    with Dataset.ingest(lake, "league") as body:
        body.disqualify(period, victim)
    left = [
        game for game in games
        if f"period-{game.time_seconds // 86_400}" != period or victim not in (game.white, game.black)
    ]  # fmt: skip
    assert len(left) < len(games)
    assert content(lake) == expected(left)
    assert list(verify_dataset(Dataset.open(lake, "league"))) == []
    with Dataset.ingest(lake, "league") as body:
        body.reinstate(period, victim)
    assert content(lake) == expected(games)


def test_alias__merges_two_players_unless_they_met(lake: Lake) -> None:
    games = [Game("a", "b", 1.0, 100), Game("c", "a", 0.5, 200, 1.0, 9.0), Game("b", "c", 0.0, 300, 1.0, 35.0)]
    ingest_periods(lake, as_periods(games))
    problem = "period period-0: in the game at 1970-01-01T00:03:20 both players"
    with pytest.raises(LakeError, match=problem), Dataset.ingest(lake, "league") as body:
        body.alias("c", "a")
    with Dataset.ingest(lake, "league") as body:
        body.alias("c", "d")
    assert [row[1:3] for row in content(lake)] == [("a", "b"), ("d", "a"), ("d", "b")]
    assert [row[-1] for row in content(lake)] == [0.0, 9.0, -35.0]
    assert list(verify_dataset(Dataset.open(lake, "league"))) == []


@pytest.mark.parametrize("column", ["player", "opponent", "score", "time_seconds", "advantage", "points", "x_side"])
def test_verify__names_a_file_with_another_game(lake: Lake, column: str) -> None:
    ingest_periods(lake, as_periods(with_points(COVARIED)))
    file = Dataset.open(lake, "league").contests.column("file")[0].as_py()
    path = f"league/standings/{file}"
    table = lake.read_table(path, "games")
    at, values = table.column_names.index(column), table.column(column).to_pylist()
    others = [value for value in set(values) if value not in (values[3], table.column("player")[3].as_py())]
    values[3] = next(value for value in others if value != table.column("opponent")[3].as_py())
    field = table.schema.field(at)
    lake.write_table(path, table.set_column(at, field, pa.array(values, field.type)), "games")
    (problem,) = verify_dataset(Dataset.open(lake, "league"))
    assert path in problem


def test_kinds__are_not_mixed(lake: Lake) -> None:
    ingest(lake, [contest("a", ["x", "y"])], "contests")
    ingest_periods(lake, as_periods(GAMES))
    with pytest.raises(LakeError, match="data set contests has contests; ingest games into another data set"):
        ingest_periods(lake, as_periods(GAMES), "contests")
    with pytest.raises(LakeError, match="data set league holds periods of games, and contest a is not a period"):
        ingest(lake, [contest("a", ["x", "y"])], "league")
    assert metadata_of(Dataset.open(lake, "contests").contests.schema).get("kind") is None
    first = as_periods(GAMES)[0]
    assert first.time_seconds == max(game.time_seconds for game in GAMES[: len(first)])
