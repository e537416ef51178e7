"""Titles given by an option of a command: a name or a file, JSON or CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .titles import AUTO, BUILT_IN, COLUMNS, Title, Titles, TitlesChoice

__all__ = ["parse_titles"]


def parse_titles(text: str) -> TitlesChoice:
    """Parse an option of titles: ``auto``, ``codeforces``, ``none``, or a file, .json or .csv.

    A CSV file has the columns ``name, minimum, colour``; a JSON file a list of objects with these keys, or an object
    with the list under ``titles``. The lowest title may have no minimum.

    Raises
    ------
    ValueError
        The text or the file is invalid; the message names the file, the row and the rule.
    """
    if text == AUTO:
        return AUTO
    if text in BUILT_IN:
        return BUILT_IN[text]
    path = Path(text)
    if path.suffix.lower() not in (".json", ".csv"):
        raise ValueError(
            f"titles must be auto, {', '.join(BUILT_IN)}, or a file that ends in .json or .csv, got {text!r}"
        )
    try:
        content = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise ValueError(f"there is no file {text!r}") from None
    except OSError as error:
        raise ValueError(f"{text}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ValueError(f"{text}: must be text in UTF-8") from None
    rows = _rows_of_csv(content, text) if path.suffix.lower() == ".csv" else _rows_of_json(content, text)
    titles = tuple(Title.from_row(row, f"{text}, title {i}") for i, row in enumerate(rows, 1))
    if not titles:
        raise ValueError(f"{text}: has no titles; use `none` for no titles")
    return Titles(path.name, titles)


def _rows_of_csv(content: str, path: str) -> Sequence[Any]:
    reader = csv.DictReader(io.StringIO(content, newline=""), restkey="more", strict=True)
    try:
        rows = list(reader)
    except csv.Error as error:
        raise ValueError(f"{path}, line {reader.line_num}: {error}") from None
    if missing := [key for key in COLUMNS if key not in (reader.fieldnames or ())]:
        raise ValueError(f"{path}: needs the columns {', '.join(COLUMNS)}; {missing[0]} is missing")
    return rows


def _rows_of_json(content: str, path: str) -> Sequence[Any]:
    try:
        value = json.loads(content)
    except ValueError as error:
        raise ValueError(f"{path}: is not JSON ({error})") from None
    rows = value.get("titles") if isinstance(value, dict) else value
    if not isinstance(rows, list):
        raise ValueError(f"{path}: must have a list of titles, or an object with the list under `titles`")
    return rows
