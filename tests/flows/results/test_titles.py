"""Titles: the rule for a run's titles, files of titles, and ratings that do not depend on them."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pytest
from helpers.answers import leaderboard, player_history
from helpers.commands import Command
from helpers.lakes import contest, copy_of, files, lake_of, rate_run

from ranklake.flows.answers.rated_run import RatedRun
from ranklake.flows.common.configuration.settings import find_system
from ranklake.flows.results.display import Display
from ranklake.flows.results.rating_format import RatingFormat
from ranklake.flows.results.titles import CODEFORCES, NONE, Title, Titles, default_titles, parse_titles
from ranklake.rating_kernels.registry import of_contests
from ranklake.storage import Contest, DamagedError, Dataset, Lake, Run

LADDER = Titles("two", (Title("slow", -math.inf, "#102030"), Title("fast", 1500.0, "#ff00ff")))


def at(url: str, contest_id: str) -> Contest:
    """A contest of four players with this address."""
    made = contest(contest_id, "ada", "grace", "linus", "barbara", time_seconds=1_000_000)
    return Contest(made.contest_id, made.name, url, made.time_seconds, made.handles, made.lo, made.hi)


def lake_at(path: Path, url: str) -> Lake:
    lake = lake_of(path, [at(url, str(i)) for i in range(3)])
    rate_run(lake)
    return lake


@pytest.fixture(scope="module")
def rated_once(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return lake_at(tmp_path_factory.mktemp("rated") / "lake", "https://codeforces.com/contest/1/standings")


@pytest.fixture
def lake(tmp_path: Path, rated_once: Lake) -> Lake:
    return copy_of(rated_once, tmp_path / "lake")


@pytest.fixture
def elsewhere(tmp_path: Path) -> Lake:
    return lake_at(tmp_path / "elsewhere", "https://www.formula1.com/codeforces.com")


def titles_in(lake: Lake, **options: object) -> list[str | None]:
    found: list[str | None] = leaderboard(lake, "run", **options).column("title").to_pylist()  # type: ignore[arg-type]
    return found


# The titles of a run


def test_titles__of_codeforces_are_for_its_contests_only(lake: Lake, elsewhere: Lake) -> None:
    assert set(titles_in(lake)) <= {title.name for title in CODEFORCES.ladder}
    assert titles_in(elsewhere) == [None] * 4
    assert titles_in(elsewhere, titles=CODEFORCES) == titles_in(lake)
    assert titles_in(lake, titles=NONE) == [None] * 4


@pytest.mark.parametrize(
    ("url", "has"),
    [
        ("https://codeforces.com/contest/1/standings", True),
        ("https://m1.codeforces.com/contest/1", True),
        ("https://notcodeforces.com/contest/1", False),
        ("codeforces.com", False),  # an address without a scheme has no host
        ("", False),
    ],
)
def test_titles__the_host_of_a_contest_decides(tmp_path: Path, url: str, has: bool) -> None:
    dataset = Dataset.open(lake_of(tmp_path, [at(url, "0")]), "games")
    assert bool(default_titles(dataset, 1500.0)) is has
    assert not default_titles(dataset, 25.0)  # the scale of TrueSkill


def test_titles__stored_by_rate_apply_to_every_command(invoke: Command, lake: Lake, tmp_path: Path) -> None:
    before = files(Path(lake.url))
    digests = [segment.digests for segment in Run.open(lake, "run").segments().segments]
    ladder = tmp_path / "two.json"
    ladder.write_text(
        json.dumps([{"name": "a", "colour": "#000001"}, {"name": "b", "minimum": 1, "colour": "#000002"}])
    )
    rate = ("rate", "--run", "run", "--lake", lake.url)
    assert "kept 3 rounds rated before, rated 0" in invoke(*rate, "--titles", ladder).out
    assert titles_in(lake) == ["b"] * 4
    assert RatedRun(lake, "run").format.titles.name == "two.json"
    assert player_history(lake, "run", "ada").format.titles.ladder[1].name == "b"
    assert "b" in invoke("leaderboard", "--run", "run", "--lake", lake.url).out
    assert titles_in(lake, titles=NONE) == [None] * 4  # an option has precedence
    assert set(titles_in(lake, titles="auto")) <= {title.name for title in CODEFORCES.ladder}

    assert "kept 3 rounds" in invoke(*rate).out  # another `rate` keeps them
    assert titles_in(lake) == ["b"] * 4
    assert "kept 3 rounds" in invoke("rate", "--dataset", "games", "--run", "run", "--lake", lake.url).out
    assert titles_in(lake) == ["b"] * 4
    assert digests == [segment.digests for segment in Run.open(lake, "run").segments().segments]
    changed = {name for name, data in files(Path(lake.url)).items() if before.get(name) != data}
    assert changed == {"runs/run/run.json"}

    invoke(*rate, "--titles", "auto")
    assert files(Path(lake.url)) == before


def test_titles__an_invalid_record_is_reported_with_the_remedy(invoke: Command, lake: Lake) -> None:
    run = Run.open(lake, "run")
    path = Path(lake.url) / "runs" / "run" / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"titles": "knights"}))
    with pytest.raises(DamagedError, match=r"run\.json: titles must be codeforces or none.*'knights'.*--titles auto"):
        leaderboard(lake, run.name)
    assert invoke("rate", "--run", "run", "--titles", "auto", "--lake", lake.url).code == 0
    assert titles_in(lake)[0] is not None


# The format of ratings


def test_titles__a_rating_has_the_title_of_its_highest_minimum() -> None:
    ratings = np.array([-1e9, 1499.999, 1500.0, 9999.0])
    assert LADDER.of(ratings).to_pylist() == ["slow", "slow", "fast", "fast"]
    assert [title and title.name for title in LADDER.each(ratings)] == ["slow", "slow", "fast", "fast"]
    above = Titles("above", (LADDER.ladder[1],))
    assert above.of(ratings).to_pylist() == [None, None, "fast", "fast"]
    assert NONE.of(ratings).to_pylist() == [None] * 4
    assert [(low, high) for low, high, _ in LADDER.bands()] == [(-math.inf, 1500.0), (1500.0, math.inf)]
    assert list(NONE.bands()) == []
    assert Titles.from_json(json.loads(json.dumps(LADDER.to_json()))) == LADDER
    assert Titles.from_json(CODEFORCES.to_json()) is CODEFORCES


@pytest.mark.parametrize("system", of_contests())
def test_format__has_the_decimals_of_the_scale(lake: Lake, system: str) -> None:
    rate_run(lake, run=system, system=system, max_rounds=0)
    form = RatedRun(lake, system).format
    assert form.decimals == (2 if system == "trueskill" else 0)
    assert bool(form.titles) is (system != "trueskill")


def test_format__of_a_smaller_scale_has_more_decimals(lake: Lake, invoke: Command) -> None:
    rate_run(lake, run="small", system="trueskill", mu_init=2.5, sigma_init=0.8333, beta=0.4, tau=0.008)
    form = RatedRun(lake, "small").format
    assert (form.decimals, form.rating(1.23456), form.change(0.5), form.belief(2.0)) == (3, "1.235", "+0.500", "2.000")
    assert (RatedRun(lake, "run").format.rating(1234.5678), RatedRun(lake, "run").format.belief(1.25)) == (
        "1235",
        "1.2",
    )
    (row,) = json.loads(invoke("leaderboard", "--run", "small", "--top", 1, "--format", "json", "--lake", lake.url).out)
    text = invoke("leaderboard", "--run", "small", "--top", 1, "--lake", lake.url).out
    assert all(f" {row[name]:.3f} " in text for name in ("rating", "mu", "sigma", "max_rating"))
    assert "title" not in text


# Files


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("t.json", '[{"name": "fast", "minimum": 1500, "colour": "#FF00FF"}, {"name": "slow", "colour": "#102030"}]'),
        ("t.json", '{"titles": [{"name": "slow", "minimum": null, "colour": "#102030"}, '
                   '{"name": "fast", "minimum": 1500.0, "colour": "#ff00ff"}]}'),
        ("t.csv", "name,minimum,colour\nslow,,#102030\nfast,1500,#ff00ff\n"),
        ("t.CSV", "\ufeffcolour,name,minimum\r\n#ff00ff,fast,1.5e3\r\n#102030,slow,-inf\r\n"),
    ],
)  # fmt: skip
def test_file__of_each_format_gives_the_same_titles(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8", newline="")
    found = parse_titles(str(path))
    assert isinstance(found, Titles)
    assert (found.name, found.ladder) == (name, LADDER.ladder)


ROW = '{"name": "a", "minimum": 1, "colour": "#000000"}'


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("t.json", "[", "is not JSON"),
        ("t.json", "{}", "must have a list of titles"),
        ("t.json", "[]", "has no titles"),
        ("t.json", "[1]", "title 1: must be an object with name, minimum, colour, got 1"),
        ("t.json", f"[{ROW}, {ROW}]", "two titles have the name 'a'"),
        ("t.json", f'[{ROW}, {ROW.replace("a", "b", 2).replace("nbme", "name")}]', "two titles have the minimum 1.0"),
        ("t.json", f'[{ROW.replace("#000000", "red")}]', "'a': colour must be #rrggbb, got 'red'"),
        ("t.json", f'[{ROW.replace("1", "true")}]', "title 1: minimum must be a number, got True"),
        ("t.json", f'[{ROW.replace("1", "NaN")}]', "'a': minimum must be a number, got nan"),
        ("t.json", f'[{ROW.replace("minimum", "min")}]', "title 1: has 'min'; a title has name, minimum, colour"),
        ("t.csv", "name,minimum\na,1\n", "needs the columns name, minimum, colour; colour is missing"),
        ("t.csv", "name,minimum,colour\na,high,#000000\n", "title 1: minimum must be a number, got 'high'"),
        ("t.csv", "name,minimum,colour\n ,1,#000000\n", "a title needs a name"),
        ("t.csv", "name,minimum,colour\na,1\n", "title 1: colour must be a text, got None"),
        ("t.csv", "name,minimum,colour\na,1,#000000,7\n", "title 1: has 'more'"),
        ("t.csv", "", "needs the columns"),
        ("t.txt", "", "ends in .json or .csv"),
    ],
)  # fmt: skip
def test_file__errors_are_one_line(
    invoke: Command, lake: Lake, tmp_path: Path, name: str, text: str, says: str
) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    command = ("leaderboard", "--run", "run", "--lake", lake.url, "--titles", tmp_path / name)
    assert says in " ".join(invoke.refuses(*command, code=2).split())


@pytest.mark.parametrize("name", ["nobody.csv", "folder.csv", "bytes.csv", "knights"])
def test_file__that_cannot_be_read_is_wrong_use(invoke: Command, lake: Lake, tmp_path: Path, name: str) -> None:
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "bytes.csv").write_bytes(b"\xff\xfe\x00")
    target = name if name == "knights" else tmp_path / name
    says = invoke.refuses("rate", "--run", "run", "--lake", lake.url, "--titles", target, code=2)
    assert name in says


# Published titles


@pytest.mark.slow
def test_publish__other_titles_are_a_new_version_of_the_leaderboard_only(lake: Lake) -> None:
    pytest.importorskip("deltalake", reason="the extra publish is not installed")
    from ranklake.flows.publication.publish import publish

    publish(lake, "run")
    report = publish(lake, "run", titles=NONE)
    assert (report.tables, report.kept, report.added) == (("leaderboard", "latest.parquet"), 3, 0)
    from helpers.tables import read

    assert read(lake, "leaderboard").column("title").null_count == 4
    assert publish(lake, "run", titles=NONE).tables == ()
    assert publish(lake, "run").tables == ("leaderboard", "latest.parquet")
    assert pc.all(pc.is_valid(read(lake, "leaderboard").column("title"))).as_py()


def test_above__is_the_next_title_of_each_rating() -> None:
    names, minimum = LADDER.above(np.array([-1e9, 1499.9, 1500.0, 9000.0]))
    lower, upper = (title.name for title in LADDER.ladder)
    assert names.to_pylist() == [upper, upper, None, None]
    assert minimum[:2].tolist() == [1500.0, 1500.0]
    assert np.isnan(minimum[2:]).all()
    assert lower != upper
    names, minimum = NONE.above(np.array([1500.0]))
    assert names.to_pylist() == [None]
    assert np.isnan(minimum).all()


# The text of ratings


@pytest.mark.parametrize("decimals", [0, 1])
def test_rating__of_equal_numbers_is_one_text(decimals: int) -> None:
    form = RatingFormat(CODEFORCES, decimals)
    for numbers in ((0.0, -0.0, 0), (1500, 1500.0, np.float64(1500.0)), (-2.0, -2)):
        assert len({form.rating(number) for number in numbers}) == 1
    assert form.rating(-0.0) == f"{0:.{decimals}f}"


def test_rating__beyond_every_scale_has_three_digits() -> None:
    assert [RatingFormat(CODEFORCES, 0).rating(value) for value in (999_999_999.0, 1e9, -2.5e12)] == [
        "999999999", "1e+09", "-2.5e+12"
    ]  # fmt: skip


# Decimals


@pytest.mark.parametrize(
    ("name", "settings", "decimals"),
    [
        ("elo-mmr", {}, 0),
        ("elo-mmr", {"sigma_init": 35.0}, 1),
        ("trueskill", {}, 2),
        ("elo", {}, 0),
        ("elo", {"mu_init": 15.0}, 2),
        ("elo", {"mu_init": -0.5}, 4),
        ("elo", {"mu_init": 0.0}, 0),
    ],
)
def test_decimals__are_three_digits_of_sigma_or_four_of_mu(name: str, settings: dict[str, Any], decimals: int) -> None:
    system = find_system(name)
    assert Display(system, system.params(**settings), system.deviations).decimals == decimals
