"""Text from outside is made safe for each place; ordinary names do not change."""

from __future__ import annotations

import csv
import io
import json
import re
import unicodedata

import pytest
from chaos.outputs import HOSTILE, violation
from helpers.documents import ROOT
from helpers.strategies import repeatable
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from ranklake.flows.common.text import (
    LONGEST_CELL,
    LONGEST_MESSAGE,
    MAX_MARKS,
    cell,
    count,
    json_visible,
    markdown,
    message,
    quoted,
    slug,
    spreadsheet,
    visible,
    with_article,
)
from ranklake.flows.sources.base import SourceError

ORDINARY = (
    "tourist", "Um_nik", "Ünïcödé Näme", "имя", "选手", "a b", "[red]", "C:\\x", "O\u0308zil", "\u3000wide\u3000",
    "ไทยกี่", "हिन्दी", "עִבְרִית", "한국어", "=1+1", "a|b", "\u00a0", "🦊", "🇩🇪",
)  # fmt: skip
ANY = st.text(st.characters() | st.sampled_from("".join(HOSTILE)), max_size=300)


@pytest.mark.parametrize("name", ORDINARY)
def test_visible__keeps_ordinary_names(name: str) -> None:
    assert visible(name) == message(name) == cell(name) == name


@repeatable(200)
@given(ANY)
def test_visible__removes_controls_and_is_idempotent(text: str) -> None:
    shown = visible(text)
    assert violation(shown) is None
    assert "\n" not in shown
    assert visible(shown) == shown
    assert violation(message(text)) is None
    assert message(message(text)) == message(text)
    assert cell(cell(text)) == cell(text)


def test_visible__writes_python_escapes() -> None:
    assert visible("\x1b[31m\u202e\U000e0041\n\t\r\x9b\ud800") == r"\x1b[31m\u202e\U000e0041\n\t\r\x9b\ud800"


def test_visible__limits_marks_to_a_few_after_a_character() -> None:
    assert visible("z" + "\u0301" * MAX_MARKS) == "z" + "\u0301" * MAX_MARKS
    assert visible("z" + "\u0301" * 8) == "z" + "\u0301" * MAX_MARKS + r"\u0301" * 2
    assert visible("\u0301x") == r"\u0301x"


@repeatable(150)
@given(ANY, st.integers(1, 40))
def test_cell__is_never_wider_than_its_limit(text: str, columns: int) -> None:
    shown = cell(text, columns)
    assert cell_len(shown) <= columns
    if cell_len(visible(text)) <= columns and len(text) <= 8 * columns:
        assert shown == visible(text)
    else:
        assert shown.endswith("…")


