"""Segments of a run: their manifests, and the valid chain of segments from round 0."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import msgspec

from ..lake.access.lake import Lake, Written
from ..lake.errors import DamagedError, LakeError, MissingError
from ..lake.json_files import decode
from ..lake.layout import number_of, numbered
from ..lake.remedies import damaged
from ..lake.schemas import FORMAT_VERSION

DATA = ".parquet"
MANIFEST = ".json"
_AND = " and "  # between the kinds of machine of merged segments


class AppliedReset(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A reset that a run has applied, as its manifests record it.

    Attributes
    ----------
    round_index : int
        The round after it.
    event_id, name, time_seconds
        The event of the data set, with the name of its season; UTC seconds.
    centre, keep, widen, forget
        See :class:`ranklake.rating_kernels.Reset`. No centre: the mean of all players with a round, not noted.
    active_since : int or None
        It acted only on players with a round that ended then or later, UTC seconds.
    listed : bool
        Whether it acted only on the players that the run has on record, see :mod:`.reset_players`.
    """

    round_index: int
    event_id: int
    name: str
    time_seconds: int
    centre: float | None
    keep: float
    widen: float
    forget: bool
    active_since: int | None
    listed: bool


class RoundEntry(NamedTuple):
    """One rated round, for :meth:`ranklake.storage.runs.run.Run.append`.

    ``rows`` is its number of rated rows in the segment's table; ``digest`` its chain digest, hex; ``skipped`` whether
    it was skipped because its result contains no information; ``unrated`` its number of other rows in the table;
    ``resets`` those between the round before and this one.
    """

    round_index: int
    contest_id: str
    rows: int
    digest: str
    skipped: bool = False
    unrated: int = 0
    resets: tuple[AppliedReset, ...] = ()


class Segment(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, tag_field="format", tag=FORMAT_VERSION):
    """Consecutive committed rounds that share a file. Its JSON, in this order of keys, is the manifest.

    Attributes
    ----------
    first_round : int
        Index of the first; the others follow without a gap.
    contest_ids, rows, digests : tuple
        One entry a round: its contest, its number of rated rows, its chain digest in hex.
    skipped : tuple of int
        Indices of the rounds that were skipped.
    parent : str
        Chain digest of the round before the first; empty at round 0.
    n_rows : int
        Rated rows of the file.
    file : str
        Name of the Parquet file: its first round's number, or the first and the last one where segments were merged.
    file_size, file_digest
        Size of the file in bytes, and its BLAKE2b-128 in hex.
    unrated : tuple of int
        Rows of unrated participants of each round; empty, and not in the manifest, if there are none.
    machine : str
        The kind of machine that rated the rounds, or all kinds after a merge; empty, and not in the manifest, if
        release 0.1 rated them, which ignores it.
    resets : tuple of AppliedReset
        Resets before rounds of the segment, in order; empty, and not in the manifest, if there are none.

    Raises
    ------
    ValueError
        The lists of rounds are empty or of different lengths, or do not fit ``n_rows`` and ``file``.
    """

    first_round: int
    contest_ids: tuple[str, ...]
    rows: tuple[int, ...]
    digests: tuple[str, ...]
    skipped: tuple[int, ...]
    parent: str
    n_rows: int
    file: str
    file_size: int
    file_digest: str
    unrated: tuple[int, ...] = ()
    machine: str = ""
    resets: tuple[AppliedReset, ...] = ()

    def __post_init__(self) -> None:
        fitting = len(self.contest_ids) == len(self.rows) == len(self.digests) > 0 and sum(self.rows) == self.n_rows
        files = numbered(self.first_round, DATA), merged_file(self.first_round, self.stop_round - 1)
        fitting &= len(self.unrated) in (0, len(self.rows))
        if not fitting or self.file not in files:
            raise ValueError("its lists of rounds do not fit each other")

    @classmethod
    def of(cls, entries: Sequence[RoundEntry], parent: str, written: Written, machine: str = "") -> Segment:
        """The segment of ``entries``, rounds without a gap."""
        _, contest_ids, rows, digests, _, unrated, _ = zip(*entries, strict=True)
        first = entries[0].round_index
        skipped = tuple(entry.round_index for entry in entries if entry.skipped)
        file, unrated = numbered(first, DATA), unrated if any(unrated) else ()
        facts = contest_ids, rows, digests, skipped, parent, sum(rows), file
        resets = tuple(reset for entry in entries for reset in entry.resets)
        return cls(first, *facts, *written, unrated, machine, resets)

    @classmethod
    def merged(cls, segments: Sequence[Segment], written: Written) -> Segment:
        """One segment in place of several consecutive ones."""
        first = segments[0]
        contest_ids, rows, digests, skipped = (
            tuple(chain.from_iterable(getattr(segment, name) for segment in segments))
            for name in ("contest_ids", "rows", "digests", "skipped")
        )
        file = merged_file(first.first_round, segments[-1].stop_round - 1)
        unrated = tuple(chain.from_iterable(segment.unrated or (0,) * len(segment.rows) for segment in segments))
        facts = contest_ids, rows, digests, skipped, first.parent, sum(rows), file
        machine = _AND.join(dict.fromkeys(chain.from_iterable(segment.machines for segment in segments)))
        resets = tuple(chain.from_iterable(segment.resets for segment in segments))
        return cls(first.first_round, *facts, *written, unrated if any(unrated) else (), machine, resets)

    @property
    def stop_round(self) -> int:
        """Index after the last round."""
        return self.first_round + len(self.digests)

    @property
    def machines(self) -> list[str]:
        """The kinds of machine that rated the rounds; empty if none is recorded."""
        return self.machine.split(_AND) if self.machine else []

    @property
    def last_digest(self) -> str:
        """Chain digest of the last round."""
        return self.digests[-1]

    def rows_between(self, start: int, stop: int | None, unrated: bool = False) -> slice:
        """The rated rows, or all rows, of the rounds from ``start`` to ``stop`` among those of the segment."""
        rows = (
            self.rows
            if not (unrated and self.unrated)
            else [a + b for a, b in zip(self.rows, self.unrated, strict=True)]
        )
        first = max(self.first_round, start) - self.first_round
        last = None if stop is None else max(stop - self.first_round, first)
        before = sum(rows[:first])
        return slice(before, before + sum(rows[first:last]))

    def to_json(self) -> bytes:
        """The manifest."""
        return msgspec.json.encode(self)


