"""Sizes that change the files of a lake or how they are read, and no data: values that tests vary."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Sizes of files and of reads.

    ``file_rows``, ``file_games``: consecutive contests share a file until it has so many participations, or so many
    games or results of problems, so that a million small contests need few files.
    ``view_rows``: contests that follow each other in one file are returned as a view from so many rows on. Shorter
    ranges, as after corrections and sorting, are copied together: each costs a few array operations, as does a file.
    ``gathered_rows``: rows that are copied together.
    ``single_reads``: up to so many contests to be corrected are read one by one, more in one range.
    ``part_players``: handles in a part of the index of players; smaller parts are merged with new ones.
    ``shard_contests``: least and most contests of a shard of the table of contests. A commit rewrites the contests
    after the shards: 5 MB. Cutting a million contests that have not changed takes 0.03 s, encoding them 0.8 s.
    ``shard_end``: a shard ends after a ``source_digest`` below this text: one of 32,768.
    ``index_rows``: rows in a part of the index of a published run, which bounds the memory of a publish.
    """

    file_rows: int = 2_000
    file_games: int = 250_000
    view_rows: int = 1_000
    gathered_rows: int = 1 << 18
    single_reads: int = 32
    part_players: int = 1 << 16
    shard_contests: tuple[int, int] = (1 << 15, 1 << 17)
    shard_end: str = "0002"
    index_rows: int = 1 << 20


DEFAULT = Limits()
