"""A drift that the run learns: a table of the mean change of a skill, by rounds played and days away.

The model is this project's, not a paper's. Cell (i, j) has the players with k rounds before, of row i, who were away
for some days, of column j. With the mean m of a performance below the skill, y = perf - (mu - m), at most 60 points
either way, is the surprise of a player with k > 0. A round of N participants, tau = max(0, 1 - 2 / N),

    before   mu += tau (D[i, j] - level),  level = sum u D / sum u over the rows with k >= 8
    after    D += kappa_i (S - C mean y) / (C + n + 1500);  n = min(n + C, 20000);  u += C

where S and C are sum and count of y in a cell. The mean of y over the round is subtracted: what moves all participants
alike says nothing about a cell. A round without tau, a duel, neither reads nor changes the table.

S is a sum of whole multiples of 2^-30 points, so that its order does not matter; it is exact for 10^8 participants.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..core.jit import exact, inner_exact
from ..core.standings import Floats
from .diffusion import elapsed_days

FIRST_ROUNDS = (1, 2, 3, 5, 8, 13, 22, 37, 62, 105)  # k from which the next row begins
MOST_DAYS = (3.0, 6.0, 12.0, 24.0, 48.0, 96.0, 192.0, 384.0, 768.0)  # up to these, column by column; then the last one
RATES = (1.0, 1.0, 0.6, 0.4, 0.25, 0.2, 0.15, 0.15, 0.15, 0.15)  # kappa of each row
CELLS = (len(FIRST_ROUNDS), len(MOST_DAYS) + 1)
LIMIT = 60.0  # rating points: the most that one surprise counts
_ESTABLISHED = 4  # row of k = 8, from which the level counts
_INERTIA, _MOST = 1500.0, 20_000.0
_SCALE = 2.0**30


class Table(NamedTuple):
    """The table of a run: drift D in rating points, observations that it remembers n, all observations u."""

    drift: Floats
    memory: Floats
    weight: Floats


NO_TABLE = Table(np.zeros((0, 0)), np.zeros((0, 0)), np.zeros((0, 0)))


@inner_exact
def _row(n_rounds):
    row = 0
    while row + 1 < len(FIRST_ROUNDS) and n_rounds >= FIRST_ROUNDS[row + 1]:
        row += 1
    return row


@inner_exact
def _column(days):
    column = 0
    while column < len(MOST_DAYS) and days > MOST_DAYS[column]:
        column += 1
    return column


@inner_exact
def _level(table):
    """The mean drift of established players."""
    total, count = 0.0, 0.0
    for i in range(_ESTABLISHED, CELLS[0]):
        for j in range(CELLS[1]):
            total += table.weight[i, j] * table.drift[i, j]
            count += table.weight[i, j]
    return total / count if count > 0.0 else 0.0


@exact
def move_rows(begin, end, player, time_seconds, tau, table, store):
    """Add the learnt drift to the beliefs of rows ``player[begin:end]``; newcomers stay as they are."""
    level = _level(table)
    for i in range(begin, end):
        row = player[i]
        n = store.n_rounds[row]
        if n > 0:
            days = elapsed_days(time_seconds, store.last_time[row])
            store.mu[row] += tau * (table.drift[_row(n), _column(days)] - level)


@exact
def observe_rows(begin, end, player, time_seconds, shift, prior, perf, store, sums):
    """Add the surprises of rows ``player[begin:end]``, before their beliefs change, to ``sums``: S and C by cell."""
    for i in range(begin, end):
        n = prior.n_before[i]
        if n > 0:
            days = elapsed_days(time_seconds, store.last_time[player[i]])
            surprise = min(max(perf[i] - (prior.mu[i] - shift), -LIMIT), LIMIT)
            sums[0, _row(n), _column(days)] += np.int64(math.floor(surprise * _SCALE + 0.5))
            sums[1, _row(n), _column(days)] += 1


@exact
def learn_rows(table, sums):
    """Change the table after a round, and clear the sums."""
    total, count = 0, 0
    for i in range(CELLS[0]):
        for j in range(CELLS[1]):
            total += sums[0, i, j]
            count += sums[1, i, j]
    if count == 0:
        return
    mean = total / _SCALE / count
    for i in range(CELLS[0]):
        for j in range(CELLS[1]):
            n = float(sums[1, i, j])
            if n > 0.0:
                excess = sums[0, i, j] / _SCALE - n * mean
                table.drift[i, j] += RATES[i] * excess / (n + table.memory[i, j] + _INERTIA)
                table.memory[i, j] = min(table.memory[i, j] + n, _MOST)
                table.weight[i, j] += n
            sums[0, i, j] = sums[1, i, j] = 0
