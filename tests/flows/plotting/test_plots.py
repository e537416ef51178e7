"""Figures of runs: they show the values of the tables, and accept any name."""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from helpers.commands import Command
from helpers.lakes import contest, copy_of, ingest, lake_of, rate_run, rated, synthetic

pytest.importorskip("matplotlib")

from helpers.answers import leaderboard, player_history

from ranklake.flows.engines.serial import Serial
from ranklake.flows.plotting import figures
from ranklake.flows.plotting.figures import SERIES, drawing, encode, legible, new_figure
from ranklake.flows.plotting.plots import places_figure, players_figure
from ranklake.flows.plotting.quantiles import MOMENTS, QUANTILES, distribution_figure, quantiles_over_time
from ranklake.flows.results.places import PlaceOptions
from ranklake.flows.results.ranks import in_tiers
from ranklake.flows.smoothing.smooth import smooth_run
from ranklake.rating_kernels.registry import of_contests
from ranklake.storage import Contest, Lake
from ranklake.storage.lake.remedies import install_extra

DAY = 86_400
HOSTILE = [
    "$x^2$",
    "$\\frac{1}{0}",
    "{\\bf}%&#_^~",
    "a\u202egnp.exe",
    "tab\tnew\nline\r\0\x1b[31m",
    "x" * 5000,
    "名前 имя اسم 🦊",
    "\ud83e" + "half",
    "\u0301\u0301\u0301combining",
    "_hidden from legends",
    " ",
    "<script>alert(1)</script>&amp;]]>",
]


@pytest.fixture
def look() -> Iterator[None]:
    with drawing("a test"):
        yield


