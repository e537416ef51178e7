"""Parts of the columns of rounds inside of kernels, as views."""

from __future__ import annotations

from .jit import inner_exact
from .standings import RoundColumns
from .system import Outcome, Prior

__all__ = ["prior_of", "rounds_part", "rows_part"]


@inner_exact
def rounds_part(rounds, r, stop):
    """Rounds ``r`` to ``stop - 1``; their offsets stay those in all rows."""
    i, j = rounds.offsets[r], rounds.offsets[stop]
    return RoundColumns(
        rounds.offsets[r : stop + 1], rounds.player[i:j], rounds.lo[i:j], rounds.hi[i:j], rounds.time_seconds[r:stop],
        rounds.weight[r:stop], rounds.perf_ceiling[r:stop], rounds.participants[r:stop], rounds.advantage[i:j],
    )  # fmt: skip


@inner_exact
def rows_part(outcome, i, j):
    """Rows ``i`` to ``j - 1`` of an outcome."""
    return Outcome(
        outcome.perf[i:j], outcome.mu_prior[i:j], outcome.sigma_prior[i:j], outcome.mu[i:j], outcome.sigma[i:j],
        outcome.n_before[i:j],
    )  # fmt: skip


@inner_exact
def prior_of(rows, beta):
    """The columns of an outcome that the first step writes, with space for ``beta``."""
    return Prior(rows.mu_prior, rows.sigma_prior, beta, rows.n_before)