@pytest.mark.bound("ranklake.flows.common.text._LONGEST_SLUG")
@pytest.mark.bound("ranklake.flows.common.text.LONGEST_QUOTED")
@pytest.mark.parametrize("piece", ["x", "选", "\u1161", "z\u0301", "\u200d", "👨‍👩‍👧", "\x1b", "\ufe0f"])
def test_cell_and_message__of_a_million_characters_are_short(piece: str) -> None:
    text = piece * (1_000_000 // len(piece))
    assert cell_len(cell(text)) <= LONGEST_CELL
    assert len(cell(text)) <= 80 * LONGEST_CELL
    assert len(message(text)) <= LONGEST_MESSAGE
    assert "characters in all" in message(text)
    assert len(quoted(text)) <= 60
    assert len(str(SourceError(text, source=text, contest=text))) <= LONGEST_MESSAGE
    assert len(slug(text)) <= 80


def test_message__keeps_its_beginning_and_end() -> None:
    text = message("Error: no player " + "x" * 10_000 + "; the remedy")
    assert text.startswith("Error: no player xxx")
    assert text.endswith("xxx; the remedy")
    assert "(shortened, 10,029 characters in all)" in text


@repeatable(150)
@given(st.lists(ANY | st.dictionaries(ANY, ANY, max_size=2) | st.integers() | st.none(), max_size=3))
def test_json_visible__has_the_same_value_without_controls(value: list[object]) -> None:
    for indent in (None, 1):
        shown = json_visible(json.dumps(value, ensure_ascii=False, indent=indent))
        assert json.loads(shown) == value
        assert violation(shown) is None


FORMULAS = ["=1+1", "+1", "-1", "@x", "\t=1", "\r=1", "\nx", " =1", '"=1', "\x00=1", "＝1", "＋1", "－1", "＠1"]


@pytest.mark.parametrize("name", FORMULAS)
def test_spreadsheet__a_formula_becomes_a_text(name: str) -> None:
    assert spreadsheet(name) == "'" + (name if name != "\r=1" and name != "\t=1" else name[0] + "'" + name[1:])


@pytest.mark.parametrize("name", ["ada", "", "1", "a=1", "a-b", "x@y.org", "'", "选手", "a, b", "0.5"])
def test_spreadsheet__keeps_other_cells(name: str) -> None:
    assert spreadsheet(name) == name


@repeatable(150)
@given(st.lists(ANY, min_size=1, max_size=3))
def test_spreadsheet__no_cell_begins_a_formula_with_any_separator(names: list[str]) -> None:
    sink = io.StringIO(newline="")
    csv.writer(sink, quoting=csv.QUOTE_ALL).writerow([1, *map(spreadsheet, names)])
    for cells in ([spreadsheet(name) for name in names], re.split("[;\t\r\n]", sink.getvalue())[1:]):
        for found in cells:
            begins = found.lstrip("".join(map(chr, range(0x21))) + '"')[:1]
            assert begins not in tuple("=+-@＝＋－＠") or found in ("",)


def test_markdown__has_no_line_break_and_no_markup() -> None:
    for name in HOSTILE:
        text = markdown(name)
        assert violation(text) is None
        assert not re.search(r"(?<!\\)(?:\\\\)*[|<\[*_`]", text)


def test_slug__is_a_file_name_on_every_platform() -> None:
    assert slug("codeforces, first 1,381 contests") == "codeforces--first-1-381-contests"
    found = [slug(name) for name in (*HOSTILE, "选手", "名字", "a/b", "a" * 300, "a" * 301, "../..")]
    assert all(re.fullmatch(r"[A-Za-z0-9-]{1,80}", name) for name in found)
    assert len({*found}) >= len(found) - 2  # names of punctuation only may have the same slug


def test_text__is_printed_by_one_module_only() -> None:
    """Only the terminal's module calls ``click.echo`` or ``print``: it makes every line visible."""
    allowed = {
        "flows/cli/terminal/output.py",
        "flows/compilation/compile.py",  # a line with names of systems only; click is not imported yet
        "rating_kernels/warm.py",  # to the parent process
        "flows/cli/commands/publish.py",  # sys.stdout.buffer, for write_export
    }
    prints = re.compile(r"(?<![\w.])(print|click\.s?echo|json\.dump|sys\.std(out|err)\.write)\(")
    for folder in ("src", "flows", "storage", "rating_kernels"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if path.relative_to(ROOT).as_posix() in allowed:
                continue
            found = prints.search(path.read_text("utf-8"))
            assert found is None, f"{path}: {found}"


def test_text__has_no_second_sanitiser() -> None:
    """Only flows/common/text.py decides which characters are printable; a user agent follows the rules of HTTP."""
    for path in sorted((ROOT / "flows").rglob("*.py")):
        if path.name not in ("text.py", "client.py"):
            assert "isprintable" not in path.read_text("utf-8"), path


def test_invisible_letters__are_default_ignorable_in_unicode() -> None:
    for code in (0x34F, 0x115F, 0x3164, 0xFFA0, 0xFE00, 0xE0100, 0x200D, 0xFEFF, 0xAD):
        assert visible(f"a{chr(code)}b") == f"a\\{'u' if code > 255 else 'x'}{code:0{4 if code > 255 else 2}x}b" or (
            code > 0xFFFF and unicodedata.category(chr(code)) == "Mn"
        )


@pytest.mark.parametrize(("n", "text"), [(0, "0 rounds"), (1, "1 round"), (2000, "2,000 rounds")])
def test_count__agrees_with_its_noun(n: int, text: str) -> None:
    assert count(n, "round") == text


@pytest.mark.parametrize(("noun", "text"), [("driver", "a driver"), ("Athlete", "an Athlete"), ("event", "an event")])
def test_article__follows_the_first_letter(noun: str, text: str) -> None:
    assert with_article(noun) == text
