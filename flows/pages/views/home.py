"""The runs of a server as cards: who leads each, and its last contest."""

from __future__ import annotations

from typing import Any

from ...answers.contests import winners
from ...answers.run import PublishedRun
from ..links import ServerLinks
from .leaderboard import ACTIVE, Choice
from .run import facts

_LEADERS = 3
_LATEST = 20  # contests among which the last rated one is looked for


def card(run: PublishedRun, links: ServerLinks) -> dict[str, Any]:
    """A run, its links, the first rows of its leaderboard, and its last rated contest; None if it is not known."""
    choice = Choice()
    best = choice.rows(run, 0, _LEADERS).rows.select(["handle", "rating"]).to_pylist()
    return {
        "run": facts(run),
        "links": links,
        "leaders": best,
        "active": ACTIVE.get(choice.span(run), ""),
        "last": _last_contest(run, links),
    }


def _last_contest(run: PublishedRun, links: ServerLinks) -> dict[str, Any] | None:
    """``name, time_seconds, address`` and ``winner`` of the last contest that was rated, of the latest ones.

    A period of games has no winner, but ``n_games`` and ``n_players``.
    """
    for contest in run.contests(0, _LATEST).rows.to_pylist():
        if not contest["skipped"]:
            key, index = contest["contest_id"], contest["round_index"]
            return {
                "name": contest["name"] or key,
                "time_seconds": contest["time_seconds"],
                "address": links.contest(key),
                "winner": winners(run, [index]).get(index),
                **({"n_games": contest["n_games"], "n_players": contest["n_players"]} if run.manifest.games else {}),
            }
    return None
