"""Lakes and runs that lead to ratings."""

from __future__ import annotations

import os
from typing import Self

import pandas as pd

from ranklake.storage import Dataset
from ranklake.storage import Lake as StoredLake
from ranklake.storage import Run as StoredRun
from ranklake.storage.datasets.player_attributes import player_attributes
from ranklake.storage.lake.access.files import find_lake
from ranklake.storage.lake.limits import Limits

from ..common.arguments import checked
from .ratings import Ratings


class Lake(StoredLake):
    """The lake at a path or at any address that fsspec knows; see :class:`ranklake.storage.Lake`.

    Parameters
    ----------
    create
        Make the folder if it does not exist; a bucket is never made.
    limits
        Sizes of the files that are written.

    Raises
    ------
    AddressError
        The address cannot be that of a lake.
    LakeError
        The folder does not exist and ``create`` is false, or it cannot be made.
    """

    def __init__(self, url: str | os.PathLike[str], *, create: bool = False, limits: Limits | None = None) -> None:
        super().__init__(*find_lake(url, create=create), limits)

    @classmethod
    def open(cls, url: str | os.PathLike[str], *, create: bool = False, limits: Limits | None = None) -> Self:
        """The same as ``Lake(url)``."""
        return cls(url, create=create, limits=limits)

    @checked
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

    def attributes(self) -> pd.DataFrame:
        """The attributes of the players, as countries: a row for each player who has some, a column for each.

        The index has the current handles; where a player has no value, it is null.
        """
        rows = player_attributes(Dataset.open(self.lake, self.config["dataset"])).to_pandas()
        table: pd.DataFrame = rows.pivot(index="handle", columns="attribute", values="value").rename_axis(columns=None)
        return table

    def ratings(self) -> Ratings:
        """The ratings after the last round; see :meth:`Ratings.open`."""
        return Ratings.open(self.lake, self.name)
