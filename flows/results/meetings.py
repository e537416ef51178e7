"""Who met whom in the rated rounds of a run, found by rounds that join players. Imports no kernel."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ranklake.storage import Chain, Dataset, Run
from ranklake.storage.datasets.tables.games import GAMES_KIND
from ranklake.storage.runs.components import Meetings

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
STORED_FROM = 200_000  # participations of a run from which who met whom is stored: fewer are read in 30 ms


def join(roots: Ints, first: Longs, player: Ints) -> Ints:
    """The least index of the players who met each player, after further rounds.

    ``roots``: that before; of players who met nobody their own index.
    ``first``: the first of the participations ``player`` of each round.

    Every pass gives the components of a round the least root among them. A pass takes O(rows of rounds that are not
    joined yet), and few are needed: 4.3 million participations take 0.1 s, also if the players are one chain.
    """
    sizes = np.diff(first, append=len(player))
    while len(first):
        of_row = roots[player]
        least = np.minimum.reduceat(of_row, first)
        left = np.maximum.reduceat(of_row, first) != least
        if not left.any():
            break
        rows = np.repeat(left, sizes)
        player, of_row, sizes = player[rows], of_row[rows], sizes[left]
        first, joined = np.cumsum(sizes) - sizes, roots.copy()
        np.minimum.at(joined, of_row, np.repeat(least[left], sizes))
        while not np.array_equal(joined, shorter := joined[joined]):
            joined = shorter
        roots = joined
    return roots


def meetings_of(run: Run, dataset: Dataset, chain: Chain, stop: int | None = None) -> Meetings:
    """Who met whom in a run, or in its first ``stop`` rounds.

    Continues from the newest snapshot that has it, and reads three columns of the rounds after that. Unrated
    participants connect nobody, unless rated ones compete with them.
    """
    n, stop = dataset.n_players, chain.stop_round if stop is None else min(stop, chain.stop_round)
    start, before = _newest(run, chain, stop)
    n_before = len(before.roots)
    roots, n_rounds = np.arange(n, dtype=np.int32), np.zeros(n, np.int32)
    roots[:n_before], n_rounds[:n_before] = before
    if start < stop:
        _, first, player = _rounds(run, dataset, chain, (start, stop), n_rounds)
        roots = join(roots, first, player)
    return Meetings(roots, n_rounds)


def meetings_of_dataset(dataset: Dataset) -> Meetings:
    """Who met whom in all contests of a data set, of which none is excluded."""
    n = dataset.n_players
    roots, n_rounds = np.arange(n, dtype=np.int32), np.zeros(n, np.int32)
    in_field = dataset.contests.column("field_includes_unrated").fill_null(False).to_numpy()
    for part in dataset.standings(0, dataset.contests.num_rows):
        player, index = part.player, np.repeat(np.arange(len(part)), np.diff(part.offsets))
        if part.games is not None:
            roots = join(roots, np.arange(0, len(player), 2), player)
        elif part.rated is None:
            roots = join(roots, part.offsets[:-1], player)
        else:
            met = part.rated | in_field[part.first_contest + index]
            roots = join(roots, np.flatnonzero(np.diff(index[met], prepend=-1)), player[met])
        n_rounds += np.bincount(player if part.rated is None else player[part.rated], minlength=n).astype(np.int32)
    return Meetings(roots, n_rounds)


def _newest(run: Run, chain: Chain, stop: int) -> tuple[int, Meetings]:
    """The first round after the newest stored record of who met whom, and that record; round 0 without one."""
    for last_round in reversed([number for number in run.snapshots() if number < stop]):
        found = run.meetings(last_round, chain.digests[last_round])
        if found is not None:
            return last_round + 1, found
    return 0, Meetings(np.empty(0, np.int32), np.empty(0, np.int32))


class Participations(NamedTuple):
    """Who took part in the meetings of a run: its rounds, or its games.

    ``round_index`` (int32[k]): the round of each meeting.
    ``first`` (int64[k]): the first of the participations ``player`` (int32[n]) of each.
    """

    round_index: Ints
    first: Longs
    player: Ints


def participations(run: Run, dataset: Dataset, chain: Chain) -> tuple[Participations, npt.NDArray[np.bool_]]:
    """All participations that connect players, and whether each player has a rated round."""
    n_rounds = np.zeros(dataset.n_players, np.int32)
    return _rounds(run, dataset, chain, (0, chain.stop_round), n_rounds), n_rounds > 0


def _rounds(run: Run, dataset: Dataset, chain: Chain, rounds: tuple[int, int], n_rounds: Ints) -> Participations:
    """The participations of some rounds that connect players; counts the rated rounds of players."""
    in_field, parts = _in_field(dataset, chain), [(np.empty(0, np.int32), np.empty(0, np.int32))]
    columns = ("round_index", "player", "n_before")
    for _, table in run.iter_segments(*rounds, columns, chain=chain, unrated=True):
        index, player, n_before = (table.column(name).to_numpy() for name in columns)
        if "rated" in table.column_names:
            rated = table.column("rated").fill_null(True).to_numpy()
            n_rounds[player[rated]] = n_before[rated] + 1
            met = rated | in_field[index]
            index, player = index[met], player[met]
        else:
            n_rounds[player] = n_before + 1
        parts.append((index, player))
    index, player = (np.concatenate(column) for column in zip(*parts, strict=True))
    of_games = dataset.kind == GAMES_KIND  # two rows a game
    first = np.arange(0, len(player), 2) if of_games else np.flatnonzero(np.diff(index, prepend=-1))
    return Participations(index[first], first, player)


def _in_field(dataset: Dataset, chain: Chain) -> npt.NDArray[np.bool_]:
    """Whether the rated participants of each round compete with unrated ones."""
    ids = pa.array(chain.contest_ids, pa.string())
    at = pc.index_in(ids, value_set=dataset.contests.column("contest_id").combine_chunks())
    found = dataset.contests.column("field_includes_unrated").combine_chunks().take(at)
    return np.asarray(found.fill_null(False).to_numpy(zero_copy_only=False))


def store_meetings(run: Run, chain: Chain, found: Meetings, least_rows: int = STORED_FROM) -> None:
    """Store who met whom beside the snapshot of the last round, for runs of at least ``least_rows`` participations."""
    last_round = chain.stop_round - 1
    if sum(segment.n_rows for segment in chain.segments) >= least_rows and last_round in run.snapshots()[-1:]:
        run.write_meetings(last_round, found, chain.last_digest)
