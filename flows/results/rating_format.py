"""The format of the ratings of a run for people. Imports no kernel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..common.titles import Titles

__all__ = ["RatingFormat"]


@dataclass(frozen=True, slots=True)
class RatingFormat:
    """The format of the ratings of a run.

    Attributes
    ----------
    titles : Titles
        The titles of the run.
    decimals : int
        Decimals of a display rating; mu and sigma have at least one.
    """

    titles: Titles
    decimals: int

    def rating(self, value: float) -> str:
        """The text of a display rating or a performance."""
        return f"{value:.{self.decimals}f}"

    def change(self, value: float) -> str:
        """The text of a difference of ratings, with its sign."""
        return f"{value:+.{self.decimals}f}"

    def belief(self, value: float) -> str:
        """The text of a mu or sigma."""
        return f"{value:.{max(self.decimals, 1)}f}"

    def style(self, value: float) -> str:
        """The colour of a rating on a terminal; empty without a title."""
        (title,) = self.titles.each(np.array([value]))
        return "" if title is None else title.style
