"""The reading and writing of beliefs in kernels, which have the rows of a round in the columns of many.

Views of these columns for every small round would cost more than the arithmetic of a game of two.
"""

from __future__ import annotations

from .jit import inner_exact
from .system import Prior


@inner_exact
def prior_of(outcome, beta):
    """The columns of an outcome that the first step writes, with space for ``beta``."""
    return Prior(outcome.mu_prior, outcome.sigma_prior, beta, outcome.n_before)


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
