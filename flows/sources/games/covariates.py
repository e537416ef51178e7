"""Covariates of games in tables, as the option --covariate names them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from ranklake.rating_kernels.core.standings import Floats

from ...common.text import quoted
from ..base import SourceError
from ..columns import as_numbers, is_blank
from .batch import Verdicts

OF_COVARIATE = "covariate "
"""Before the names of covariates among the keys of columns in use."""

CONSTANT = "first"  # a covariate that is 1 in every game
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,39}")


def parse_covariates(settings: Sequence[str]) -> dict[str, str]:
    """The column of each covariate, from settings such as ``length`` or ``length=length_a_minus_b``.

    Raises ``ValueError`` for a name that is none, is given twice, or that of the constant.
    """
    columns: dict[str, str] = {}
    for setting in settings:
        name, equals, column = setting.partition("=")
        if not _NAME.fullmatch(name) or (equals and not column):
            rule = "expected NAME or NAME=COLUMN, with a NAME of at most 40 letters, digits and _, a letter first"
            raise ValueError(f"--covariate {quoted(setting)}: {rule}")
        if name == CONSTANT:
            raise ValueError(
                f"--covariate {CONSTANT} is the name of the constant 1, the advantage of the first player, which every "
                "data set has; give the column another name"
            )
        if name in columns:
            raise ValueError(f"--covariate {name} is given twice")
        columns[name] = column or name
    return columns


def find_covariates(columns: Mapping[str, str], present: Sequence[str], source: str) -> dict[str, str]:
    """The columns of covariates by key; ``SourceError`` for one that the table does not have, or has twice."""
    for name, column in columns.items():
        if column not in present:
            rule = f"has no column {quoted(column)} for --covariate {name}; it has"
            remedy = f"name the column with --covariate {name}=..."
            raise SourceError(f"{rule} {', '.join(map(quoted, present[:20]))}; {remedy}", source)
        if present.count(column) > 1:
            raise SourceError(f"there are two columns {quoted(column)}", source)
    return {OF_COVARIATE + name: column for name, column in columns.items()}


def covariate_of(name: str, column: pa.ChunkedArray, null: float | None, verdicts: Verdicts, source: str) -> Floats:
    """The values of a covariate, as its games tell them; ``null`` where the column is null or blank."""
    numbers, missing = as_numbers(column, name, source)
    blank = is_blank(column)
    values: Floats = np.where(blank, np.nan if null is None else null, numbers).astype(np.float64) + 0.0  # no -0.0
    if null is None and blank.any():
        verdicts.refuse(blank, f"the covariate {name} has no value; --covariate-null 0 takes 0 for it")
    bad = ~blank & (missing | ~np.isfinite(values))
    if bad.any():
        got = quoted(str(column[int(np.argmax(bad))].as_py()))
        verdicts.refuse(bad, f"the covariate {name} must be a finite number, got {got}; correct it")
    return values
