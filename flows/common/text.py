"""Text from outside, made safe for the place where it is shown: one function for each kind of place.

Handles, titles, addresses, file names and the messages that quote them come from sites, files and other users. Shown as
they are, an escape sequence in them reaches the terminal, a direction control reorders the line around it, and a cell
``=...`` is a formula to a spreadsheet.

    visible       any line for people
    message       the same, of bounded length: errors, notes, lines of a log
    cell          the same, of bounded width: cells of a table on a terminal
    quoted        a value inside a message, with quotes
    json_visible  JSON on a terminal: still valid JSON of the same value
    spreadsheet   a cell of CSV for a spreadsheet
    markdown      a text in a Markdown page
    slug          a part of a file's name

All of them leave ordinary names in any script as they are. A machine format on a pipe or in a file is not changed.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Container

__all__ = [
    "LONGEST_CELL",
    "LONGEST_MESSAGE",
    "LONGEST_QUOTED",
    "MAX_MARKS",
    "byte_size",
    "cell",
    "count",
    "json_visible",
    "markdown",
    "message",
    "quoted",
    "slug",
    "spreadsheet",
    "visible",
]

LONGEST_CELL = 200  # terminal columns of a cell of a table, also with --wide and on a pipe
LONGEST_MESSAGE = 4_000  # characters of an error, a note or a line of a log
LONGEST_QUOTED = 60  # characters of a value inside a message
MAX_MARKS = 6  # combining marks in a row: no language needs more, and a pile of them covers the lines above

_LONGEST_SLUG = 60
_UNITS = ("B", "kB", "MB", "GB", "TB")
_NOTE = 70  # characters kept free for the note that a message was shortened
_SHORT = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}
_MARKS = frozenset({"Mn", "Me"})  # drawn over the character before, no columns of their own
# Assigned letters and marks without a shape: the default-ignorable code points that str.isprintable lets pass.
_INVISIBLE = frozenset(
    chr(code)
    for first, last in (
        (0x034F, 0x034F), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x3164, 0x3164), (0xFE00, 0xFE0D),
        (0xFFA0, 0xFFA0), (0xE0100, 0xE01EF),
    )
    for code in range(first, last + 1)
)  # fmt: skip
_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")  # of ASCII: what CommonMark, section 2.4, lets be escaped
# Where a spreadsheet may begin a cell: at the start, and behind what separates cells or rows where the quotes of CSV do
# not hold, as in a locale whose separator is a semicolon. The second half are the full-width forms of = + - @.
_FORMULA = re.compile(r'(?:^|(?<=[;\t\r\n]))(?=[\x00-\x20"]*[=+\-@＝＋－＠])|^(?=[\t\r\n])')


def visible(text: str, drawable: Container[str] | None = None) -> str:
    r"""One line in which every character can be seen: all others are written as Python escapes them.

    Written as ``\n``, ``\x1b``, ``\u202e`` or ``\U000e0001`` are control characters, direction controls, characters
    without width such as the joiners of emoji, line and paragraph separators, halves of surrogate pairs, characters
    that Unicode has not assigned or leaves to private use, letters without a shape, a combining mark that has no
    character before it, and every mark beyond ``MAX_MARKS`` in a row. Spaces of any width stay. A second call changes
    nothing more.

    Parameters
    ----------
    drawable
        The characters for which there is a glyph; all others are escaped, too.
    """
    return _spelled(text, _python_escape, drawable)


def message(text: str, longest: int = LONGEST_MESSAGE) -> str:
    """One line of at most ``longest`` characters; a longer one loses its middle, and says how long it was."""
    if len(text) <= longest and len(shown := visible(text)) <= longest:
        return shown
    tail = longest // 4
    head = longest - tail - _NOTE
    note = f" ... (shortened, {len(text):,} characters in all) ... "
    return visible(text[:head])[:head] + note + visible(text[-tail:])[-tail:]


def cell(text: str, columns: int = LONGEST_CELL) -> str:
    """One line of at most ``columns`` terminal columns; a longer one ends with an ellipsis.

    Wide characters count two columns and combining marks none. At most eight characters a column are looked at: a text
    of characters without width has an end, too.
    """
    most = 8 * columns
    shown = visible(text[:most])
    if len(shown) <= columns // 2 and len(text) <= most:  # no character is wider than two columns
        return shown
    from rich.cells import cell_len, set_cell_size

    if cell_len(shown) <= columns and len(text) <= most:
        return shown
    return set_cell_size(shown, min(columns - 1, cell_len(shown))) + "…"


def quoted(value: object, longest: int = LONGEST_QUOTED) -> str:
    """A value as Python writes it, cut to ``longest`` characters."""
    text = repr(value[: longest + 1] if isinstance(value, str) else value)
    return text if len(text) <= longest else f"{text[: longest - 4]}...{text[-1]}"


def count(n: int, noun: str) -> str:
    """``1 contest``, ``2,000 contests``: a number with its noun, which takes an ``s`` in the plural."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def byte_size(n: float) -> str:
    """A number of bytes in a decimal unit: ``812 B``, ``4.5 kB``, ``12 GB``."""
    unit = 0
    while n >= 1000 and unit < len(_UNITS) - 1:
        n, unit = n / 1000, unit + 1
    return f"{n:.{0 if unit == 0 or n >= 10 else 1}f} {_UNITS[unit]}"


