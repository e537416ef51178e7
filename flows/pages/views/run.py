"""The run, for every page."""

from __future__ import annotations

from ...answers.run import PublishedRun
from ...results.attributes import grouping
from ...results.rating_format import RatingFormat
from ..places import places_line
from ..render import RunFacts


def facts(run: PublishedRun) -> RunFacts:
    """The run, for every page."""
    known = run.facts
    form = RatingFormat(run.titles, known["decimals"])
    counts = known["n_players"], known["n_rounds"], known["last_time_seconds"] or 0
    places = places_line(run.places, run.uncertainty, run.brand.players)
    names = run.name, known["system"], known["dataset"]
    return RunFacts(
        *names,
        *counts,
        form,
        grouping(run.attributes),
        components=known["note"],
        places=places,
        n_provisional=known["n_provisional"],
        brand=run.brand,
        names=run.names,
        countries=run.countries,
        has_performance=run.has_performance,
        n_problems=known["n_problems"],
        static=run.manifest.static,
    )
