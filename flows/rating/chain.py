"""The digests that chain the rounds of a run: each covers the configuration and all contests so far."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from hashlib import blake2b
from typing import Any

from ranklake.storage import Chain, Dataset

__all__ = ["BESIDE", "NUMERICS", "config_digest", "first_break", "required_digests", "round_digests"]

NUMERICS = 2  # increased by a release that changes the bits of any rating; every run is then rated again

BESIDE = ("exclude", "titles", "display")  # keys of run.json outside the configuration digest
_DIGEST_BYTES = 16


def config_digest(facts: Mapping[str, Any]) -> bytes:
    """Digest of the configuration in ``run.json``, without the keys ``BESIDE``: the start of the chain."""
    return blake2b(json.dumps(facts, sort_keys=True, allow_nan=False).encode(), digest_size=_DIGEST_BYTES).digest()


def required_digests(config: Mapping[str, Any], dataset: Dataset) -> list[str]:
    """The required digest of each round of a run, from its configuration as in ``run.json``."""
    facts = {key: value for key, value in config.items() if key not in BESIDE}
    return round_digests(config_digest(facts), dataset, set(config.get("exclude", [])))


def round_digests(digest: bytes, dataset: Dataset, exclude: Collection[str]) -> list[str]:
    """The required digest of each round: of its contest and of all rounds before it.

    Parameters
    ----------
    digest
        Digest of the configuration; see :func:`config_digest`.
    exclude
        Ids of the excluded contests.
    """
    ids, contents = (dataset.contests.column(name).to_pylist() for name in ("contest_id", "content_digest"))
    chain = []
    for contest_id, content in zip(ids, contents, strict=True):
        # of an excluded contest, only the position matters
        update = b"excluded " + contest_id.encode() if contest_id in exclude else bytes.fromhex(content)
        digest = blake2b(digest + update, digest_size=_DIGEST_BYTES).digest()
        chain.append(digest.hex())
    return chain


def first_break(at: int, chain: Chain, dataset: Dataset, before: Collection[str], exclude: Collection[str]) -> str:
    """Describe the change at round ``at``, the first round that is no longer valid.

    Parameters
    ----------
    before, exclude
        Ids of the contests that the run excluded before, and of those that it excludes now.
    """
    contest_ids: list[str] = dataset.contests.column("contest_id").to_pylist()
    rated = [contest_id for segment in chain.segments for contest_id in segment.contest_ids]
    contest, now = rated[at], contest_ids[at] if at < len(contest_ids) else None
    if contest == now:
        fate = "changed" if (contest in before) == (contest in exclude) else "is included again"
        fate = "is excluded" if contest in exclude and contest not in before else fate
    elif contest not in set(contest_ids):
        fate = "was removed"
    elif now not in set(rated):
        contest, fate = str(now), "was inserted"
    else:
        contest, fate = str(now), "was moved here"
    return f"contest {contest}, {fate}"
