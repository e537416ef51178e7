"""Tables that fit a terminal: numbers are never wrapped or cut; less important columns are hidden instead.

The attributes of a column determine how it may shrink. They are those of rich, so that any table of rich can be fitted.

    NUMBER   aligned to the right, never shortened
    WHOLE    never shortened: dates, kinds
    NAME     shortened with an ellipsis: at its end, or in its middle if it has several words
    CONTEST  as NAME, with more room
    TEXT     wrapped between words

A heading is wrapped between words; a word longer than the column's ``max_width`` is shortened. No line of a cell is
wider than ``LONGEST_CELL`` columns of :mod:`.text`, also in a table that is shown in full.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.box import ASCII2
from rich.cells import cell_len
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from ...common.text import cell as bounded

Kind = Mapping[str, Any]
NUMBER: Kind = {"justify": "right", "no_wrap": True, "overflow": "crop"}
WHOLE: Kind = {"no_wrap": True, "overflow": "crop"}
NAME: Kind = {"no_wrap": True, "overflow": "ellipsis"}
CONTEST: Kind = {**NAME, "min_width": 28}
TEXT: Kind = {"overflow": "fold"}

_NAME_WIDTH, _TEXT_WIDTH = 16, 20  # minimum width of names and texts before columns are hidden
_LEAST = 4  # minimum width in any case
_CUT_WORDS = 24  # of a name that is shortened in its middle
_HEAD_WORD = 16  # longest word of a heading that is not shortened
_LIKE = str.maketrans({"↑": "^", "↓": "v", "±": "+-", "…": "..."})  # for an output encoding other than Unicode


class FittedTable(Table):
    """A table of rich; columns are hidden in the order of the headings in ``hide``, then the others."""

    hide: Sequence[str] = ()


def new_table(columns: Mapping[str, Kind], hide: Sequence[str] = (), **more: Any) -> FittedTable:
    """An empty table with columns by heading; ``more`` is passed to rich's ``Table``."""
    table = FittedTable(**{"title_justify": "left", "caption_justify": "left"} | more)
    table.hide = hide
    for name, kind in columns.items():
        table.add_column(name, **kind)
    return table


def print_fitted(table: Table, wide: bool = False) -> None:
    """Print a table: fitted to a terminal; elsewhere, or with ``wide``, with every column in full."""
    console = Console(emoji=False)
    _make_plain(table)
    if console.options.ascii_only:  # any encoding but UTF
        _to_encoding(table, console.encoding)
    if wide or not console.is_terminal or console.options.ascii_only:  # ASCII has no ellipsis
        for column in table.columns:
            column.width, column.max_width, column.no_wrap = _natural(column), None, True
        width = sum(column.width or 0 for column in table.columns) + _frame(len(table.columns))
        Console(emoji=False, width=max(width, console.width if console.is_terminal else 1)).print(table)
        return
    hidden = fit(table, console.width)
    console.print(table)
    if hidden:
        columns, shown = ("1 column", "it") if len(hidden) == 1 else (f"{len(hidden)} columns", "them")
        lines = [f"{columns} hidden{names}: --wide shows {shown}" for names in (f" ({', '.join(hidden)})", "")]
        console.print(Text(next(line for line in lines if cell_len(line) <= console.width or line is lines[-1]), "dim"))


def fit(table: Table, width: int) -> list[str]:
    """Fit a table into ``width`` cells; return the headings of the hidden columns."""
    columns, hidden = list(table.columns), []

    def drop(column: Column) -> None:
        columns.remove(column)
        if any(map(_width, column.cells)):  # an empty column is hidden without a note
            hidden.append(_plain(column.header))

    def fits(comfortable: bool) -> bool:
        return sum(_least(column, comfortable) for column in columns) + _frame(len(columns)) <= width

    for column in [column for column in columns if table.rows and not any(map(_width, column.cells))]:
        if sum(map(_natural, columns)) + _frame(len(columns)) > width:
            drop(column)
    by_name = {_plain(column.header): column for column in columns}
    wanted = [by_name[name] for name in getattr(table, "hide", ()) if name in by_name]
    while wanted and not fits(comfortable=True):
        drop(wanted.pop(0))
    comfortable = fits(comfortable=True)
    while not comfortable and len(columns) > 1 and not fits(comfortable=False):
        drop(columns[-1])
    table.columns = columns
    _spread(columns, width - _frame(len(columns)), comfortable)
    return hidden


def _spread(columns: Sequence[Column], room: int, comfortable: bool) -> None:
    """Set the widths: the minimum of each column, then names and texts, then headings."""
    widths = [_least(column, comfortable) for column in columns]
    room -= sum(widths)
    lacks = [_natural(column) - width for column, width in zip(columns, widths, strict=True)]
    for at in sorted(range(len(columns)), key=lambda at: (_is_whole(columns[at]), lacks[at])):
        more = max(0, min(lacks[at], room))
        more = 0 if _is_whole(columns[at]) and more < lacks[at] else more  # part of a line does not help a heading
        widths[at] += more
        room -= more
    for column, width in zip(columns, widths, strict=True):
        column.width, column.max_width, column.min_width = width, None, None
        if column.no_wrap and column.overflow == "ellipsis":
            column._cells = [_fitting(cell, width) for cell in column.cells]
        column.header = Text("\n").join(_head_lines(_as_text(column.header), width))


