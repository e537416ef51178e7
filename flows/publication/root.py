"""The root of a published run, ``index.json``: replaced last, it switches readers to a new state of all tables.

The root names the version of each Delta table, and the files of the plain leaderboard and of the index. The index
serves the commands and the server: the histories by player, the leaderboard and the contests, in Arrow files that are
mapped into memory. The names of files have digests of their contents, so a file never changes, and all parts of one
root belong to one state of the run. The files of the root before stay until the next publish, for readers that have
read it and have not opened them yet. Imports no kernel.
"""

from __future__ import annotations

import time
from typing import Any

import msgspec

from ranklake.storage import Dataset, Lake, MissingError, Run, Segment
from ranklake.storage.lake import layout
from ranklake.storage.lake.access.lake import digest_of_facts
from ranklake.storage.lake.json_files import decode
from ranklake.storage.lake.schemas import FORMAT_VERSION, PUBLISHED
from ranklake.storage.leases.lease import Lease
from ranklake.storage.runs.entry_ratings import entry_files

from ..chances.published import PublishedChances
from ..events.resets import due_resets, pending
from ..events.seasons import ends_of
from ..results.level_shifts import LevelShifts

INDEX = "index.json"
FOLDER = "index"  # of the files of the index, below the published folder of the run
PLAIN = "latest-"  # the first characters of the names of plain leaderboards, beside the root
LATEST = "latest.parquet"  # the newest plain leaderboard, for readers that do not know the root
LATEST_OF, _UNFINISHED = "latest.json", "unfinished.json"
OF_EARLIER_RELEASES = (LATEST_OF, _UNFINISHED)
"""Digest of the plain leaderboard, written last; on a disk, a file that exists during a publish or after a cut."""
_CONTESTS = [name for name in PUBLISHED["contests"].names if name not in ("round_index", "skipped")]


class IndexFile(msgspec.Struct, frozen=True):
    """A file of a root: its name, its size in bytes, and the BLAKE2b-128 of its content in hex."""

    name: str
    size: int
    digest: str


class PartFile(IndexFile, frozen=True):
    """A file with all rows of the rounds from ``start`` to ``stop``, sorted by player.

    ``rows``: number of rows.
    ``teams``: whether the rows have their teams: some of the rounds has teams. Earlier releases wrote no teams.
    """

    start: int
    stop: int
    rows: int
    teams: bool = False


class SmoothedFile(IndexFile, frozen=True):
    """A file with the smoothed rows of all rounds, sorted by player; see ``SMOOTHED_ROWS``.

    ``smoothing``: digest of the smoothing. ``params``: its hyperparameters.
    """

    smoothing: str
    params: dict[str, Any]


class ProblemsFile(IndexFile, frozen=True):
    """A file with the problems of the run, hardest first; see :data:`ranklake.flows.problems.columns.PROBLEM_ROWS`.

    ``solves``: the file with the full solves, sorted by player; see ``SOLVES`` there.
    ``inputs``: digest of all that the problems depend on.
    ``scale``: rating points in which the odds of a solve change tenfold.
    ``uncertainty``: the factor with which sigma flattens chances; 0 if it does not.
    ``left_out``: contests with results that the run has not rated.
    """

    solves: IndexFile
    inputs: str
    scale: float
    uncertainty: float
    left_out: int


class PublishedReset(msgspec.Struct, frozen=True, array_like=True):
    """A reset between rounds of a published run, or after the last one until the publish.

    ``round_index``: the round after it. ``name``, ``time_seconds``: of its season; UTC seconds.
    ``centre``, ``keep``, ``widen``, ``forget``: see :class:`ranklake.rating_kernels.Reset`.
    ``active_since``: only players with a round that ended then or later, UTC seconds. ``players``: only these, by
    index. None: others, too.
    """

    round_index: int
    time_seconds: int
    name: str
    centre: float
    keep: float
    widen: float
    forget: bool
    active_since: int | None
    players: tuple[int, ...] | None


