"""Names as a search compares them: without case, accents, signs and invisible characters."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

__all__ = ["END", "are_alike", "encode", "fold", "fold_lines", "words_of"]

END = b"\n"
# Marks and letters without a glyph; further ones are of the category Cf, as zero-width spaces.
_NO_GLYPH = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")
_WORD = re.compile(r"[^\W_]+")  # letters and digits of all scripts
# Letters that no normalisation takes apart, as people type them on a plain keyboard; also in search.js.
_PLAIN = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ð": "d", "ħ": "h", "ŧ": "t", "ı": "i", "æ": "ae", "œ": "oe",
                        "þ": "th", "ς": "σ"})  # fmt: skip


def fold(text: str) -> str:
    """A text without case, accents, invisible characters and repeated blanks, for comparison; one line."""
    if text.isascii() and " " not in text and text.isprintable():
        return text.lower()
    marked = unicodedata.normalize("NFKD", _drawn(text))
    drawn = "".join(c for c in marked if not unicodedata.category(c).startswith("M"))
    return " ".join(drawn.lower().upper().lower().translate(_PLAIN).split())  # upper: of some letters two are made


def words_of(text: str) -> list[str]:
    """The folded words of a text: its letters and digits without the signs between them.

    A text of signs alone is one word.
    """
    folded = fold(text)
    return _WORD.findall(folded) or list(filter(None, ["".join(folded.split())]))


def are_alike(one: str, other: str) -> bool:
    """Whether different names differ only by case, Unicode form, blanks and invisible characters."""
    return one != other and _plain(one) == _plain(other)


def fold_lines(texts: Sequence[str]) -> bytes:
    """The words of each text with a blank between them, one text a line; as :func:`words_of`, but of ASCII at once."""
    raw = encode("\n".join(texts))
    data = np.frombuffer(raw, np.uint8)
    ends = np.flatnonzero(data == END[0])
    if len(ends) != len(texts) - 1:
        return encode("\n".join(" ".join(words_of(text)) for text in texts))
    lines = _without_signs(_ASCII[data])
    further = np.unique(np.searchsorted(ends, np.flatnonzero(data > 127))).tolist()
    found = lines.split(END) if further or b"\n\n" in END + lines + END else []
    for row in further:
        found[row] = encode(" ".join(words_of(texts[row])))
    for row, line in enumerate(found):
        if not line and texts[row]:
            found[row] = encode(" ".join(words_of(texts[row])))
    return END.join(found) if found else lines


def encode(text: str) -> bytes:
    """UTF-8, also of surrogates."""
    return text.encode("utf-8", "surrogatepass")


def _ascii_table() -> npt.NDArray[np.uint8]:
    table = np.full(256, ord(" "), np.uint8)
    for i in range(128):
        if chr(i).isalnum():
            table[i] = ord(chr(i).lower())
    table[END[0]] = END[0]
    return table


_ASCII = _ascii_table()


def _without_signs(data: npt.NDArray[np.uint8]) -> bytes:
    """Lines of letters and blanks with one blank between two words, and none at the ends."""
    blank, ends = data == ord(" "), data == END[0]
    at = np.arange(len(data), dtype=np.int32)
    last = np.maximum.accumulate(np.where(blank, -1, at))  # the last letter, or end of a line, up to here
    in_line = (last >= 0) & ~ends[np.maximum(last, 0)]
    before_letter = np.append(~(blank | ends)[1:], False)
    return bytes(data[~blank | (in_line & before_letter)].tobytes())


def _drawn(text: str) -> str:
    return _NO_GLYPH.sub("", "".join(c for c in text if unicodedata.category(c) != "Cf"))


def _plain(text: str) -> str:
    composed = unicodedata.normalize("NFKC", _drawn(text)).casefold()
    return " ".join(unicodedata.normalize("NFKC", composed).split())
