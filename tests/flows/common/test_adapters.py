"""Conversions between tables and rounds."""

from __future__ import annotations

import numpy as np

from ranklake.flows.common.adapters import concat_rounds
from ranklake.rating_kernels import Rounds


def test_concat_rounds__without_advantages_beside_some_have_zeros() -> None:
    places = [[0, 2], [0, 1], [0, 1], [0, 1]]
    without, some = Rounds.from_columns(*places), Rounds.from_columns(*places, advantage=[17.5, -17.5])

    joined = concat_rounds([without, some, without])

    assert joined.advantage.tolist() == [0.0, 0.0, 17.5, -17.5, 0.0, 0.0]
    assert joined.with_advantages.tolist() == [False, True, False]
    assert np.array_equal(joined.player, [0, 1] * 3)
    assert not len(concat_rounds([without, without]).advantage)
