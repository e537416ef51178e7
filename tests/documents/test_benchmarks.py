"""The benchmark programs: counted units, recorded figures, and every row with tiny histories."""

from __future__ import annotations

import gc
import importlib
import inspect
import json
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from helpers.data import SHARED
from helpers.documents import page
from helpers.rounds import N_PLAYERS, season

from ranklake.flows.engines.serial import Serial
from ranklake.flows.execution.rounds import rate_rounds
from ranklake.rating_kernels import SYSTEMS, Rounds
from ranklake.rating_kernels.fields.field import accumulate
from ranklake.rating_kernels.fields.panels import NODES, plan_panels

FOLDER = Path(__file__).parents[1] / "benchmarks"
README = (FOLDER / "README.md").read_text("utf-8")
ROWS = re.findall(r"^\| `(\S+)` \|", README.partition("\n## Rows\n")[2], re.MULTILINE)

Load = Callable[[str], Any]


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> Iterator[Load]:
    """A function that imports a module of the benchmarks."""
    monkeypatch.syspath_prepend(str(FOLDER))
    yield importlib.import_module
    gc.unfreeze()  # of best_of


class Asked(Exception):
    """A row read an option that makes it smaller."""


class Undecided:
    """Options that are read by a row before it measures anything."""

    games, exact = 10, False

    def __getattr__(self, name: str) -> Any:
        raise Asked(name)


class Additions:
    """Partial sums that count the numbers added to them."""

    def __init__(self) -> None:
        self.n = 0

    def __getitem__(self, key: Any) -> float:
        return 0.0

    def __setitem__(self, key: Any, value: float) -> None:
        self.n += 1


@pytest.mark.parametrize("rates", [(1.0, 1.0), (0.01, 1.0), (1e-4, 3.0)])
def test_profile__counts_the_nodes_to_which_a_term_is_added(program: Load, rates: tuple[float, float]) -> None:
    draw = np.random.default_rng(3)
    n = 40
    mu, rate = draw.normal(0.0, 100.0, n), np.exp(draw.uniform(*np.log(rates), n))
    plan = plan_panels(float(mu.min()), float(mu.max()), 0.0, float(rate.max()), float(rate.min()))
    sums, (_, far) = Additions(), plan.partial_sums(1)
    arguments = mu, rate, np.ones(n), 0, n, plan
    accumulate.py_func(*arguments, sums, far[0])
    names = inspect.signature(accumulate.py_func).parameters
    assert program("phases").count_nodes(dict(zip(names, (*arguments, sums, far[0]), strict=True))) == sums.n
    assert sums.n % NODES == 0


