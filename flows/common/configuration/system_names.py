"""The names of the rating systems as a type, for checkers and editors."""

from __future__ import annotations

from typing import Literal

__all__ = ["SystemName"]

SystemName = Literal[
    "elo-mmr",
    "elo-mmx",
    "elo-mms",
    "elo-r",
    "codeforces",
    "cf-general",
    "leetcode",
    "atcoder",
    "topcoder",
    "elo-srm",
    "elo",
    "glicko",
    "glicko2",
    "glicko-allpairs",
    "trueskill",
    "bar",
]
