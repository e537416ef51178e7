"""What kernels do with the columns of rounds: parts of them as views, and the reading and writing of beliefs."""

from __future__ import annotations

from .jit import inner_exact
from .standings import RoundColumns
from .system import Outcome, Prior


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


@inner_exact
def read_belief(i, row, store, prior):
    """Write the diffused belief in a row of the store to a row of the round."""
    prior.mu[i], prior.sigma[i], prior.n_before[i] = store.mu[row], store.sigma[row], store.n_rounds[row]


@inner_exact
def keep_belief(i, row, mu, sigma, time_seconds, store, outcome):
    """Write the belief after a round to a row of the store, and to a row of the outcome."""
    store.mu[row], store.sigma[row] = mu, sigma
    outcome.mu[i], outcome.sigma[i] = mu, sigma
    store.n_rounds[row] += 1
    store.last_time[row] = max(store.last_time[row], time_seconds)
