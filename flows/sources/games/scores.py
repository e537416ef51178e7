"""Results of games: the score of the first player from texts such as ``1-0`` and from numbers.

A forfeit is no game: FIDE's regulations do not rate it (Rating Regulations, 5.1).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from ranklake.rating_kernels.core.standings import Floats

from ...common.text import quoted
from .batch import MOST_REASONS, Verdicts

_DASHES = re.compile(r"[‐‑‒–—―−﹣－:]")
_HALVES = re.compile(r"½|(?<!\d)0?[.,]50*(?!\d)")
_SCORES = {
    "1-0": 1.0, "0-1": 0.0, "1/2-1/2": 0.5, "1/2": 0.5, "=-=": 0.5, "=": 0.5,
    "white": 1.0, "home": 1.0, "win": 1.0, "won": 1.0, "w": 1.0, "h": 1.0,
    "black": 0.0, "away": 0.0, "loss": 0.0, "lost": 0.0, "b": 0.0, "a": 0.0, "l": 0.0,
    "draw": 0.5, "drawn": 0.5, "d": 0.5, "tie": 0.5, "tied": 0.5,
}  # fmt: skip
_NO_RESULT = ("", "?", "-", "--", "??", "?-?", "nan", "none", "null", "n/a", "\\n")
# Signs say who did not come; 0-0 is a forfeit of both, and with half a point the arbiter took points away.
_FORFEIT = re.compile(r"[+-][/-]?[+-]|-/-|---|\+--|--\+|(?=.*f)[01]f{0,2}-[01]\(?f{0,2}\)?|w/?o|0-0|1/2-0|0-1/2")
_RULE = "a result must be 1-0, 0-1, 1/2-1/2, or the score 1, 0.5 or 0 of the first player"
_BETWEEN = f"{_RULE}; --fractional takes the scores between them, which some systems rate"
_REMEDY = "--value TEXT=SCORE says what a text means"
_FRACTIONAL_RULE = "a result must be a number from 0 to 1, 1-0, 0-1 or 1/2-1/2"


def parse_values(settings: Sequence[str]) -> dict[str, float | None]:
    """The score of the first player by the text of a result, from settings such as ``model_a=1``; None for ``none``, no
    result. Texts are compared without blanks and the case of letters.

    Raises ``ValueError`` for another form, or a text twice.
    """
    scores: dict[str, float | None] = {}
    for setting in settings:
        text, equals, score = setting.rpartition("=")
        key, rule = _folded(text), "expected TEXT=SCORE with a SCORE from 0 to 1, or none to leave such games out"
        try:
            value = None if score.strip() == "none" else float(score)
        except ValueError:
            raise ValueError(f"--value {quoted(setting)}: {rule}") from None
        if not equals or not key or not (value is None or 0.0 <= value <= 1.0):
            raise ValueError(f"--value {quoted(setting)}: {rule}")
        if key in scores:
            raise ValueError(f"--value {quoted(setting)}: this text is given twice")
        scores[key] = value
    return scores


def judge_results(
    column: pa.ChunkedArray,
    verdicts: Verdicts,
    fractional: bool = False,
    meanings: Mapping[str, float | None] | None = None,
) -> Floats:
    """Score of the first player of each game; NaN where the verdicts have no result.

    ``fractional``: whether scores between a win, a draw and a loss are results.
    ``meanings``: scores of further texts, see :func:`parse_values`; None: the source has no such texts.
    """
    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    encoded = encoded.unify_dictionaries().combine_chunks() if encoded.num_chunks else encoded.combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.chunk(0)
    codes = encoded.indices.fill_null(len(encoded.dictionary)).to_numpy()
    used = np.unique(codes).tolist()
    values = [*encoded.dictionary.to_pylist(), None]
    scores = np.full(len(values), np.nan)
    refused = 0
    for code in used:
        read = _meant(values[code], meanings) if meanings else None
        read = _score(values[code]) if read is None else read
        between = _between(values[code]) if read is None else None
        if fractional and between is not None:
            read = between
        if isinstance(read, float):
            scores[code] = read
        elif isinstance(read, str):
            verdicts.leave_out(codes == code, read)
        elif refused < MOST_REASONS:
            rule = _FRACTIONAL_RULE if fractional else _RULE if between is None else _BETWEEN
            remedy = "" if meanings is None else f"; {_REMEDY}"
            verdicts.refuse(codes == code, f"{rule}, got {quoted(str(values[code]))}{remedy}")
            refused += 1
    found: Floats = scores[codes]
    verdicts.refuse(np.isnan(found), _FRACTIONAL_RULE if fractional else _RULE)
    return found


def _folded(text: str) -> str:
    return "".join(text.split()).casefold()


def _meant(value: Any, meanings: Mapping[str, float | None]) -> float | str | None:
    """The score that a value was given, or the reason to leave the game out; None if it was given none."""
    whole = isinstance(value, float) and value.is_integer()
    key = _folded(str(int(value) if whole else value))
    if value is None or key not in meanings:
        return None
    score = meanings[key]
    return f"with the result {quoted(str(value))}, as --value says" if score is None else score


def _score(value: Any) -> float | str | None:
    """The score, or the reason to leave the game out; None for an unknown result."""
    if value is None or value != value:
        return "without a result"
    if not isinstance(value, str):
        return float(value) if value in (0, 0.5, 1) else None
    text = _DASHES.sub("-", _folded(value))
    if text == "*":
        return "unfinished"
    if text in _NO_RESULT:
        return "without a result"
    plain = _HALVES.sub("1/2", re.sub(r"(?<=[01])[.,]0+(?!\d)", "", text))
    if plain in _SCORES:
        return _SCORES[plain]
    if plain in ("0", "1"):
        return float(plain)
    return f"decided by forfeit, {quoted(value)}" if _FORFEIT.fullmatch(plain) else None


def _between(value: Any) -> float | None:
    """A number between 0 and 1; None for anything else."""
    try:
        score = float(str(value).replace(",", "."))
    except ValueError:
        return None
    return score if 0.0 < score < 1.0 else None