@pytest.fixture(scope="module")
def rated_once(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    lake = lake_of(tmp_path_factory.mktemp("rated") / "lake", synthetic(60))
    rate_run(lake)
    return lake


@pytest.fixture
def lake(tmp_path: Path, rated_once: Lake) -> Lake:
    """A lake with a rated run ``run`` of ``games``."""
    return copy_of(rated_once, tmp_path / "lake")


def size_of(png: bytes) -> tuple[int, int]:
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", png[16:24])
    return width, height


@pytest.mark.usefixtures("look")
def test_player__line_has_the_stored_ratings(lake: Lake) -> None:
    history = player_history(lake, "run", "player 3")
    figure = players_figure([history], "run")
    (axes,) = figure.axes
    (line,) = axes.lines
    assert np.array_equal(line.get_ydata(), history.rows.column("rating").to_numpy())
    dots, band = axes.collections[-1], axes.collections[0]
    assert len(dots.get_offsets()) == history.rows.num_rows
    mu, sigma = (history.rows.column(name).to_numpy() for name in ("mu", "sigma"))
    edge = band.get_paths()[0].vertices[:, 1]
    assert (edge.min(), edge.max()) == ((mu - 2 * sigma).min(), (mu + 2 * sigma).max())
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["rating", "mu ± 2 sigma", "performance"]
    low, high = axes.get_ylim()
    assert low < edge.min() < edge.max() < high
    assert size_of(encode(figure, "png")) == (1200, 675)


@pytest.mark.usefixtures("look")
def test_players__have_a_line_and_a_name_each(lake: Lake) -> None:
    names = ["player 3", "player 5", "player 8"]
    figure = players_figure([player_history(lake, "run", name) for name in names], "run")
    (axes,) = figure.axes
    assert [text.get_text() for text in axes.get_legend().get_texts()] == names
    assert [line.get_color() for line in axes.lines] == list(SERIES[:3])


@pytest.mark.usefixtures("look")
def test_player__of_a_smoothed_run_has_both_curves_with_their_bands(lake: Lake) -> None:
    smooth_run(lake, "run", Serial())
    history = player_history(lake, "run", "player 3", smoothed=True)
    [file] = Path(lake.uri("runs/run/smoothing")).glob("smoothed-*.parquet")
    stored = pq.read_table(file)
    stored = stored.filter(pc.equal(stored.column("player"), history.rows.column("player")[0]))
    (axes,) = players_figure([history], "run").axes
    rating, smooth = axes.lines
    assert np.array_equal(rating.get_ydata(), history.rows.column("rating").to_numpy())
    assert np.array_equal(smooth.get_ydata(), stored.column("smooth_mu").to_numpy())
    assert smooth.get_color() != rating.get_color()
    mu, sigma = (stored.column(name).to_numpy() for name in ("smooth_mu", "smooth_sigma"))
    edge = axes.collections[1].get_paths()[0].vertices[:, 1]
    assert (edge.min(), edge.max()) == ((mu - 2 * sigma).min(), (mu + 2 * sigma).max())
    labels = ["rating", "mu ± 2 sigma", "smoothed mu", "smoothed mu ± 2 sigma", "performance"]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == labels
    names = ["player 3", "player 5"]
    figure = players_figure([player_history(lake, "run", name, smoothed=True) for name in names], "run")
    (axes,) = figure.axes
    assert [line.get_color() for line in axes.lines] == [SERIES[0], SERIES[0], SERIES[1], SERIES[1]]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == names


def test_player__has_smoothed_skills_only_if_they_are_current(lake: Lake) -> None:
    smooth_run(lake, "run", Serial())
    assert "smooth_mu" not in player_history(lake, "run", "player 3").rows.column_names
    rate_run(lake, run="other")
    assert "smooth_mu" not in player_history(lake, "other", "player 3", smoothed=True).rows.column_names
    ingest(lake, synthetic(62)[60:])
    rate_run(lake)
    assert "smooth_mu" not in player_history(lake, "run", "player 3", smoothed=True).rows.column_names


@pytest.mark.slow
@pytest.mark.usefixtures("look")
@pytest.mark.parametrize("system", of_contests())
def test_figures__of_every_system_are_drawn(system: str, tmp_path: Path) -> None:
    lake = lake_of(tmp_path, synthetic(25, spice=False))
    rate_run(lake, system=system)
    for figure in (players_figure([player_history(lake, "run", "player 3")], "run"), distribution_figure(lake, "run")):
        root = ElementTree.fromstring(encode(figure, "svg"))
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert all(axes.has_data() for axes in figure.axes)


@pytest.mark.slow
@pytest.mark.usefixtures("look")
def test_figure__has_the_same_bytes_every_time(lake: Lake) -> None:
    for form in ("svg", "png", "pdf"):
        one, other = (encode(players_figure([player_history(lake, "run", "player 1")], "run"), form) for _ in range(2))
        assert one == other


@pytest.mark.quick("svg")
@pytest.mark.usefixtures("look")
@pytest.mark.parametrize("form", ["png", "svg"])
def test_figure__survives_hostile_names(form: str) -> None:
    """A missing glyph would be a warning, and warnings are errors. Labels keep inside their space."""
    figure, axes = new_figure()
    for i, name in enumerate(HOSTILE):
        axes.plot([0, 1], [i, i], label=legible(name))
    axes.set_title(legible(HOSTILE[5]))
    axes.legend(loc="best")  # without it, a slow machine would add a warning
    shown = [text.get_text() for text in axes.get_legend().get_texts()]
    assert len(encode(figure, form)) > 10_000
    assert len(shown) == len(HOSTILE)
    assert "$x^2$" in shown
    assert any("\\u202e" in name for name in shown)
    assert not any(set(name) & set("\t\n\r\0\x1b\u202e") for name in shown)
    assert max(map(len, shown)) < 120


@pytest.mark.bound("ranklake.flows.plotting.figures._LONGEST")
def test_legible__keeps_ordinary_names() -> None:
    for name in ("tourist", "Um_nik", "Ünïcödé Näme", "имя", "a b", "[red]", "x" * 32):
        assert legible(name) == name
    assert legible("y" * 33) == "y" * 31 + "…"


@pytest.mark.slow
@pytest.mark.usefixtures("look")
def test_players__of_hostile_names_are_drawn_from_a_lake(tmp_path: Path) -> None:
    names = [name for name in HOSTILE if "\ud83e" not in name and name != " "]
    lake = lake_of(
        tmp_path, [contest("1", *names, time_seconds=DAY), contest("2", *reversed(names), time_seconds=DAY * 9)]
    )
    rate_run(lake)
    figure = players_figure([player_history(lake, "run", name) for name in names[:10]], "run")
    assert len(figure.axes[0].get_legend().get_texts()) == 10
    ElementTree.fromstring(encode(figure, "svg"))


@pytest.mark.usefixtures("look")
@pytest.mark.parametrize("time", [0, -(10**13), 10**14])
def test_player__without_usable_times_is_drawn_by_rounds(time: int, tmp_path: Path) -> None:
    lake = lake_of(tmp_path, [contest(str(i), "a", "b", time_seconds=time) for i in range(3)])
    rate_run(lake)
    (axes,) = players_figure([player_history(lake, "run", "a")], "run").axes
    assert axes.get_xlabel() == "round"
    assert list(axes.lines[0].get_xdata()) == [0, 1, 2]
    (left, _) = distribution_figure(lake, "run").axes
    assert left.get_xlabel() == "round"


def test_distribution__at_the_end_is_that_of_the_leaderboard(lake: Lake) -> None:
    """All of ``synthetic`` happens within a year, so that all players count."""
    table, board = quantiles_over_time(lake, "run")[0], leaderboard(lake, "run")
    last = table.slice(table.num_rows - 1).to_pylist()[0]
    assert table.schema.field("round_index").type == pa.int32()
    expected = np.quantile(board.column("rating").to_numpy(), QUANTILES)
    assert [last[name] for name in ("q05", "q25", "q50", "q75", "q95", "q99")] == expected.tolist()
    assert last["players"] == board.num_rows
    assert last["round_index"] == 59


@pytest.mark.usefixtures("look")
def test_places__have_the_bounds_of_the_skills_and_the_intervals(lake: Lake) -> None:
    board, options = in_tiers(leaderboard(lake, "run")).slice(0, 8), PlaceOptions()
    (axes,) = places_figure(board, options, 1.0, "run").axes
    (bounds,) = axes.collections
    mu, sigma = (board.column(name).to_numpy() for name in ("mu", "sigma"))
    assert [ends[:, 0].tolist() for ends in bounds.get_segments()] == [
        [one - 1.96 * wide, one + 1.96 * wide] for one, wide in zip(mu.tolist(), sigma.tolist(), strict=True)
    ]
    first = board.slice(0, 1).to_pylist()[0]
    assert axes.get_yticklabels()[0].get_text() == f"{first['handle']}  1-{first['place_low']}"
    assert axes.get_title(loc="left") == "places by skill in run: separated 95%"


def test_distribution__counts_players_of_the_year_before(tmp_path: Path) -> None:
    def at(days: int, *names: str) -> Contest:
        return contest(f"day {days}", *names, time_seconds=10**9 + days * DAY)

    lake = lake_of(tmp_path, [at(0, "a", "b", "c"), at(100, "a", "b"), at(400, "b", "d"), at(1000, "d", "e")])
    rate_run(lake)
    rows = quantiles_over_time(lake, "run")[0].to_pylist()
    assert [row["players"] for row in rows] == [3, 3, 3, 2]
    assert [row["round_index"] for row in rows] == [0, 1, 2, 3]
    assert rows[2]["time_seconds"] == 10**9 + 400 * DAY
    on_record = rated(lake)["mu"]
    assert len(on_record) == 9


@pytest.mark.parametrize("n_rounds", [1, 2, 300])
def test_distribution__has_a_limited_number_of_rows(n_rounds: int, tmp_path: Path) -> None:
    lake = lake_of(tmp_path, synthetic(n_rounds, spice=False))
    rate_run(lake)
    table = quantiles_over_time(lake, "run")[0]
    assert 1 <= table.num_rows <= MOMENTS + 1
    assert table.column("round_index").to_pylist()[-1] == n_rounds - 1
    assert table.column("q25").to_numpy()[-1] <= table.column("q75").to_numpy()[-1]


@pytest.mark.slow
def test_command__writes_the_requested_figure(invoke: Command, lake: Lake, tmp_path: Path) -> None:
    there = ("--run", "run", "--lake", tmp_path / "lake", "-o")
    assert invoke("plot", "player", "player 1", "player 2", *there, tmp_path / "two.png").code == 0
    assert size_of((tmp_path / "two.png").read_bytes()) == (1200, 675)
    assert invoke("plot", "distribution", *there, tmp_path / "all.svg").code == 0
    ElementTree.parse(tmp_path / "all.svg")
    report = invoke("plot", "player", "player 1", "player 1", *there, tmp_path / "one.PDF")
    assert report.out.startswith("wrote ")
    assert (tmp_path / "one.PDF").read_bytes().startswith(b"%PDF")


@pytest.mark.slow
def test_command__keeps_the_users_matplotlib_settings(invoke: Command, lake: Lake, tmp_path: Path) -> None:
    import matplotlib

    before = dict(matplotlib.rcParams)
    assert (
        invoke("plot", "distribution", "--run", "run", "--lake", tmp_path / "lake", "-o", tmp_path / "x.png").code == 0
    )
    assert dict(matplotlib.rcParams) == before


WRONG = [
    (["player", "player 1", "-o", "x.gif"], 2, "a figure's file must end in .png, .svg, .pdf, got 'x.gif'"),
    (["distribution", "-o", "x"], 2, "must end in .png"),
    (["player", "player 1", "-o", "no/such/folder/x.png"], 2, "there is no folder 'no/such/folder' for x.png"),
    (["player", *map(str, range(11)), "-o", "x.png"], 2, "room for 10 players, got 11"),
    (["places", "--top", "101", "-o", "x.png"], 2, "room for 100 players, got --top 101"),
    (["places", "--min-rounds", "999", "-o", "x.png"], 1, "run run has no ranked player: all are provisional"),
    (["places", "--interval", "2", "-o", "x.png"], 2, "--interval must be > 0 and < 1, got 2.0"),
    (["player", "Player 1", "-o", "x.png"], 1, "there is 'player 1'"),
    (["player", "player 1", "--run", "../x", "-o", "x.png"], 2, "run"),
    (["distribution", "--run", "other", "-o", "x.png"], 1, "no run 'other' in"),
]


@pytest.mark.bound("ranklake.flows.plotting.plots.MOST_PLAYERS")
@pytest.mark.bound("ranklake.flows.plotting.plots.MOST_PLACES")
@pytest.mark.parametrize(("arguments", "code", "report"), WRONG)
def test_command__reports_errors(
    invoke: Command, lake: Lake, tmp_path: Path, arguments: list[str], code: int, report: str
) -> None:
    run = [] if "--run" in arguments else ["--run", "run"]
    assert report in invoke.refuses("plot", *arguments, *run, "--lake", tmp_path / "lake", code=code)


def test_command__without_matplotlib_names_the_package(
    invoke: Command, lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    there = ("--run", "run", "--lake", tmp_path / "lake", "-o", tmp_path / "x.png")
    report = invoke.refuses("plot", "distribution", *there)
    assert report == f"drawing needs the package matplotlib: {install_extra('report')}"
    assert not (tmp_path / "x.png").exists()


def test_fonts__of_missing_letters_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "_characters", lambda: frozenset("abc"))
    with figures.drawing("a test") as undrawn:
        assert legible("abc") == "abc"
        assert figures.font_line(undrawn) == ""
        assert legible("c선\u202e") == "c\\uc120\\u202e"
    assert "1 letter" in (line := figures.font_line(undrawn - set("\\u0123456789abcdefx")))
    assert "install fonts-noto-cjk (" in line
    assert "install fonts-noto-core and fonts-symbola (" in figures.font_line("გ🏆")


def test_players_figure__marks_seasons_and_breaks_lines_at_resets(tmp_path: Path) -> None:
    from helpers.lakes import contest

    from ranklake.flows.answers.rated_run import RatedRun
    from ranklake.flows.events.start import season_event
    from ranklake.storage import Dataset

    lake = lake_of(tmp_path / "lake", [contest(str(i), "ann", "bob", time_seconds=i * 86_400) for i in range(1, 7)])
    with Dataset.ingest(lake, "games") as body:
        for name, day, keep in (("a$b", 3, 0.5), ("named", 5, 1.0), ("later", 30, 0.5)):
            body.start_season(season_event(name, day * 86_400, keep=keep))
    rate_run(lake)
    seasons = RatedRun(lake, "run").seasons()
    (axes,) = players_figure([player_history(lake, "run", "ann")], "run", seasons).axes
    (line,) = [one for one in axes.lines if one.get_label() == "rating"]
    assert np.flatnonzero(np.isnan(line.get_ydata())).tolist() == [2]
    assert len(line.get_ydata()) == 7
    starts = [one.get_xdata()[0] for one in axes.lines if one.get_linestyle() == ":"]
    assert [start - line.get_xdata(orig=False)[0] for start in starts] == [2.0, 4.0]
    assert len(axes.texts) >= 2
