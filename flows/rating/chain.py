"""The digests that chain the rounds of a run: each covers the configuration and all contests so far."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from hashlib import blake2b
from itertools import accumulate, compress, count, islice
from operator import ne
from typing import Any

from ranklake.storage import Chain, Dataset

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


def config_digest(facts: Mapping[str, Any]) -> bytes:
    """Digest of the configuration in ``run.json``, without the keys ``BESIDE``: the start of the chain."""
    return blake2b(json.dumps(facts, sort_keys=True, allow_nan=False).encode(), digest_size=_DIGEST_BYTES).digest()


def required_digests(config: Mapping[str, Any], dataset: Dataset) -> list[str]:
    """The required digest of each round of a run, from its configuration as in ``run.json``."""
    facts = {key: value for key, value in config.items() if key not in BESIDE}
    state = player_state(config["system"], dataset)
    return round_digests(config_digest(facts), dataset, set(config.get("exclude", [])), state)


def round_digests(digest: bytes, dataset: Dataset, exclude: Collection[str], state: PlayerState) -> list[str]:
    """The required digest of each round: of its contest, with the state of its players, and of all rounds before it,
    and of the configuration.
    """
    contents = list(map(bytes.fromhex, dataset.contests.column("content_digest").to_pylist()))
    add_state(contents, dataset, state)
    if exclude:
        for place, contest_id in enumerate(dataset.contests.column("contest_id").to_pylist()):
            if contest_id in exclude:  # of an excluded contest, only the position matters
                contents[place] = b"excluded " + contest_id.encode()

    def link(before: bytes, content: bytes) -> bytes:
        return blake2b(before + content, digest_size=_DIGEST_BYTES).digest()

    return list(map(bytes.hex, islice(accumulate(contents, link, initial=digest), 1, None)))


def n_valid(recorded: Sequence[str], required: Sequence[str]) -> int:
    """Number of leading rounds whose recorded digest is the required one."""
    differs = map(ne, recorded, required)
    return next(compress(count(), differs), min(len(recorded), len(required)))


def first_break(at: int, chain: Chain, dataset: Dataset, before: Collection[str], exclude: Collection[str]) -> str:
    """Describe the change at round ``at``, the first invalid one, of a run that excluded other contests before."""
    contest_ids: list[str] = dataset.contests.column("contest_id").to_pylist()
    rated = chain.contest_ids
    contest, now = rated[at], contest_ids[at] if at < len(contest_ids) else None
    if contest == now:
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
