"""The data of a site as JSON, in files of the size of one request: leaderboard, histories, contests, search.

Every table is an object with one list a column. Ratings have the decimals that people are shown; a value that is not
finite is null.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ranklake.storage.names.folding import words_of

from ..answers.contests import counts_of
from ..results.places import rounded_down
from .content import Round, SiteContent
from .games import beside, results

HISTORY = ("contest", "place", "perf", "sigma", "change", "margin")  # columns of a player; also "team", with teams
PAGE_ROWS = 1_000  # of a page of the leaderboard
_SHARD_ROWS = 4_096  # participations in a file of histories, about
_LEVEL_SHARE = 8  # newer rounds, which every new round rewrites, are at most this part of all participations
_PREFIX = 2  # characters of the search index
_BEST = 50  # players listed under a single character
LIST_ROWS = 50_000  # players in a file for the search of parts of handles

_encoder = msgspec.json.Encoder()
encode = _encoder.encode


def numbers(values: npt.NDArray[np.float64], decimals: int) -> list[float | int | None]:
    """Rounded values for JSON; whole numbers without decimals, None for values that are not finite."""
    values = np.asarray(values, np.float64)
    finite = np.isfinite(values)
    rounded = np.round(np.where(finite, values, 0.0), decimals) + 0.0
    shown: list[Any] = (rounded.astype(np.int64) if decimals == 0 else rounded).tolist()
    for missing in np.flatnonzero(~finite).tolist():
        shown[missing] = None
    return shown


def board_pages(board: pa.Table, decimals: int, **further: Sequence[Any]) -> Iterator[dict[str, list[Any]]]:
    """The leaderboard in pages of ``PAGE_ROWS``; ``percentile`` is rounded down."""
    percentile = rounded_down(board.column("percentile").to_numpy())
    columns: dict[str, list[Any]] = {
        name: board.column(name).to_pylist() for name in ("place", "handle", "n_rounds", "last_time_seconds")
    } | {name: numbers(board.column(name).to_numpy(), decimals) for name in ("rating", "mu", "sigma", "max_rating")}
    columns |= {"percentile": numbers(percentile, 2), **{name: list(values) for name, values in further.items()}}
    for start in range(0, board.num_rows, PAGE_ROWS):
        yield {name: values[start : start + PAGE_ROWS] for name, values in columns.items()}


def contest_rows(
    content: SiteContent, round_index: int, rows: Round, before: npt.NDArray[np.float64], after: npt.NDArray[np.float64]
) -> dict[str, Any]:
    """The standings of a round with the ratings after it and their changes; ``before`` is NaN for newcomers.

    A round of teams has ``team``: the name for each member, None for individuals. A round with unrated participants has
    ``rated``; they have the place among the rated ones, after those who share it, and no rating before a first round.
    A system without performances has no ``perf``. A period of games has two rows a game, places in the game, and
    ``n_games``.
    """
    if not rows["rated"].all():
        order = np.argsort(2 * rows["lo"] + ~rows["rated"], kind="stable")
        rows, before, after = {name: column[order] for name, column in rows.items()}, before[order], after[order]
    decimals, about = content.format.decimals, content.about
    has_performance = content.display.system.has_performance and not content.of_games
    change = np.round(np.round(after, decimals) - np.round(before, decimals), decimals)
    shown = {name: about[name][round_index] for name in ("contest_id", "name", "url", "time_seconds", "n_players")}
    of_teams = content.has_teams(round_index, round_index + 1)
    teams = {"team": content.teams(round_index, rows["player"])} if of_teams else {}
    return (
        shown
        | teams
        | {
            "place": (rows["lo"] + 1).tolist(),
            "handle": [content.handles[player] for player in rows["player"].tolist()],
            "rating": numbers(after, decimals),
            "change": numbers(change, decimals),
        }
        | (counts_of(rows["player"]) if content.of_games else {})
        | ({"perf": numbers(rows["perf"], decimals)} if has_performance else {})
        | ({} if rows["rated"].all() else {"rated": rows["rated"].tolist()})
        | ({"names": [content.names.get(content.handles[i]) for i in rows["player"].tolist()]} if content.names else {})
    )


def levels(rows: npt.NDArray[np.int64]) -> list[tuple[int, int]]:
    """The rounds of each level of histories: a large one of old rounds that rarely changes, then the newer ones.

    The cut depends on the numbers of participations alone: it moves when their sum passes a multiple of a power of two
    that is at most the eighth part of all.
    """
    total = int(rows.sum())
    step = max(_SHARD_ROWS, 1 << max((total // _LEVEL_SHARE).bit_length() - 1, 0))
    cut = int(np.searchsorted(np.cumsum(rows), total // step * step, side="right"))
    return [(start, stop) for start, stop in pairwise([0, cut, len(rows)]) if rows[start:stop].sum()]


def shard_count(n_rows: int) -> int:
    """Number of files for so many participations, a power of two."""
    return 1 << max((n_rows // _SHARD_ROWS).bit_length(), 0)


def history_shards(content: SiteContent, start: int, stop: int, shards: int) -> Iterator[tuple[int, dict[str, Any]]]:
    """Histories in the rounds from ``start`` to ``stop``: each file's number, and its players.

    A player is in the file whose number is the CRC-32 of the handle, modulo the number of files. ``handle`` and
    ``rows`` have the players of a file and the number of rows of each; each of :data:`HISTORY` has their rows, one
    player after the other, oldest round first. ``contest`` and ``change`` are the index of the round and
    the rating in the first round, then the differences from round to round; ``margin`` is mu less the rating. If any
    of the rounds has teams, ``team`` is the name of the player's team, None for an individual. Rows of games have the
    ``result``, ``win``, ``draw`` or ``loss``, and the ``opponent``; ``names`` are display names of opponents by handle.
    """
    columns = ("player", "lo", "perf", "mu", "sigma", "n_before", *(["hi"] if content.of_games else []))
    parts: dict[str, list[npt.NDArray[Any]]] = defaultdict(list)
    of_teams = content.has_teams(start, stop)
    for round_index, rows in content.each(start, stop, columns):
        parts["contest"].append(np.full(len(rows["player"]), round_index, np.int32))
        for name in columns:
            parts[name].append(rows[name])
        if of_teams:
            parts["team"].append(np.array(content.teams(round_index, rows["player"]), object))
    joined = {name: np.concatenate(arrays) for name, arrays in parts.items()}
    player, shard = joined["player"], (content.checksums % np.uint32(shards))[joined["player"]]
    order = np.argsort(shard.astype(np.int64) * len(content.handles) + player, kind="stable")
    player, shard = player[order], shard[order]
    mu, sigma = joined["mu"], joined["sigma"]
    rating = content.display.rating(mu, sigma, joined["n_before"] + np.int32(1), joined["contest"])
    decimals = content.format.decimals
    newly = np.diff(player, prepend=-1) != 0
    scale = 10.0**decimals
    shown = {name: np.round(values[order] * scale) for name, values in (("mu", mu), ("rating", rating))}
    columns_of: dict[str, npt.NDArray[Any]] = {
        "contest": _differences(joined["contest"][order], newly),
        "place": joined["lo"][order] + 1,
        "perf": joined["perf"][order],
        "sigma": sigma[order],
        "change": _differences(shown["rating"], newly) / scale,
        "margin": (shown["mu"] - shown["rating"]) / scale,
    }
    if of_teams:
        columns_of["team"] = joined["team"][order]
    if content.of_games:
        columns_of["result"] = np.array(results(joined), object)[order]
        columns_of["opponent"] = np.array(content.handles, object)[beside(joined["player"])[order]]
    first = np.flatnonzero(newly)  # of each player
    n_rows, bounds = np.diff(first, append=len(player)), np.searchsorted(shard[first], np.arange(shards + 1)).tolist()
    edges = np.append(first, len(player))[bounds].tolist()
    for number, (begin, end) in enumerate(pairwise(bounds)):
        some = slice(edges[number], edges[number + 1])
        opponents = sorted({*columns_of["opponent"][some]} & content.names.keys()) if content.of_games else []
        against = {one: content.names[one] for one in opponents}
        file = {
            "handle": [content.handles[index] for index in player[first[begin:end]].tolist()],
            "rows": n_rows[begin:end].tolist(),
        }
        for name, values in columns_of.items():
            part = values[some]
            file[name] = numbers(part, decimals) if part.dtype == np.float64 else part.tolist()
        yield number, file | ({"names": against} if against else {})


def _differences(values: npt.NDArray[Any], newly: npt.NDArray[np.bool_]) -> npt.NDArray[Any]:
    """The differences from row to row; where a player is new, the value itself."""
    return np.where(newly, values, np.diff(values, prepend=0))


def search_buckets(handles: list[str], ratings: list[Any]) -> dict[str, dict[str, list[Any]]]:
    """The players of a leaderboard by the first two characters of the folded handle, and the best by the first one."""
    found: dict[str, list[int]] = defaultdict(list)
    for i, handle in enumerate(handles):
        prefix = "".join(words_of(handle))[:_PREFIX]
        found[prefix].append(i)
        if len(prefix) == _PREFIX and len(best := found[prefix[:1]]) < _BEST:
            best.append(i)
    return {
        prefix: {"handle": [handles[i] for i in rows], "rating": [ratings[i] for i in rows]}
        for prefix, rows in found.items()
    }


def search_lists(
    handles: list[str], ratings: list[Any], names: Mapping[str, str] | None = None
) -> Iterator[dict[str, list[Any]]]:
    """All players of a leaderboard, best first, in files in which a script searches; with the display ``names``."""
    for start in range(0, len(handles), LIST_ROWS):
        rows = slice(start, start + LIST_ROWS)
        shown = {"name": [names.get(handle) for handle in handles[rows]]} if names else {}
        yield {"handle": handles[rows], "rating": ratings[rows], **shown}
