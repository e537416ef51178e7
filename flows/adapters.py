"""Between Arrow tables of the lake and arrays of the kernels: every conversion lives here."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from rating_kernels import Outcome, Rounds
from storage import StandingsPart
from storage.schemas import ROUNDS

__all__ = ["to_rounds", "to_table"]


def to_rounds(part: StandingsPart, contests: pa.Table) -> Rounds:
    """Stored standings of consecutive contests as rounds; they were checked when they came in."""
    rows = contests.slice(part.first_contest, len(part))
    times, weights = rows.column("time_seconds").to_numpy(), rows.column("weight").to_numpy()
    ceilings = pc.fill_null(rows.column("perf_ceiling"), np.inf).to_numpy()
    columns = (part.offsets, part.player, part.lo, part.hi, times, weights, ceilings)
    return Rounds(*(np.array(column) for column in columns))  # Arrow's are read-only: kernels would be compiled twice


def to_table(
    rounds: Rounds, outcome: Outcome, round_index: npt.NDArray[np.int32], contest_ids: Sequence[str]
) -> pa.Table:
    """What rounds did to their participants, as rows of the rounds table.

    Parameters
    ----------
    round_index, contest_ids
        One entry a round.
    """
    sizes = np.diff(rounds.offsets)
    contest = pa.array(contest_ids, pa.string()).take(pa.array(np.repeat(np.arange(len(rounds)), sizes)))
    perf = pa.array(outcome.perf, from_pandas=True)  # NaN, no performance, becomes null
    columns = [np.repeat(round_index, sizes), contest, rounds.player, rounds.lo, rounds.hi, perf]
    columns += [outcome.mu_prior, outcome.sigma_prior, outcome.mu, outcome.sigma, outcome.n_before]
    return pa.Table.from_arrays([pa.array(column) for column in columns], schema=ROUNDS)
