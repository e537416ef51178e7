"""Make text from outside safe for the place where it is shown: one function for each kind of place.

Handles, titles, addresses, file names and messages that quote them come from sites, files and other users. Without
these functions, an escape sequence in them would reach the terminal, a direction control would reorder the line around
it, and a spreadsheet would execute a cell ``=...`` as a formula.

    visible       any line of text
    message       a line of limited length: errors, notes, lines of a log
    cell          a line of limited width: cells of a table on a terminal
    quoted        a value inside a message, with quotes
    json_visible  JSON on a terminal: still valid JSON of the same value
    spreadsheet   a cell of CSV for a spreadsheet
    markdown      a text in a Markdown page
    slug          a part of a file's name

None of them changes ordinary names of any script. Machine formats on pipes and in files are not changed.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Container, Mapping, Sequence

LONGEST_CELL = 200  # terminal columns of a table's cell, also with --wide and on a pipe
LONGEST_MESSAGE = 4_000  # characters of an error, a note or a line of a log
LONGEST_QUOTED = 60  # characters of a value inside a message
MAX_MARKS = 6  # consecutive combining marks; more would cover the lines above, and no language needs them

_LONGEST_SLUG = 60
_UNITS = ("B", "kB", "MB", "GB", "TB")
_NOTE = 70  # characters reserved for the note about a shortened message
_SHORT = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}
_MARKS = frozenset({"Mn", "Me"})  # drawn over the character before; they use no columns
# Assigned letters and marks without a glyph: default-ignorable code points that str.isprintable accepts.
_INVISIBLE = frozenset(
    chr(code)
    for first, last in (
        (0x034F, 0x034F), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x3164, 0x3164), (0xFE00, 0xFE0D),
        (0xFFA0, 0xFFA0), (0xE0100, 0xE01EF),
    )
    for code in range(first, last + 1)
)  # fmt: skip
_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")  # of ASCII; CommonMark, section 2.4, allows to escape these
# Places where a spreadsheet may begin a cell: the start, and after separators of cells or rows, as some locales use a
# semicolon and ignore the quotes of CSV. The second half are the full-width forms of = + - @.
_FORMULA = re.compile(r'(?:^|(?<=[;\t\r\n]))(?=[\x00-\x20"]*[=+\-@＝＋－＠])|^(?=[\t\r\n])')


def visible(text: str, drawable: Container[str] | None = None) -> str:
    r"""One line of visible characters; all others are escaped as in Python.

    Escaped, as ``\n``, ``\x1b``, ``\u202e`` or ``\U000e0001``, are control characters, direction controls, characters
    without width such as the joiners of emoji, line and paragraph separators, unpaired surrogates, unassigned and
    private-use characters, letters without a glyph, a combining mark without a character before it, and every mark
    after ``MAX_MARKS`` consecutive ones; and characters that are not ``drawable``, if these are given. Spaces of any
    width stay. A second call changes nothing.
    """
    return _spelled(text, _python_escape, drawable)


def message(text: str, longest: int = LONGEST_MESSAGE) -> str:
    """One line of at most ``longest`` characters; in a longer one, a note with the length replaces the middle."""
    if len(text) <= longest and len(shown := visible(text)) <= longest:
        return shown
    tail = longest // 4
    head = longest - tail - _NOTE
    note = f" ... (shortened, {len(text):,} characters in all) ... "
    return visible(text[:head])[:head] + note + visible(text[-tail:])[-tail:]


def cell(text: str, columns: int = LONGEST_CELL) -> str:
    """One line of at most ``columns`` terminal columns; a longer one ends with an ellipsis.

    Wide characters count two columns, combining marks none. At most eight characters for each column are read, so that
    a long text of characters without width is cut too.
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
    """The ``repr`` of a value, cut to ``longest`` characters."""
    text = repr(value[: longest + 1] if isinstance(value, str) else value)
    return text if len(text) <= longest else f"{text[: longest - 4]}...{text[-1]}"


def described(value: object) -> str:
    """A value in a message: the value if it is short and on one line, else its type."""
    shown = repr(value) if isinstance(value, Collection) and not isinstance(value, str | bytes) else quoted(value)
    return (
        shown if "\n" not in shown and len(shown) <= LONGEST_QUOTED else f"a value of the type {type(value).__name__}"
    )


def count(n: int, noun: str) -> str:
    """A number with its noun, with an ``s`` in the plural: ``1 contest``, ``2,000 contests``."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def percent(chance: float) -> str:
    """A chance in percent; values near 0 and 1 are not rounded to 0 % and 100 %."""
    return "> 99.9 %" if chance > 0.999 else "< 0.1 %" if chance < 0.001 else f"{chance:.1%}".replace("%", " %")


def listed(names: Sequence[str]) -> str:
    """Names as a list in a sentence: a, b and c."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def with_reasons(reasons: Mapping[str, str], most: int = 5) -> str:
    """At most so many names, each with its reason: ``a (lost); b (frozen); and 3 others``."""
    named = [f"{name} ({why})" for name, why in list(reasons.items())[:most]]
    return "; ".join([*named, *([f"and {count(others, 'other')}"] if (others := len(reasons) - most) > 0 else [])])


def byte_size(n: float) -> str:
    """A number of bytes in a decimal unit: ``812 B``, ``4.5 kB``, ``12 GB``."""
    unit = 0
    while n >= 1000 and unit < len(_UNITS) - 1:
        n, unit = n / 1000, unit + 1
    return f"{n:.{0 if unit == 0 or n >= 10 else 1}f} {_UNITS[unit]}"


def json_visible(text: str) -> str:
    r"""JSON for a terminal: characters that :func:`visible` escapes become ``\uXXXX``; the value stays the same."""
    return _spelled(text, _json_escape, keep="\n")


def spreadsheet(text: str) -> str:
    """A cell of CSV that no spreadsheet treats as a formula: an apostrophe is put before the start of a formula.

    Formulas begin with ``= + - @`` or their full-width forms, a tab or a line break (OWASP, "CSV Injection"). In some
    locales a formula may also begin after a semicolon, a tab or a line break inside the cell.
    """
    return _FORMULA.sub("'", text)


def markdown(text: str) -> str:
    """The text with all markup of Markdown escaped."""
    return _PUNCTUATION.sub(r"\\\1", visible(text))


def slug(name: str) -> str:
    """A part of a file name that is valid on every platform: at most about 70 ASCII letters, digits and ``-``.

    If more than spaces and punctuation is lost, a digest is appended, so that different names have different files.
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
    if c in _SHORT:  # repr does not escape printable characters
        return _SHORT[c]
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _json_escape(c: str) -> str:
    units = c.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


def capital(text: str) -> str:
    """The text with a first letter in upper case; the others stay, unlike ``str.capitalize``."""
    return text[:1].upper() + text[1:]


def with_article(noun: str) -> str:
    """An English noun with its indefinite article, by the first letter: ``a driver``, ``an athlete``."""
    return f"{'an' if noun[:1].lower() in 'aeiou' else 'a'} {noun}"