def _fitting(name: Any, width: int) -> Any:
    """A name of several words without some of them; others are cut by rich."""
    if _width(name) <= width or "\n" in _plain(name):
        return name
    return Text(shorten(_plain(name), width), name.style if isinstance(name, Text) else "")


def shorten(name: str, width: int) -> str:
    """A name with an ellipsis for some of its words, if it then fits into ``width`` cells; else the name as it is.

    The first word stays. As few digits as possible are lost, then as few characters: "Educational Codeforces Round 12
    (Div. 2)" becomes "Educational … Round 12 (Div. 2)".
    """
    words = name.split(" ")
    if cell_len(name) <= width or not 1 < len(words) <= _CUT_WORDS:
        return name
    cuts = [(i, j) for i in range(1, len(words)) for j in range(i + 1, len(words) + 1)]
    made = {cut: " ".join([*words[: cut[0]], "…", *words[cut[1] :]]) for cut in cuts}
    fitting = [cut for cut in cuts if cell_len(made[cut]) <= width]

    def lost(cut: tuple[int, int]) -> tuple[int, int]:
        gone = "".join(words[cut[0] : cut[1]])
        return sum(map(str.isdigit, gone)), len(gone)

    return made[min(fitting, key=lost)] if fitting else name


def _head_lines(header: Text, width: int) -> Iterator[Text]:
    """A heading in lines, broken between words."""
    line = Text()
    for word in _head_words(header):
        if line and line.cell_len + 1 + word.cell_len > width:
            yield line
            line = Text()
        line = Text(" ").join([line, word]) if line else word
    line.truncate(width, overflow="ellipsis")
    yield line


def _head_words(header: Text) -> list[Text]:
    """The words of a heading; a single sign, such as % or an arrow, is kept with the word before."""
    words: list[Text] = []
    for word in header.split(" "):
        if words and len(word) == 1:
            words[-1] = Text(" ").join([words[-1], word])
        else:
            words.append(word)
    return words or [Text()]


def _as_text(cell: Any) -> Text:
    return cell if isinstance(cell, Text) else Text(_plain(cell))


def _least(column: Column, comfortable: bool) -> int:
    """The minimum width of a column."""
    head = min(max(word.cell_len for word in _head_words(_as_text(column.header))), column.max_width or _HEAD_WORD)
    longest = max(map(_width, column.cells), default=0)
    if _is_whole(column):
        return max(longest, head)
    if column.no_wrap:
        return max(min(longest, (column.min_width or _NAME_WIDTH) if comfortable else _LEAST), head)
    word = max((cell_len(word) for cell in column.cells for word in _plain(cell).split()), default=0)
    return max(min(longest, max(_TEXT_WIDTH, min(word, 2 * _TEXT_WIDTH)) if comfortable else _LEAST), head)


def _natural(column: Column) -> int:
    """The width of a column without a limit."""
    return max(_width(column.header), max(map(_width, column.cells), default=0))


def _is_whole(column: Column) -> bool:
    return column.justify == "right" or bool(column.no_wrap and column.overflow == "crop")


def _frame(n_columns: int) -> int:
    """Cells of the lines between columns and of the padding."""
    return 3 * n_columns + 1


def _width(cell: Any) -> int:
    return max(map(cell_len, _plain(cell).split("\n")))


def _plain(cell: Any) -> str:
    """A cell's text."""
    return cell.plain if isinstance(cell, Text) else str(cell)


def _make_plain(table: Table) -> None:
    """Make every cell plain text: no markup, no invisible characters, and of limited width.

    Line breaks in text from outside are escaped when the cell is made: see :func:`.text.cell`.
    """

    def shown(text: Any) -> Text:
        lines = _plain(text).split("\n")
        plain = "\n".join(map(bounded, lines))
        if isinstance(text, Text) and text.plain == plain:
            return text
        return Text(plain, text.style if isinstance(text, Text) else "")

    table.title, table.caption = (one and shown(one) for one in (table.title, table.caption))
    for column in table.columns:
        column.header, column._cells = shown(column.header), [shown(cell) for cell in column.cells]


def _to_encoding(table: Table, encoding: str) -> None:
    """Replace characters that the output's encoding lacks: our signs by similar ones, others by their code."""

    def held(cell: Any) -> Text:
        text = _plain(cell).translate(_LIKE).encode(encoding, "backslashreplace").decode(encoding)
        return Text(text, cell.style if isinstance(cell, Text) else "")

    table.box = ASCII2
    table.title, table.caption = (one and held(one) for one in (table.title, table.caption))
    for column in table.columns:
        column.header, column._cells = held(column.header), [held(cell) for cell in column.cells]