def json_visible(text: str) -> str:
    r"""JSON for a terminal: what :func:`visible` would escape is ``\uXXXX``; the value stays the same.

    Parameters
    ----------
    text
        Valid JSON. Line ends between its values stay; inside its strings there are none.
    """
    return _spelled(text, _json_escape, keep="\n")


def spreadsheet(text: str) -> str:
    """A cell of CSV that no spreadsheet takes for a formula: an apostrophe stands before what would begin one.

    Notes
    -----
    Formulas begin with ``= + - @`` or their full-width forms, a tab or a line break (OWASP, "CSV Injection"). Behind a
    semicolon, a tab or a line break inside the cell a spreadsheet of another locale may begin one, too.
    """
    return _FORMULA.sub("'", text)


def markdown(text: str) -> str:
    """A text that a Markdown page shows as it is; every sign of markup is escaped."""
    return _PUNCTUATION.sub(r"\\\1", visible(text))


def slug(name: str) -> str:
    """A part of a file's name on every platform: ASCII letters, digits and ``-``, at most about 70 of them.

    Names that lose more than spaces and punctuation have a digest behind them, so that two do not share a file.
    """
    plain = re.sub(r"[^A-Za-z0-9]", "-", name)
    if len(name) <= _LONGEST_SLUG and re.fullmatch(r"[A-Za-z0-9 ,._-]+", name):
        return plain
    from hashlib import blake2b  # slow to import: it loads OpenSSL

    digest = blake2b(name.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    return f"{plain[:_LONGEST_SLUG].strip('-') or 'x'}-{digest}"


def _spelled(text: str, escape: Callable[[str], str], drawable: Container[str] | None = None, keep: str = "") -> str:
    if drawable is None and text.isascii() and text.isprintable():
        return text
    parts: list[str] = []
    marks = 0
    for c in text:
        if c in keep:
            shown = True
        elif not (c.isprintable() or unicodedata.category(c) == "Zs") or c in _INVISIBLE:
            shown = False
        elif unicodedata.category(c) in _MARKS:
            marks += 1
            shown = bool(parts) and marks <= MAX_MARKS
        else:
            shown, marks = True, 0
        parts.append(c if shown and (drawable is None or c in drawable) else escape(c))
    return "".join(parts)


def _python_escape(c: str) -> str:
    code = ord(c)
    if c in _SHORT:  # repr would do, but it does not escape what is printable
        return _SHORT[c]
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _json_escape(c: str) -> str:
    units = c.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