@dataclass(frozen=True, slots=True)
class Chain:
    """The committed rounds of a run.

    Attributes
    ----------
    segments : tuple of Segment
        The valid prefix: from round 0, without a gap, each with the last digest of its predecessor as parent.
    rest : tuple of int
        First rounds of the manifests that are not part of the prefix.
    reason : str
        Why the prefix ends, one line; empty if ``rest`` is.
    """

    segments: tuple[Segment, ...]
    rest: tuple[int, ...]
    reason: str

    @property
    def stop_round(self) -> int:
        """Index after the last committed round: the next to rate."""
        return self.segments[-1].stop_round if self.segments else 0

    @property
    def last_digest(self) -> str:
        """Chain digest of the last committed round; empty if there is none."""
        return self.segments[-1].last_digest if self.segments else ""

    @property
    def contest_ids(self) -> list[str]:
        """The contest of each round."""
        return [contest_id for segment in self.segments for contest_id in segment.contest_ids]

    @property
    def resets(self) -> list[AppliedReset]:
        """The resets between the rounds, in order."""
        return [reset for segment in self.segments for reset in segment.resets]

    @property
    def digests(self) -> list[str]:
        """The digest of each round."""
        return [digest for segment in self.segments for digest in segment.digests]


def merged_file(first_round: int, last_round: int) -> str:
    """Name of the data of merged segments: differs from all their names, so that both can exist."""
    return f"{numbered(first_round)}-{numbered(last_round, DATA)}"


def read_chain(lake: Lake, folder: str) -> Chain:
    """The valid prefix of the segments in ``folder``, from one listing and the manifests.

    A manifest inside the range of an earlier one was replaced by a merge; it is skipped.

    Raises FormatError: a manifest is of another format.
    """
    sizes = lake.sizes(folder)
    numbers = sorted(number for name in sizes if (number := number_of(name, MANIFEST)) is not None)
    manifests = lake.read_many_or_errors([f"{folder}/{numbered(number, MANIFEST)}" for number in numbers])
    segments: list[Segment] = []
    for at, (number, manifest) in enumerate(zip(numbers, manifests, strict=True)):
        if segments and number < segments[-1].stop_round:
            continue
        try:
            segments.append(_follow(manifest, folder, number, sizes, segments[-1] if segments else None))
        except (DamagedError, MissingError) as error:
            return Chain(tuple(segments), tuple(numbers[at:]), str(error))
    return Chain(tuple(segments), (), "")


def read_newest(lake: Lake, folder: str) -> Segment | None:
    """The segment of the newest manifest in ``folder``, from one listing and one read; None if there is none.

    The segments before it are not checked. A replaced segment ends no later than the merged one.

    Raises LakeError: the manifest cannot be read.
    """
    number = max((n for name in lake.list(folder) if (n := number_of(name, MANIFEST)) is not None), default=None)
    if number is None:
        return None
    path = f"{folder}/{numbered(number, MANIFEST)}"
    return decode(Segment, lake.read_bytes(path), path)


def _follow(
    manifest: bytes | LakeError, folder: str, number: int, sizes: dict[str, int], before: Segment | None
) -> Segment:
    path = f"{folder}/{numbered(number, MANIFEST)}"
    if isinstance(manifest, LakeError):
        raise manifest
    next_round, parent = (before.stop_round, before.last_digest) if before else (0, "")
    if number != next_round:
        raise damaged(f"{folder}/{numbered(next_round, MANIFEST)}", f"is missing, while {path} is there")
    segment = decode(Segment, manifest, path)
    if segment.first_round != number:
        raise damaged(path, f"has round {segment.first_round} as its first round")
    if segment.parent != parent:
        raise damaged(path, f"has parent {segment.parent!r}, the round before has digest {parent!r}")
    data = segment.file
    if sizes.get(data) != segment.file_size:
        actual = f"has {sizes[data]} bytes" if data in sizes else "is missing"
        raise damaged(f"{folder}/{data}", f"{actual}, its manifest records {segment.file_size} bytes")
    return segment
