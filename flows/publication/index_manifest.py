"""The manifest of the index of a published run, ``index.json``: replaced last, it switches readers to new files.

The index serves the commands and the server: the histories by player, the leaderboard and the contests, in Arrow files
that are mapped into memory. Their names have digests of their contents, so a file never changes, and all files of one
manifest belong to one state of the run. The files of the manifest before stay until the next publish, for readers that
have read it and have not opened them yet. Imports no kernel.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

import msgspec

from ranklake.storage import Dataset, Lake, MissingError, Run, Segment
from ranklake.storage.lake import layout
from ranklake.storage.lake.json_files import decode
from ranklake.storage.lake.schemas import FORMAT_VERSION, PUBLISHED
from ranklake.storage.runs.entry_ratings import entry_files

__all__ = ["FOLDER", "INDEX", "IndexFile", "IndexManifest", "PartFile", "index_path", "read_manifest", "source_digest"]

INDEX = "index.json"
FOLDER = "index"  # of the files, below the published folder of the run
_CONTESTS = [name for name in PUBLISHED["contests"].names if name not in ("round_index", "skipped")]


class IndexFile(msgspec.Struct, frozen=True):
    """A file of the index: its name, its size in bytes, and the BLAKE2b-128 of its content in hex."""

    name: str
    size: int
    digest: str


class PartFile(IndexFile, frozen=True):
    """A file with all rows of the rounds from ``start`` to ``stop``, sorted by player.

    Attributes
    ----------
    rows : int
        Number of rows.
    teams : bool
        Whether the rows have their teams: some of the rounds has teams. Earlier releases wrote no teams.
    """

    start: int
    stop: int
    rows: int
    teams: bool = False


class IndexManifest(msgspec.Struct, frozen=True, tag_field="format", tag=FORMAT_VERSION):
    """The state of a published run and the files that have it.

    Attributes
    ----------
    version : int
        Number of this state, from 1.
    content : str
        Digest of all that readers see, in hex. With the version it identifies the state, also after a rebuild.
    source : str
        See :func:`source_digest`.
    time_seconds : float
        Time of the publish, UTC seconds since the epoch.
    dataset, system, params
        The data set, the system and its hyperparameters, as in ``run.json``.
    deviations : float
        Deviations of the display rating; ``default_deviations`` whether they are those of the system.
    minimum : float or None
        The lowest display rating; None without one.
    mu_init : float
        Mean of a newcomer's belief, rating points.
    decimals : int
        Decimals of a display rating.
    titles
        The titles, as in ``run.json``.
    n_rounds : int
        Rounds, including skipped ones.
    parts : tuple of PartFile
        The rows by player, in order of rounds and without a gap.
    leaderboard, contests, aliases : IndexFile
        Tables of the same state.
    attributes, groups : IndexFile or None
        Tables of the same state; None without attributes.
    games : bool
        Whether the rounds are periods of games, of which each has two adjacent rows.
    unrated : IndexFile or None
        The rows of unrated participants, in order of rounds; None without any. Earlier releases wrote no such file.
    state : dict
        Digests that show which rounds a later publish has in common; see ``Content.state``.
    pools : tuple of int or None
        Number of players of each pool, largest first, as ``Pools.sizes``. Earlier releases wrote none.
    previous : tuple of str
        Names of the files of the manifest before that are not in this one.
    """

    version: int
    content: str
    source: str
    time_seconds: float
    dataset: str
    system: str
    params: dict[str, Any]
    deviations: float
    default_deviations: bool
    mu_init: float
    decimals: int
    titles: Any
    n_rounds: int
    parts: tuple[PartFile, ...]
    leaderboard: IndexFile
    contests: IndexFile
    aliases: IndexFile
    state: dict[str, Any]
    previous: tuple[str, ...] = ()
    minimum: float | None = None
    attributes: IndexFile | None = None
    groups: IndexFile | None = None
    games: bool = False
    unrated: IndexFile | None = None
    pools: tuple[int, ...] | None = None

    @property
    def files(self) -> tuple[IndexFile, ...]:
        """All files."""
        further = (file for file in (self.attributes, self.groups, self.unrated) if file is not None)
        return (*self.parts, self.leaderboard, self.contests, self.aliases, *further)

    @property
    def etag(self) -> str:
        """The version and a digest of the content: two states with the same text are equal."""
        return f"{self.version}-{self.content[:12]}"


def index_path(run_name: str, name: str = "") -> str:
    """Path of the manifest, or of a file of the index, inside the lake."""
    folder = layout.published_folder(run_name)
    return f"{folder}/{FOLDER}/{name}" if name else f"{folder}/{INDEX}"


def read_manifest(lake: Lake, run_name: str) -> IndexManifest | None:
    """The manifest of the index of a run; None if there is no index.

    Raises
    ------
    DamagedError, FormatError
        The manifest cannot be read; it is of another format.
    """
    path = index_path(run_name)
    try:
        data = lake.read_bytes(path)
    except MissingError:
        return None
    return decode(IndexManifest, data, path)


def source_digest(run: Run, dataset: Dataset, newest: Segment) -> str:
    """Digest of all that the index of a run depends on: its configuration, its rounds and their contests.

    Parameters
    ----------
    newest
        The last segment of the run; the chain digest of its last round depends on all rounds.

    Notes
    -----
    The columns become Python values, because their conversion to numpy would import pandas.
    """
    contests = dataset.contests.slice(0, newest.stop_round).select(_CONTESTS).to_pydict()
    further = entry_files(run.lake, run.entry_folder)  # the decisions about contests with limits
    facts = [run.config, newest.last_digest, contests, *([further] if further else [])]
    source = json.dumps(facts, sort_keys=True, allow_nan=False)
    return hashlib.blake2b(source.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
