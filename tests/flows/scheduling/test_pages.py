"""Pages about contests and runs: a Markdown parser reads names unchanged, and no markup from them."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.lakes import contest, lake_of, rate_run
from helpers.markdown import MARKUP, read, texts
from helpers.strategies import repeatable
from hypothesis import given
from hypothesis import strategies as st

from ranklake.flows.common.text import LONGEST_CELL
from ranklake.flows.common.text import markdown as escape
from ranklake.flows.common.text import visible as plain
from ranklake.flows.ingestion.report import SourceReport
from ranklake.flows.publication.publish import publish
from ranklake.flows.scheduling.notices import MOST, best, ingested_page, place, run_page
from ranklake.storage import Lake

HOSTILE = (
    "<script>alert(1)</script>",
    "[x](javascript:alert)",
    "![x](http://evil.example/pixel.png)",
    "**b** _i_ ~~s~~ `c`",
    "a | b || c",
    "\\| \\\\",
    "http://evil.example www.evil.example me@evil.example",
    "&lt;b&gt; &#60;",
    "# head",
    "- item",
    "1. item",
    "> quote",
    "---",
    "line\nbreak\r\n\n# head",
    "<!-- comment",
    "$x^2$ {{ name }} :cat:",
    "\x00\x1b[31mred\u202eback\ud800",  # cannot be stored, because of the unpaired surrogate
)


@pytest.mark.parametrize("name", HOSTILE)
def test_escape__a_name_is_read_unchanged(name: str) -> None:
    page = f"| {escape(name)} | x |\n| --- | --- |\n| {escape(name)} | y |"
    assert texts(page) == [plain(name), "x", plain(name), "y"]


@repeatable(300)
@given(st.text(st.characters() | st.sampled_from("|\\`*_<>[]()!&#~:.-+ ")))
def test_escape__any_text_is_read_unchanged(name: str) -> None:
    found = [part for part in read(f"x{escape(name)}x") if part.type not in ("paragraph_open", "paragraph_close")]
    assert {part.type for part in found} <= {"inline", "text"}
    assert texts(f"x{escape(name)}x") == [f"x{plain(name)}x"]


def test_pages__have_no_markup_from_names(tmp_path: Path) -> None:
    lake = lake_of(tmp_path / "a (b) lake", [contest("0", *HOSTILE[:-1], "café"), contest("1", *HOSTILE[4:10])])
    rate_run(lake)
    publish(lake, "run")
    page = run_page(lake, "run", [f"kept 0 rounds (round 0, contest {HOSTILE[0]}, changed)"], best(lake, "run"))
    kinds = [token.type for token in read(page)]
    assert not set(kinds) & MARKUP
    assert {plain(name) for name in HOSTILE[:-1]} <= set(texts(page))
    assert f"The run: {lake.uri('runs/run')}" in texts(page)
    assert f"Its published tables: {lake.uri('published/run')}" in texts(page)


def test_pages__list_the_players_with_a_place(tmp_path: Path) -> None:
    lake = lake_of(tmp_path, [contest("0", "ada", "bob", "cid"), contest("1", "cid", "ada")])
    rate_run(lake, system="elo")
    everybody = best(lake, "run")
    publish(lake, "run", places={"min_rounds": 2})
    assert best(lake, "run")["handle"].to_pylist() == [
        name for name in everybody["handle"].to_pylist() if name != "bob"
    ]
    assert not {"bob", "None"} & set(texts(run_page(lake, "run", [], best(lake, "run"))))


def test_pages__link_to_a_run_in_an_object_store() -> None:
    page = place(Lake.open("memory://bucket/a (b) lake", create=True), "runs/run")
    (link,) = [token for token in read(page) if token.type == "link_open"]
    assert link.attrs["href"] == "memory://bucket/a%20%28b%29%20lake/runs/run"
    assert texts(page) == ["memory://bucket/a (b) lake/runs/run"]


def test_pages__list_some_rejected_contests_and_count_the_others() -> None:
    report = SourceReport("codeforces", "site", new=3, rejected=[(name, f"why {name}") for name in HOSTILE * 4])
    report.rejected[7] = ("7", "x" * 1000)
    page = ingested_page(report)
    found = texts(page)
    assert max(map(len, found)) <= LONGEST_CELL
    assert f"{4 * len(HOSTILE)} rejected" in found
    assert f"and {4 * len(HOSTILE) - MOST} more, in the log" in found
    assert {plain(name) for name in HOSTILE} <= set(found)
    assert "link_open" not in [token.type for token in read(page)]
