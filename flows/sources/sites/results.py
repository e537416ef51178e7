"""Results of problems as a site gives them: who solved what of one contest."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from ...common.text import quoted
from ..limits import MAX_HANDLE, MAX_NAME, MAX_URL, check_length

_WHOLE = 2**31 - 1  # the largest number of attempts that a file of results holds


@dataclass(frozen=True, slots=True)
class SiteProblem:
    """A problem of a contest; the columns are those of ``schemas.PROBLEMS``."""

    problem: str
    name: str | None = None
    url: str | None = None
    position: int | None = None
    tags: Sequence[str] | None = None
    max_score: float | None = None


@dataclass(slots=True)
class SiteResults:
    """The results of one contest, one row a participant and a problem that they attempted.

    ``players``: as in the contest: ids, where the site has names of players. ``numbers``: of the problem, from 0.
    ``share``, ``after``, ``attempts``: as in ``schemas.RESULTS``; NaN and -1 are unknown.
    """

    contest_id: str
    problems: list[SiteProblem]
    players: list[str] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    share: list[float] = field(default_factory=list)
    after: list[float] = field(default_factory=list)
    attempts: list[int] = field(default_factory=list)

    def add(
        self, players: Sequence[str], number: int, share: float, after: float = math.nan, attempts: int = -1
    ) -> None:
        """Add one row for each member of a participation."""
        for player in players:
            self.players.append(player)
            self.numbers.append(number)
            self.share.append(share)
            self.after.append(after)
            self.attempts.append(attempts)

    def rule_broken(self) -> str:
        """The rule that the results break, in words; empty if none."""
        seen: set[str] = set()
        for one in self.problems:
            texts = (("problem", one.problem, MAX_HANDLE), ("name of a problem", one.name or "", MAX_NAME),
                     ("address of a problem", one.url or "", MAX_URL))  # fmt: skip
            if too_long := next(filter(None, (check_length(*text) for text in texts)), ""):
                return too_long
            if not one.problem or one.problem in seen:
                return f"problem {quoted(one.problem)} is listed twice" if one.problem else "a problem has no id"
            if one.max_score is not None and not 0.0 < one.max_score < math.inf:
                return f"the points of problem {quoted(one.problem)} must be > 0, got {one.max_score:g}"
            seen.add(one.problem)
        for at, (number, share, after, attempts) in enumerate(
            zip(self.numbers, self.share, self.after, self.attempts, strict=True)
        ):
            rule = ""
            if not 0.0 <= share <= 1.0:
                rule = f"the share of the points must be from 0 to 1, got {share:g}"
            elif after < 0.0 or after == math.inf:
                rule = f"the time must be 0 seconds or more, got {after:g}"
            elif not -1 <= attempts <= _WHOLE:
                rule = f"the number of attempts must be from 0 to {_WHOLE:,}, got {attempts}"
            if rule:
                return f"player {quoted(self.players[at])}, problem {quoted(self.problems[number].problem)}: {rule}"
        return ""