def test_profile__counts_the_units_of_the_rounds(program: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    large, small, n = 3, 4, 1100
    order = np.random.default_rng(7)
    sizes = [n] * large + [5] * small
    player = np.concatenate([order.permutation(n)[:size] for size in sizes])
    places = np.concatenate([np.arange(size) for size in sizes])
    rounds = Rounds.from_columns(np.cumsum([0, *sizes]), player, places, places)
    history = program("history").History(rounds, pa.array([str(i) for i in range(n)]))
    phases, options = program("phases"), program("timing").Options(FOLDER)
    monkeypatch.setattr(phases, "load", lambda path, limit: history)
    monkeypatch.setattr(type(options), "file", lambda self, name: FOLDER)
    figures = {result.case: result.figures for result in phases.profile(options) if "units" in result.figures}
    units = {phase: one["units"] for phase, one in figures.items()}
    assert units["diffuse"] == units["roots"] == large * n  # no ties
    assert units["absorb"] == n * (1 + 2 + 3)  # all histories grow by one factor a round
    assert units["small rounds, all steps"] == small * 5
    assert units["build"] % NODES == 0
    assert large * n * NODES <= units["build"] <= large * n * NODES * 100
    assert all(0.01 < one["ns_per_unit"] < 1e6 for one in figures.values())
    assert sum(one["share"] for one in figures.values()) < 1.0


def test_places__contain_the_true_ones_as_often_as_the_page_says(program: Load) -> None:
    found = program("places").coverage(2_000, 60)
    assert found["separated"] >= 0.99
    assert 0.93 <= found["own"] <= 0.97
    assert 0.93 <= found["difference"] <= 0.97
    shown = page("places").partition("| mean width |")[2]
    for rule in ("separated", "own"):
        assert re.search(rf"`{rule}` \| of {found[rule]:.1%}".replace("%", " %"), shown)
        assert f"| {found[f'width of {rule}']:.1%}".replace("%", " %") in shown
    assert f"| {found['difference']:.1%} of pairs".replace("%", " %") in shown


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_places__contain_the_true_ones_of_any_seed(program: Load, seed: int) -> None:
    found = program("places").coverage(2_000, 60, seed)
    assert found["separated"] >= 0.99
    assert 0.93 <= found["own"] <= 0.97
    assert 0.93 <= found["difference"] <= 0.97


def test_profile_lake__counts_a_call_without_the_calls_inside(program: Load) -> None:
    clock = 0.0

    def spend(seconds: float) -> None:
        nonlocal clock
        clock += seconds

    layers = program("layers").Layers(clock=lambda: clock)
    write = layers.timed("writing", lambda: spend(1.0))
    encode = layers.timed("encoding", lambda: [spend(2.0), write(), spend(4.0)])
    append = layers.timed("commits", lambda: [encode(), spend(8.0), write(), spend(16.0)])
    append()
    write()
    with pytest.raises(ZeroDivisionError):
        layers.timed("encoding", lambda: [spend(32.0), 1 / 0])()
    append()
    assert layers.seconds == {"writing": 5.0, "encoding": 44.0, "commits": 48.0}
    assert layers.calls == {"writing": 5, "encoding": 3, "commits": 2}


def test_run__has_the_documented_rows(program: Load) -> None:
    assert sorted(ROWS) == sorted(program("run").ROWS)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("waits", "cpu", "calls"),
    [
        ([0.0], 0.001, 50),  # milliseconds
        ([0.0], 0.03, 4),
        ([0.6, 0.0], 0.03, 4),  # another process ran in the meantime
        ([0.6], 0.001, 2),  # the work is done by other processes
        ([0.0], 0.2, 2),
    ],
)
def test_best_of__repeats_short_calls(
    program: Load, monkeypatch: pytest.MonkeyPatch, waits: list[float], cpu: float, calls: int
) -> None:
    timing, wall, spent = program("timing"), 0.0, 0.0
    done: list[int] = []

    def work(_: object) -> int:
        nonlocal wall, spent
        wall, spent = wall + cpu + waits[len(done) % len(waits)], spent + cpu
        done.append(len(done))
        return len(done)

    clocks = SimpleNamespace(perf_counter=lambda: wall, process_time=lambda: spent)
    monkeypatch.setattr(timing, "time", clocks)
    best, last = timing.best_of(2, work)
    assert len(done) == last == calls == len(best.values) == len(best.cpu_values)
    assert best == min(best.values)
    assert best.cpu_values == pytest.approx([cpu] * calls)


@pytest.mark.parametrize("name", ROWS)
def test_run__asks_whether_a_row_is_small_before_it_measures(program: Load, name: str) -> None:
    try:
        with pytest.raises(Asked):
            next(program("run").row(name)(Undecided()))
    except program("timing").SkippedRow as why:
        pytest.skip(str(why))


