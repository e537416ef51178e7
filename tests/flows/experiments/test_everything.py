"""All experiments in one report."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("jinja2")
from helpers.commands import Command
from helpers.folders import write_folder
from helpers.lakes import synthetic

from ranklake.flows.experiments import everything
from ranklake.flows.experiments.data import data_files
from ranklake.flows.plotting.figures import drawing, encode, new_figure, small_drawing, without_digits


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of two data sets, one of them too short for most experiments, and of a file that is none."""
    folder = tmp_path / "histories"
    folder.mkdir()
    for name, n in (("long", 40), ("short", 3)):
        lines = ["contest,player,rank,time"]
        for i, one in enumerate(synthetic(n, n_players=30, spice=False)):
            handles = one.handles.to_pylist()
            lines += [f"{i},{handle},{lo + 1},{86_400 * (i + 1)}" for handle, lo in zip(handles, one.lo, strict=True)]
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "README.md").write_text("no data set", encoding="utf-8")
    return folder


@pytest.mark.slow
def test_all__is_one_page_with_contents_and_says_what_it_leaves_out(
    invoke: Command, monkeypatch: pytest.MonkeyPatch, folder: Path, tmp_path: Path
) -> None:
    monkeypatch.setattr(everything, "NAMES", ("srm", "calibration", "all"))
    answer = invoke("experiment", "all", "--data", folder, "-o", tmp_path / "out")
    assert answer.code == 0, answer.err
    page = (tmp_path / "out" / "all.html").read_text("utf-8")
    headings = dict(re.findall(r'<h2 id="(part-\d+)">([a-z-]+): ', page))
    assert list(headings.values()) == ["srm", "calibration"]
    assert re.findall(r'<li><a href="#(part-\d+)">', page) == list(headings)
    assert "Left out: experiment srm needs at least 20 rated contests; data set short has 3." in page
    assert "http" not in re.sub(r"data:image/svg\+xml;base64,[^\"]*", "", page)
    tables = sorted(path.name for path in (tmp_path / "out").glob("*.parquet"))
    assert "all-srm-long.parquet" in tables
    assert not [name for name in tables if "short" in name]
    assert all(f"<small>{name}</small>" in page for name in tables)
    errors = pq.read_table(tmp_path / "out" / "all-srm-long.parquet").column("error").to_pylist()
    assert all(f'<td class="number">{error:.4f}</td>' in page for error in errors)


def test_all__without_data_leaves_out_what_needs_some(
    invoke: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(everything, "NAMES", ("calibration",))
    assert invoke("experiment", "all", "-o", tmp_path).code == 0
    assert "Left out: experiment calibration needs a real history." in (tmp_path / "all.html").read_text("utf-8")


def test_data_files__are_the_tables_of_a_folder_or_a_folder_of_contests(folder: Path, tmp_path: Path) -> None:
    assert [path.name for path in data_files(folder)] == ["long.csv", "short.csv"]
    contests = write_folder(tmp_path / "contests", synthetic(3, spice=False))
    assert data_files(contests) == [contests]
    assert data_files(folder / "long.csv") == [folder / "long.csv"]


@pytest.mark.slow
def test_small_drawing__takes_a_fraction_of_the_bytes_and_looks_the_same() -> None:
    def draw() -> bytes:
        figure, axes = new_figure()
        axes.plot([0.123456789, 1.0], [0.2, 3.0])
        axes.set_yticks([0.7825, 2.0], ["0.7825", "2"])
        axes.set_title("a title of letters")
        return encode(figure, "svg")

    with drawing("a test"):
        whole = draw()
        with small_drawing():
            small = without_digits(draw())
    assert len(small) < 0.6 * len(whole)
    assert b"a title of letters</text>" in small
    assert b">0.7825</text>" in small
    assert not re.search(rb"\d\.\d{3,}", small.replace(b">0.7825<", b"><"))
    assert small.count(b"<path") < whole.count(b"<path")
    assert small.rstrip().endswith(b"</svg>")
