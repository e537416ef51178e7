"""Which module answers which golden vectors: a new system is one more entry."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from golden import (
    answers_bar,
    answers_bradley_terry,
    answers_chances,
    answers_codeforces,
    answers_components,
    answers_elo,
    answers_elo_mmr,
    answers_elo_mms,
    answers_elo_r,
    answers_elo_srm,
    answers_fide,
    answers_glicko,
    answers_margins,
    answers_metrics,
    answers_places,
    answers_problems,
    answers_seasons,
    answers_smoothing,
    answers_teams,
    answers_topcoder,
    answers_trueskill,
)
from golden.runner import Answers, Vector


@dataclass(frozen=True)
class Family:
    """Who answers the vectors of one ``system``.

    Attributes
    ----------
    package, twin
        What the package answers (``step_by_step`` as large rounds are rated), and the plain-Python twin.
    inner
        Expected fields that only summaries and twins show: small rounds are rated without keeping them.
    cancels
        Vectors whose handful of players a table serves less exactly than their rtol, with what it reaches.
    """

    package: Callable[..., Answers]
    twin: Callable[[Vector], Answers]
    inner: Collection[str] = ()
    cancels: Mapping[str, float] | None = None


FAMILIES = {
    "elo_mmr": Family(
        answers_elo_mmr.package,
        answers_elo_mmr.twin,
        # Three players 0 to 5000: each stands alone over a panel, whose series ends at 6e-13 of one term when no others
        # even it out. That moves the root by 1e-10 points.
        cancels={"elo_mmr-gap-full": 1e-9, "elo_mmr-gap-split": 1e-9},
    ),
    "elo_mmr_seasons": Family(answers_seasons.package, answers_seasons.twin),
    "elo_mmr_ties": Family(answers_elo_mmr.package, answers_elo_mmr.twin),
    "elo_mmr_teams": Family(answers_teams.package, answers_teams.twin),
    "elo_mms_teams": Family(answers_teams.package, answers_teams.mms_twin),
    **{name: Family(answers_teams.sums_package, answers_teams.sums_twin) for name in answers_teams.SUMS},
    "elo_mms": Family(
        answers_elo_mms.package,
        answers_elo_mms.twin,
        # Two players 2000 points apart: each is alone on a panel, as in elo_mmr-gap.
        cancels={"elo_mms-upset": 1e-10},
    ),
    "topcoder": Family(answers_topcoder.package, answers_topcoder.twin, answers_topcoder.INNER),
    "bar": Family(answers_bar.package, answers_bar.twin),
    "bt": Family(answers_bradley_terry.package, answers_bradley_terry.twin),
    "elo_r": Family(
        answers_elo_r.package,
        answers_elo_r.twin,
        # Two players of equal weight, 0 and 5000, upside down: their limits cancel, and what is left to find the root
        # by is 1e-8 of a term.
        cancels={"elo_r-gap": 2e-8},
    ),
    **{
        name: Family(answers_codeforces.package, answers_codeforces.twin, inner)
        for name, inner in answers_codeforces.INNER.items()
    },
    "chances": Family(answers_chances.chances, answers_chances.chances_twin),
    "chances_fit": Family(answers_chances.fits, answers_chances.fits_twin),
    "elo": Family(answers_elo.package, answers_elo.twin),
    **{
        name: Family(answers_elo_srm.package, answers_elo_srm.twin, answers_elo_srm.INNER)
        for name in ("elo_srm", "elo_srm_variants")
    },
    "fide": Family(answers_fide.tables, answers_fide.tables_twin),
    "fide_performance": Family(answers_fide.performances, answers_fide.performances_twin),
    "fide_periods": Family(answers_fide.periods, answers_fide.periods_twin),
    "glicko": Family(answers_glicko.package, answers_glicko.twin, answers_glicko.INNER),
    "glicko2": Family(answers_glicko.package, answers_glicko.twin, answers_glicko.INNER),
    "margins": Family(answers_margins.package, answers_margins.twin),
    "metrics": Family(answers_metrics.package, answers_metrics.twin),
    "components": Family(answers_components.package, answers_components.twin),
    "places": Family(answers_places.package, answers_places.twin),
    "problems": Family(answers_problems.difficulty, answers_problems.difficulty_twin),
    "problems_player": Family(answers_problems.player, answers_problems.player_twin),
    "smoothed_differences": Family(answers_smoothing.differences, answers_smoothing.differences_twin),
    "smoothing": Family(answers_smoothing.package, answers_smoothing.twin),
    "trueskill": Family(answers_trueskill.package, answers_trueskill.twin),
}