def test_run__appends_a_line_for_each_figure(
    program: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run, timing = program("run"), program("timing")

    def row(options: Any) -> Iterator[Any]:
        times = timing.Best([3.0, 1.0, 2.0, 6.0], [5.0, 4.0])
        yield timing.Result("row", "first", times, 8.0, figures={"peak_bytes": 7.0, "drift": np.inf}, case="a")
        yield timing.Result("row", "second", case="b", figures={"ms_a_round": 0.5})

    monkeypatch.setattr(run, "ROWS", {"row": ""})
    monkeypatch.setattr(run, "row", lambda name: row)
    file = tmp_path / "history.jsonl"
    for turn in range(2):
        assert run.main(["row", "--json", str(file), "--commit", f"c{turn}"]) == 0
    assert "8.0x" in capsys.readouterr().out
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [line["commit"] for line in lines] == ["c0"] * 5 + ["c1"] * 5
    assert [tuple(line[k] for k in ("case", "figure", "unit", "minimum", "median", "n")) for line in lines[:5]] == [
        ("a", "seconds", "s", 1.0, 2.5, 4), ("a", "peer_seconds", "s", 8.0, 8.0, 1),
        ("a", "cpu_seconds", "s", 4.0, 4.5, 2), ("a", "peak_bytes", "bytes", 7.0, 7.0, 1),
        ("b", "ms_a_round", "ms", 0.5, 0.5, 1),
    ]  # fmt: skip
    assert all(line["row"] == "row" and line["machine"]["cores"] >= 1 and not line["quick"] for line in lines)
    with pytest.raises(ValueError, match="two figures seconds of the case 'a'"):
        program("records").records([*row(None), *row(None)], timing.Options(FOLDER))


def test_run__records_the_commit_of_the_package(program: Load) -> None:
    timing = program("timing")
    (line,) = program("records").records([timing.Result("row", "", 1.0)], timing.Options(FOLDER))
    assert line["commit"] is None or re.fullmatch("[0-9a-f]{40}", line["commit"])


@pytest.mark.parametrize(("file", "n"), [("elo-datasets/reddit.tar.xz", 5), ("f1_races.parquet", 4)])
def test_excerpt__has_the_first_contests(program: Load, tmp_path: Path, file: str, n: int) -> None:
    if not (SHARED / file).exists():
        pytest.skip(f"the real data are not here: ../shared/data/{file} is missing")
    load = program("history").load
    columns = ("contest=contest_id",) if file.endswith(".parquet") else ()
    whole = load(SHARED / file, n, columns)
    short = load(program("excerpts").excerpt(SHARED / file, tmp_path / file, n), None, columns)
    assert n - 1 <= len(short.rounds) <= n  # a damaged contest is skipped
    assert short.handles.equals(whole.handles[: len(short.handles)])
    assert np.array_equal(short.rounds.player, whole.rounds.player[: short.rounds.n_rows])


@pytest.mark.slow
@pytest.mark.parametrize("name", ROWS)
def test_run__measures_every_row_of_tiny_histories(program: Load, tmp_path: Path, name: str) -> None:
    run, file = program("run"), tmp_path / "history.jsonl"
    assert run.main([name, "--quick", "--limit", "20", "--data", str(SHARED), "--json", str(file)]) == 0
    if not (lines := file.read_text().splitlines()):
        pytest.skip("the row was skipped: no data or no program")
    assert {json.loads(line)["row"] for line in lines} == {name}


@pytest.mark.slow
@pytest.mark.parametrize(("law", "system", "settings"), [(0, "elo-mmr", {"rho": math.inf}), (1, "elo-mmx", {})])
def test_laws__rate_like_the_systems_that_have_them(program: Load, law: int, system: str, settings: Any) -> None:
    laws, rounds, one = program("laws"), season((9, 70, 2, 90, 33, 61) * 4), SYSTEMS[system]
    rounds = replace(rounds, precision=np.ones(len(rounds)))
    mu, n_before = np.empty(rounds.n_rows), np.empty(rounds.n_rows, np.int32)
    laws._rate(rounds.offsets, rounds.player, rounds.lo, rounds.weight, N_PLAYERS, law, 80.0, mu, n_before)
    params = one.params(**settings)
    outcome = rate_rounds(one, params, one.newcomers(params, N_PLAYERS), rounds, Serial())
    assert np.array_equal(n_before, outcome.n_before)
    assert np.ptp(outcome.mu_prior) > 500.0
    assert mu == pytest.approx(outcome.mu_prior, abs=0.02)


@pytest.mark.slow
def test_laws__are_the_slopes_of_their_distributions(program: Load) -> None:
    """A loss has the slope of ln(1 - F), a win that of ln F, a tie that of ln f; all fall, l < d < v."""
    laws, z, h = program("laws"), np.linspace(-2.0, 2.0, 25), 1e-5
    below = {
        "logistic": lambda x: 1.0 / (1.0 + math.exp(-x)),
        "normal": lambda x: 0.5 * math.erfc(-x / math.sqrt(2.0)),
        "gumbel": lambda x: math.exp(-math.exp(-x)),
        "mirrored": lambda x: -math.expm1(-math.exp(x)),
    }
    for name, law in laws.LAWS.items():
        loss, win, tie = np.array([laws._terms(law, x) for x in z]).T
        assert (loss < tie).all(), name
        assert (tie < win).all(), name
        assert all((np.diff(one) < 0.0).all() for one in (loss, win, tie)), name
        low, mid, high = (np.array([below[name](x + step) for x in z]) for step in (-h, 0.0, h))
        density = (high - low) / (2 * h)
        assert win == pytest.approx(density / mid, rel=1e-6, abs=1e-7), name
        assert loss == pytest.approx(-density / (1.0 - mid), rel=1e-6, abs=1e-7), name
        wider = 1e-3
        slope = [below[name](x + wider) - 2 * below[name](x) + below[name](x - wider) for x in z]
        assert tie == pytest.approx(np.array(slope) / wider**2 / density, rel=1e-4, abs=1e-4), name


def test_cluster_model__a_relay_needs_no_more_time_for_each_further_worker(program: Load) -> None:
    model, n_bytes, chunk = program("cluster_model"), 20e6, 1e-3
    one, ten, many = (model.relay_seconds(n_bytes, workers, chunk) for workers in (1, 10, 1000))
    on_links = n_bytes / model.LINK
    assert on_links < one < ten < many
    sent_twice = 20 * 3 * chunk  # each worker but the leaves receives every chunk and sends it to two others
    assert many < sent_twice + 10 * 2 * (3 * chunk + (1 << 20) / model.LINK + model.LATENCY)  # and ten levels
    assert model.copies_seconds(n_bytes, 1000, chunk) > 1000 * on_links


@pytest.mark.slow
def test_cluster_designs__exact_sums_have_the_same_bits_in_any_order(program: Load) -> None:
    designs, draw = program("cluster_designs"), np.random.default_rng(3)
    terms = draw.random((1000, 5)) * np.exp(-draw.exponential(5.0, (1000, 1)))
    found = []
    for order in (np.arange(1000), draw.permutation(1000)):
        high, low = np.zeros(5, dtype=np.int64), np.zeros(5, dtype=np.int64)
        designs.add_exact(terms[order], 1000, high, low)
        found.append([*high.tolist(), *low.tolist()])
        exact = [sum(map(Fraction, column)) for column in terms.T.tolist()]
        sums = [Fraction(h, 1 << 40) + Fraction(s, 1 << 80) for h, s in zip(high.tolist(), low.tolist(), strict=True)]
        assert all(0 <= e - s < Fraction(1000, 1 << 80) for e, s in zip(exact, sums, strict=True))
    assert found[0] == found[1]


def test_cluster_designs__only_the_way_of_the_field_differs(program: Load) -> None:
    model, designs = program("cluster_model"), program("cluster_designs")
    costs = model.Costs(*[1e-9] * 3, 20.0, 1.0, *[10.0] * 2, 1e-3, 1e-3)
    relay = model.round_seconds(costs, 10**6, 100, relayed=True)
    gathered, summed = (
        designs.gathered_seconds(costs, 10**6, 100, relay),
        designs.accumulated_seconds(costs, 10**6, 100, 0.0, relay),
    )
    assert {name for name in relay if gathered[name] != relay[name]} == {"to all"}
    assert {name for name in relay if summed[name] != relay[name]} == {"to all", "workers, all of the field"}
    assert summed["to all"] < gathered["to all"] < relay["to all"]
    larger = designs.accumulated_seconds(costs, 2 * 10**6, 100, 0.0, relay)
    assert larger["to all"] == summed["to all"]  # sums do not grow with the field


def test_cluster_model__on_slow_links_the_bytes_through_the_busiest_take_the_time(program: Load) -> None:
    model, n_bytes, link = program("cluster_model"), 20e6, 1e6
    relayed = [model.relay_seconds(n_bytes, workers, 1e-3, link) for workers in (1, 2, 7, 1000)]
    assert relayed[:2] == pytest.approx([20.0, 21.0], abs=0.2)  # the last chunk passes one link more
    assert 40.0 < relayed[2] < relayed[3] < 70.0  # each worker sends to two others
    assert model.copies_seconds(n_bytes, 7, 1e-3, link) == pytest.approx(140.0, abs=0.1)
