"""The format of the ratings of a run for people. Imports no kernel."""

from __future__ import annotations

from dataclasses import dataclass

from .titles import Titles

_LARGE = 1e9  # rating points; data.js has the same


@dataclass(frozen=True, slots=True)
class RatingFormat:
    """The format of the ratings of a run; of its ``decimals``, mu and sigma have at least one."""

    titles: Titles
    decimals: int

    def rating(self, value: float) -> str:
        """The text of a display rating or a performance; three digits of a number beyond every scale of ratings."""
        value += 0.0  # no sign before a zero, as in JavaScript
        return f"{value:.{self.decimals}f}" if abs(value) < _LARGE else f"{value:.3g}"

    def change(self, value: float) -> str:
        """The text of a difference of ratings, with its sign."""
        return f"{value:+.{self.decimals}f}" if abs(value) < _LARGE else f"{value:+.3g}"

    def difference(self, before: float, after: float) -> float:
        """The difference of two ratings as they are shown: 1500.4 and 1501.6 without decimals differ by 2."""
        return round(after, self.decimals) - round(before, self.decimals)

    @property
    def least(self) -> float:
        """The least difference that is shown."""
        return float(10.0**-self.decimals)

    def belief(self, value: float) -> str:
        """The text of a mu or sigma."""
        return f"{value:.{max(self.decimals, 1)}f}"

    def style(self, value: float) -> str:
        """The colour of a rating on a terminal; empty without a title."""
        step = self.titles.step(value)
        return "" if step < 0 else self.titles.ladder[step].style
