"""Fixed blocks of a round's terms: each block is summed apart, so that bits do not depend on the number of workers."""

from __future__ import annotations

import numpy as np

from ..core.standings import Longs

BLOCK, BLOCKS = 2048, 64  # minimum number of terms a partial sum; maximum number of partial sums a round


def block_starts(n: int) -> Longs:
    """First term of each fixed block of ``n`` terms, then ``n``."""
    size = max(BLOCK, -(-n // BLOCKS))
    return np.append(np.arange(0, n, size), n)
