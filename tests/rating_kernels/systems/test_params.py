"""Hyperparameters that mean nothing: rules for several together, and words and whole numbers.

The range of each one is tested for all systems in ``tests/flows/common/configuration/test_hyperparameters.py``.
"""

from __future__ import annotations

from typing import Any

import pytest

from ranklake.rating_kernels import SYSTEMS

BOTH = "give beta and gamma, or weight_limit and sig_limit"
ELO_MM = [
    ({"sig_limit": 0.0}, "sig_limit must be > 0 rating points unless drift_per_day is, got 0"),
    ({"noob_delay": (0.5, 0.0)}, r"noob_delay\[1\] must be within .*, got 0.0"),
    ({"tie_loss": 0.3}, "tie_loss and tie_win go together, got tie_loss=0.3, tie_win=None"),
    ({"tie_win": 1}, "tie_loss and tie_win go together, got tie_loss=None, tie_win=1.0"),
    ({"tie_loss": 0.0, "tie_win": 1.0}, r"tie_loss must be within 1e-09\.\.1, got 0.0"),
    ({"tie_loss": 0.3, "tie_win": 1.1}, r"tie_win must be within 1e-09\.\.1, got 1.1"),
    *(
        (
            {"tie_mode": mode, "tie_loss": 0.3, "tie_win": 0.7},
            f"give tie_mode, or tie_loss and tie_win, not both; got tie_mode={mode}, tie_loss=0.3, tie_win=0.7",
        )
        for mode in ("full", "split")
    ),
    ({"beta": 200.0}, "beta and gamma go together, got beta=200.0, gamma=None"),
    ({"gamma": 35.0}, "beta and gamma go together, got beta=None, gamma=35.0"),
    ({"beta": 200.0, "gamma": 35.0, "drift_per_day": 3.5}, "drift_per_day goes with weight_limit and sig_limit, not"),
    ({"beta": 200.0, "gamma": 35.0, "weight_limit": 0.3}, BOTH),
    ({"beta": 200.0, "gamma": 35.0, "sig_limit": 90.0}, BOTH),
]
REFUSED: dict[str, list[tuple[dict[str, Any], str]]] = {
    "elo-mmr": [*ELO_MM, ({"history_len": 0}, r"history_len must be a whole number within 1\.\.1000000")],
    "elo-mmx": ELO_MM,
    "elo-mms": [({"practice_rounds": 0.0}, "practice_rounds must be within .* rounds, got 0.0")],
    "elo-r": [
        ({"gamma": 100.0}, r"gamma must be > sigma_star \(100.0 rating points\), got 100.0"),
        ({"max_len": 1}, r"max_len must be a whole number within 2\.\.1000000"),
    ],
    "codeforces": [
        ({"rule": "r328"}, "rule must be one of none, oct2015, r327, got 'r328'"),
        ({"initial": 1400.5, "arithmetic": "integer"}, "initial must be a whole number with arithmetic 'integer'"),
    ],
    "elo-srm": [
        ({"m": 0.0}, "m must be within .* or inf, got 0"),
        ({"alpha": 2.5}, r"alpha must be within 0\.\.2, got 2\.5"),
        ({"alpha": 0.5, "use_weight": True}, "use_weight = true is alpha = 0.5: give one of them, got alpha = 0.5 too"),
        ({"alpha": 0.25, "use_weight": False}, "use_weight = false is alpha = 0: give one of them, got alpha = 0.25"),
    ],
    "elo": [
        ({"k_rule": "fide", "k": 32.0}, "k goes with k_rule fixed, not with FIDE's tiers; got 32"),
        ({"round_digits": 0.5}, "round_digits must be a whole number within 0..12 decimals, got 0.5"),
        ({"round_what": "change"}, "round_what needs round_digits, the decimals to round to; got 'change'"),
    ],
    "glicko": [({"sigma_init": 400.0}, "sigma_init must be at most max_rd = 350.0 rating points, got 400.0")],
    "trueskill": [
        ({"convention": "half_variance"}, "convention half_variance goes with model place, got model adjacent"),
        ({"eps": 1.0}, "eps goes with model place, got eps=1.0"),
        ({"model": "place", "p_draw": 0.1}, "p_draw goes with model adjacent, got p_draw=0.1"),
        ({"model": "place", "eps": 1e-101}, "eps must be within .*, got 1e-101"),
    ],
    "bar": [
        ({"beta": 0}, "beta must be within .*, got 0.0"),
        ({"gamma": "one"}, "gamma goes with the variant btfull, not allpairs_mean; got 'one'"),
    ],
}


@pytest.mark.parametrize(
    ("name", "chosen", "message"), [(name, *row) for name, rows in REFUSED.items() for row in rows], ids=str
)
def test_params__that_mean_nothing_are_refused(name: str, chosen: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SYSTEMS[name].params(**chosen)
