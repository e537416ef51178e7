"""The digests that chain the rounds of a run: each covers the configuration and all contests so far."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from hashlib import blake2b
from itertools import accumulate, combinations, compress, count, islice
from operator import ne
from typing import Any

from ranklake.storage import Chain, Dataset, Event
from ranklake.storage.runs.stored_run import StoredRun

from ..events.resets import DueReset, add_resets, due_resets
from .player_state import PlayerState, add_state, player_state

NUMERICS = 2  # increased by a release that changes the bits of any rating; every run is then rated again

BESIDE = (
    "exclude",
    "titles",
    "display",
    "accept_rounding",
    "chances",
    "brand",
)  # keys of run.json that no digest covers
_DIGEST_BYTES = 16
_TRIED = 2  # resets before one round that are tried to explain a digest


def config_digest(facts: Mapping[str, Any]) -> bytes:
    """Digest of the configuration in ``run.json``, without the keys ``BESIDE``: the start of the chain."""
    return blake2b(json.dumps(facts, sort_keys=True, allow_nan=False).encode(), digest_size=_DIGEST_BYTES).digest()


def required_digests(run: StoredRun, dataset: Dataset) -> list[str]:
    """The required digest of each round of a run, from its configuration in ``run.json``."""
    return round_digests(config_digest(_facts(run)), _contents_of(run, dataset), due_resets(dataset, run))


def round_digests(digest: bytes, contents: Sequence[bytes], resets: Iterable[DueReset]) -> list[str]:
    """The required digest of each round: of its content, of the resets before it, of all rounds before it, and of the
    configuration.
    """
    contents = list(contents)
    add_resets(contents, resets)
    return list(map(bytes.hex, islice(accumulate(contents, _link, initial=digest), 1, None)))


def round_contents(dataset: Dataset, exclude: Collection[str], state: PlayerState) -> list[bytes]:
    """The content of each round: of its contest, with the state of its players."""
    contents = list(map(bytes.fromhex, dataset.contests.column("content_digest").to_pylist()))
    add_state(contents, dataset, state)
    if exclude:
        for place, contest_id in enumerate(dataset.contests.column("contest_id").to_pylist()):
            if contest_id in exclude:  # of an excluded contest, only the position matters
                contents[place] = b"excluded " + contest_id.encode()
    return contents


def _contents_of(run: StoredRun, dataset: Dataset) -> list[bytes]:
    return round_contents(dataset, set(run.config.get("exclude", [])), player_state(run.config["system"], dataset))


def _link(before: bytes, content: bytes) -> bytes:
    return blake2b(before + content, digest_size=_DIGEST_BYTES).digest()


def n_valid(recorded: Sequence[str], required: Sequence[str]) -> int:
    """Number of leading rounds whose recorded digest is the required one."""
    differs = map(ne, recorded, required)
    return next(compress(count(), differs), min(len(recorded), len(required)))


def first_break(
    at: int, chain: Chain, dataset: Dataset, run: StoredRun, exclude: Collection[str], required: Sequence[str]
) -> str:
    """Describe the change at round ``at``, the first invalid one, of a run that now excludes other contests.

    ``required``: the digests that the rounds must have now.
    """
    contest_ids: list[str] = dataset.contests.column("contest_id").to_pylist()
    rated, before = chain.contest_ids, set(run.config.get("exclude", []))
    contest, now = rated[at], contest_ids[at] if at < len(contest_ids) else None
    if contest == now:
        if (contest in before) == (contest in exclude) and (event := _changed_event(at, chain, dataset, run, required)):
            return f"contest {contest}, {event}"
        fate = "changed" if (contest in before) == (contest in exclude) else "is included again"
        fate = "is excluded" if contest in exclude and contest not in before else fate
        if fate == "changed" and dataset.contests.column("scored")[at].as_py():
            fate += " (its points are a part of it, also for runs without margins)"
    elif contest not in set(contest_ids):
        fate = "was removed"
    elif now not in set(rated):
        contest, fate = str(now), "was inserted"
    else:
        contest, fate = str(now), "was moved here"
    return f"contest {contest}, {fate}"


def _changed_event(at: int, chain: Chain, dataset: Dataset, run: StoredRun, required: Sequence[str]) -> str:
    """The reset that comes before round ``at`` since it was rated, or no longer does; empty if its contest changed.

    The digest of the round then was that of its contest with some of the resets that were ever recorded.
    """
    rows = [row for row in dataset.events().rows if row.kind == "reset"]
    if not rows:
        return ""
    now = [reset for reset in due_resets(dataset, run) if reset.round_index == at]
    known = run.reset_players()
    others = [row for row in rows if row.event_id not in {reset.event.event_id for reset in now}]
    candidates = [*now, *(DueReset(at, row, known.get(row.event_id), True) for row in others)]
    candidates.sort(key=lambda reset: (reset.event.time_seconds, reset.event.event_id))
    start = bytes.fromhex(required[at - 1]) if at else config_digest(_facts(run))
    content = _contents_of(run, dataset)[at]
    for n in range(min(len(candidates), _TRIED) + 1):
        for then in combinations(candidates, n):
            digest = _link(start, b"".join(reset.digest for reset in then) + content)
            if digest.hex() == chain.digests[at]:
                return _difference([one.event for one in then], [one.event for one in now])
    return ""


def _difference(then: Sequence[Event], now: Sequence[Event]) -> str:
    """In words, how the resets before a round differ from those of then."""
    gone = [event.name for event in then if event not in now]
    new = [event.name for event in now if event not in then]
    texts = [f"season {name} now comes before it" for name in new]
    return " and ".join([*texts, *(f"season {name} no longer comes before it" for name in gone)])


def _facts(run: StoredRun) -> dict[str, Any]:
    return {key: value for key, value in run.config.items() if key not in BESIDE}
