"""The leaderboard of beliefs in memory."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ranklake.rating_kernels.core.beliefs import NEVER

from ..frames.beliefs import PlayerBeliefs
from ..results.display import Display

__all__ = ["leaderboard_of"]


def leaderboard_of(beliefs: PlayerBeliefs, display: Display, min_rounds: int, since: int | None) -> pd.DataFrame:
    """Players with enough rounds, of whom the last is not before ``since``; best first, ties by name.

    The last time is 0 where it is unknown.
    """
    mu, sigma, n_rounds, last = (np.asarray(beliefs.columns[name]) for name in ("mu", "sigma", "n_rounds", "last_time"))
    shown = n_rounds >= max(min_rounds, 1)
    if since is not None:
        shown &= last >= since
    rows = np.flatnonzero(shown)
    rating = display.rating(mu[rows], sigma[rows], n_rounds[rows])
    players = pd.Index(beliefs.players)[rows]
    order = np.lexsort((players.astype(str), -rating))
    rating, rows = rating[order], rows[order]
    return pd.DataFrame(
        {
            "place": np.searchsorted(-rating, -rating, side="left") + 1,
            "player": players[order],
            "rating": rating,
            "mu": mu[rows],
            "sigma": sigma[rows],
            "n_rounds": n_rounds[rows],
            "last_time_seconds": np.where(last[rows] == NEVER, 0, last[rows]),
        }
    )
