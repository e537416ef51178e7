"""Lakes and runs that lead to ratings."""

from __future__ import annotations

from ranklake.storage import Lake as StoredLake
from ranklake.storage import Run as StoredRun

from .ratings import Ratings

__all__ = ["Lake", "Run"]


class Lake(StoredLake):
    """A lake; see :class:`ranklake.storage.Lake`. Made by ``Lake.open``."""

    def run(self, name: str) -> Run:
        """The run called ``name``.

        Raises
        ------
        MissingError
            The run does not exist; names the existing runs.
        """
        return Run.open(self, name)


class Run(StoredRun):
    """One system's ratings of one data set; see :class:`ranklake.storage.Run`."""

    def ratings(self) -> Ratings:
        """The ratings after the last round; see :meth:`Ratings.open`."""
        return Ratings.open(self.lake, self.name)