class Root(msgspec.Struct, frozen=True, kw_only=True, tag_field="format", tag=FORMAT_VERSION):
    """The state of a published run, and the parts that have it. The settings of the run are as in ``run.json``.

    ``version``: number of this state, from 1.
    ``content``: digest of all that readers see, in hex. With the version it identifies the state, also after a rebuild.
    ``source``: see :func:`source_digest`.
    ``time_seconds``: time of the publish, UTC seconds since the epoch.
    ``default_deviations``: whether the ``deviations`` of the display rating are those of the system.
    ``minimum``: the lowest display rating; None without one.
    ``sigma_limit``: the ``sigma`` from which on the ``deviations`` lower the display rating, rating points; None in the
    roots of earlier releases.
    ``shift``: the shifts of a steady level; None without one.
    ``mu_init``: mean of a newcomer's belief, rating points.
    ``decimals``: decimals of a display rating.
    ``n_rounds``: rounds, including skipped ones.
    ``games``: whether the rounds are periods of games, of which each has two adjacent rows.
    ``state``: digests that show which rounds a later publish has in common; see ``VersionedContent.state``.
    ``tables``: the version of each Delta table. Empty in the roots of earlier releases, whose tables have their newest
    one.
    ``plain``: the plain leaderboard, beside the root. Earlier releases wrote none.
    ``chances``: draws and advantage that the run has learnt; None for contests of more than two participants. Earlier
    releases wrote none.
    ``indexed``: whether the root is an :class:`IndexManifest`.
    ``places``: who has a place and how wide its interval is, as ``PlaceOptions.to_json``.
    ``uncertainty``: that of the system; None in the roots of earlier releases.
    ``brand``: how the run presents itself, as ``Brand.to_json``.
    ``has_performance``: that of the system; None in the roots of earlier releases.
    ``static``: whether the ratings explain all games at once, and no round changes any.
    ``resets``: those that its leaderboard has, in order. Earlier releases wrote none.
    ``previous``: names of the files of the root before that are not in this one.
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
    state: dict[str, Any]
    previous: tuple[str, ...] = ()
    static: bool = False
    minimum: float | None = None
    sigma_limit: float | None = None
    shift: LevelShifts | None = None
    games: bool = False
    tables: dict[str, int] = {}
    plain: IndexFile | None = None
    chances: PublishedChances | None = None
    indexed: bool = True
    places: dict[str, Any] = {}
    uncertainty: float | None = None
    brand: dict[str, Any] = {}
    has_performance: bool | None = None
    resets: tuple[PublishedReset, ...] = ()

    @property
    def files(self) -> tuple[IndexFile, ...]:
        """All files."""
        return () if self.plain is None else (self.plain,)

    @property
    def etag(self) -> str:
        """The version and a digest of the content: two states with the same text are equal."""
        return f"{self.version}-{self.content[:12]}"


class IndexManifest(Root, frozen=True, kw_only=True, tag_field="format", tag=FORMAT_VERSION):
    """The root of a published run with an index.

    ``parts``: the rows by player, in order of rounds and without a gap.
    ``leaderboard``, ``contests``, ``aliases``: tables of the same state.
    ``attributes``, ``groups``: tables of the same state; None without attributes.
    ``unrated``: the rows of unrated participants, in order of rounds; None without any. Earlier releases wrote no such
    file.
    ``smoothed``: the rows of the smoothing; None unless that is current and has gains.
    ``problems``: the problems; None without results of problems. Earlier releases wrote none.
    ``components``: number of players of each component, largest first. Earlier releases wrote none, and their
    leaderboards have no components.
    ``seasons``: the seasons; None without any. Earlier releases wrote none.
    """

    parts: tuple[PartFile, ...]
    leaderboard: IndexFile
    contests: IndexFile
    aliases: IndexFile
    attributes: IndexFile | None = None
    groups: IndexFile | None = None
    unrated: IndexFile | None = None
    smoothed: SmoothedFile | None = None
    problems: ProblemsFile | None = None
    components: tuple[int, ...] | None = None
    seasons: IndexFile | None = None

    @property
    def files(self) -> tuple[IndexFile, ...]:
        """All files."""
        tables = (self.leaderboard, self.contests, self.aliases, self.attributes, self.groups)
        problems = (self.problems, None if self.problems is None else self.problems.solves)
        further = (self.unrated, self.smoothed, self.seasons, *problems, self.plain)
        return (*self.parts, *(file for file in (*tables, *further) if file is not None))


def index_path(run_name: str, name: str = "") -> str:
    """Path of the root, or of a file that it names, inside the lake."""
    folder = layout.published_folder(run_name)
    if not name:
        return f"{folder}/{INDEX}"
    return f"{folder}/{name}" if name.startswith(PLAIN) else f"{folder}/{FOLDER}/{name}"


def read_published(lake: Lake, run_name: str) -> Root | None:
    """The root of a published run; None without one. Raises as :func:`read_manifest`."""
    path = index_path(run_name)
    try:
        data = lake.read_bytes(path)
    except MissingError:
        return None
    root = decode(Root, data, path)
    return decode(IndexManifest, data, path) if root.indexed else root


def plain_path(run_name: str, root: Root | None) -> str:
    """Path of the plain leaderboard of a root; of its newest copy if there is no root, or one that names none."""
    name = LATEST if root is None or root.plain is None else root.plain.name
    return f"{layout.published_folder(run_name)}/{name}"


def read_manifest(lake: Lake, run_name: str) -> IndexManifest | None:
    """The root of a published run with an index; None if there is no index.

    Raises DamagedError, FormatError: the root cannot be read; it is of another format.
    """
    root = read_published(lake, run_name)
    return root if isinstance(root, IndexManifest) else None


def was_cut_off(lake: Lake, run_name: str) -> bool:
    """Whether a publish was cut off before a root named its tables."""
    names = lake.list(layout.published_folder(run_name))
    return _UNFINISHED in names or not {INDEX, LATEST_OF} & set(names)


def delete_published(lake: Lake, run_name: str, lease: Lease) -> None:
    """Delete the published tables of a run; the roots first, so that no reader begins at a part of them."""
    folder = layout.published_folder(run_name)
    for name in (INDEX, LATEST_OF):
        lease.lake.delete(f"{folder}/{name}")
    lake.flush()
    lease.lake.delete_folder(folder)


def source_digest(run: Run, dataset: Dataset, newest: Segment) -> str:
    """Digest of all that the index of a run depends on: its configuration, its rounds and their contests.

    ``newest``: the last segment of the run; the chain digest of its last round depends on all rounds.

    The columns become Python values, because their conversion to numpy would import pandas.
    """
    contests = dataset.contests.slice(0, newest.stop_round).select(_CONTESTS).to_pydict()
    further = entry_files(run.lake, run.entry_folder)  # the decisions about contests with limits
    events = list(dataset.events())
    facts = [run.config, newest.last_digest, contests, *([further] if further else []), *([events] if events else [])]
    waiting = pending_digests(run, dataset, newest.stop_round)
    return digest_of_facts([*facts, {"resets": waiting}] if waiting else facts)


def pending_digests(run: Run, dataset: Dataset, n_rounds: int) -> list[str]:
    """Digests of the resets after the last of the rounds of a run that have taken place by now, in order."""
    if not dataset.events():
        return []
    resets = due_resets(dataset, run, ends_of(dataset)[:n_rounds])
    return [one.digest.hex() for one in pending(resets, n_rounds, int(time.time()))]
