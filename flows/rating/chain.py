"""The digests that chain the rounds of a run, from its configuration and its contests; no kernel is imported."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from hashlib import blake2b
from typing import Any

from ranklake.storage import Chain, Dataset

__all__ = ["BESIDE", "NUMERICS", "config_digest", "first_break", "round_digests"]

NUMERICS = 2  # raise it when a release changes the bits of any rating: runs then begin anew

BESIDE = ("exclude", "titles")  # what run.json holds beside the configuration that ratings depend on
_DIGEST_BYTES = 16


def config_digest(facts: Mapping[str, Any]) -> bytes:
    """Digest of what ``run.json`` says beside the contests it excludes: the start of the chain."""
    return blake2b(json.dumps(facts, sort_keys=True, allow_nan=False).encode(), digest_size=_DIGEST_BYTES).digest()


def round_digests(digest: bytes, dataset: Dataset, exclude: Collection[str]) -> list[str]:
    """The digest that each round must have: of its contest, and of all before it.

    Parameters
    ----------
    digest
        Of the configuration; see :func:`config_digest`.
    exclude
        Contests that are passed over.
    """
    ids, contents = (dataset.contests.column(name).to_pylist() for name in ("contest_id", "content_digest"))
    chain = []
    for contest_id, content in zip(ids, contents, strict=True):
        # of an excluded contest nothing matters but that it is there
        update = b"excluded " + contest_id.encode() if contest_id in exclude else bytes.fromhex(content)
        digest = blake2b(digest + update, digest_size=_DIGEST_BYTES).digest()
        chain.append(digest.hex())
    return chain


def first_break(at: int, chain: Chain, dataset: Dataset, before: Collection[str], exclude: Collection[str]) -> str:
    """What became of the contest of the first round that no longer holds, in words.

    Parameters
    ----------
    before, exclude
        Contests that the run passed over, and those that it is to pass over.
    """
    contest_ids: list[str] = dataset.contests.column("contest_id").to_pylist()
    rated = [contest_id for segment in chain.segments for contest_id in segment.contest_ids]
    contest, now = rated[at], contest_ids[at] if at < len(contest_ids) else None
    if contest == now:
        fate = "changed" if (contest in before) == (contest in exclude) else "is included again"
        fate = "is excluded" if contest in exclude and contest not in before else fate
    elif contest not in set(contest_ids):
        fate = "is no longer there"
    elif now not in set(rated):
        contest, fate = str(now), "came in between"
    else:
        contest, fate = str(now), "was moved here"
    return f"contest {contest}, {fate}"
