"""Kaggle: competitions from the files of the "Meta Kaggle" data set, a folder of csv files.

Ranks are those of the private leaderboard. A player in several teams of a competition (teams may merge) is in the one
with the best rank. A team of one is an individual.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from ranklake.storage.datasets.tables.contests import Contest

from ...common.text import quoted
from ..base import SourceError
from ..results import contests_from_results

FILES = {
    "Competitions.csv": ("Id", "Slug", "Title", "DeadlineDate"),
    "Teams.csv": ("Id", "CompetitionId", "TeamName", "PrivateLeaderboardRank"),
    "TeamMemberships.csv": ("TeamId", "UserId"),
    "Users.csv": ("Id", "UserName"),
}
TEXTS = {
    "Slug": "str", "Title": "str", "DeadlineDate": "str", "UserName": "str", "TeamName": "str",
    "PrivateLeaderboardRank": "float64",
}  # fmt: skip
DATE = "%m/%d/%Y %H:%M:%S"  # without a zone; UTC
COLUMNS = {name: name for name in ("contest", "team", "player", "rank", "time", "name", "url")}


def read_meta_kaggle(
    folder: str | os.PathLike[str], now: int, since: int | None = None
) -> Iterator[Contest | SourceError]:
    """Competitions of a folder that are over, in order of their deadlines; one with a fault is its error, as a value.

    Only those that ended from ``since`` until ``now``, UTC seconds. Raises ``SourceError`` if a file is missing or has
    another format.
    """
    competitions, teams, members, users = (_read(Path(folder) / name, columns) for name, columns in FILES.items())
    competitions["time"] = _seconds(competitions, Path(folder) / "Competitions.csv")
    over = (competitions["time"] <= now) & (competitions["time"] >= (since or 0))
    teams = teams[teams["PrivateLeaderboardRank"].notna()]
    ranked = teams.merge(competitions[over], left_on="CompetitionId", right_on="Id", suffixes=("", "_competition"))
    rows = ranked.merge(members, left_on="Id", right_on="TeamId").merge(
        users.rename(columns={"Id": "UserId"}), on="UserId", how="left"
    )
    rows["player"] = rows["UserName"].where(rows["UserName"].notna(), rows["UserId"].astype("str"))
    rows = rows.sort_values(["time", "CompetitionId", "PrivateLeaderboardRank", "UserId"], kind="stable")
    rows = rows.drop_duplicates(["CompetitionId", "UserId"])
    table = pa.table(
        {
            "contest": pa.array(rows["CompetitionId"].astype("str"), pa.string()),
            "team": pa.array(_team_names(rows), pa.string()),
            "player": pa.array(rows["player"], pa.string()),
            "rank": pa.array(rows["PrivateLeaderboardRank"].to_numpy()),
            "time": pa.array(rows["time"].to_numpy()),
            "name": pa.array(rows["Title"], pa.string()),
            "url": pa.array("https://www.kaggle.com/c/" + rows["Slug"], pa.string()),
        }
    )
    if table.num_rows:
        yield from contests_from_results(table, COLUMNS, order="given", source="kaggle")


def _team_names(rows: pd.DataFrame) -> pd.Series[str]:
    """The team of each row, null for a team of one; with its id where two teams of a competition have one name."""
    ids = rows["TeamId"].astype("str")
    name = rows["TeamName"].where(rows["TeamName"].notna(), ids)
    several = rows.assign(name=name).groupby(["CompetitionId", "name"])["TeamId"].transform("nunique") > 1
    name = name.where(~several, name + " (" + ids + ")")
    return name.where(rows.groupby("TeamId")["UserId"].transform("size") > 1)


def _read(path: Path, columns: tuple[str, ...]) -> pd.DataFrame:
    """Some columns of a file."""
    types: dict[str, Any] = {column: TEXTS.get(column, "int64") for column in columns}
    try:
        # An empty name is missing; "NA" and "null" are valid names.
        read = pd.read_csv(path, usecols=list(columns), dtype=types, keep_default_na=False, na_values=[""])
    except FileNotFoundError:
        raise SourceError("no such file; it is part of Meta Kaggle", "kaggle", member=str(path)) from None
    except (ValueError, OSError) as error:  # the error of pandas does not name the file
        raise SourceError(f"not the format of Meta Kaggle: {error}", "kaggle", member=str(path)) from None
    return read


def _seconds(competitions: pd.DataFrame, path: Path) -> pd.Series[int]:
    dates = competitions["DeadlineDate"]
    moments = pd.to_datetime(dates, format=DATE, errors="coerce", utc=True)
    if moments.isna().any():
        at = int(moments.isna().to_numpy().argmax())
        rule = f"DeadlineDate must be as 12/31/2019 23:59:00, got {quoted(dates.iloc[at])}"
        raise SourceError(rule, "kaggle", str(competitions["Id"].iloc[at]), str(path))
    return moments.dt.as_unit("s").astype("int64")
