"""Publish a run as a static site, see :mod:`ranklake.flows.site.writer` for how it is written."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ranklake.storage import Lake, LakeError
from ranklake.storage.lake import layout
from ranklake.storage.leases.acquire import hold_lease

from ..common.extras import need
from ..common.finite import finite_json
from ..common.progress import ProgressCallback, not_shown
from ..common.text import byte_size, count
from ..events.seasons import Season
from ..pages.views.graph_data import ladder, season_marks
from ..results.titles import TitlesChoice
from .content import SiteContent, digest
from .parts import SiteParts
from .shards import encode
from .shared import UNSHARED, Shared
from .writer import SiteFiles

FORMAT = 1
MAX_ROUNDS = 200_000


@dataclass(frozen=True, slots=True)
class SiteReport:
    """The report of a publish: numbers of ``rounds`` and of files ``written``, ``kept`` and ``removed``."""

    rounds: int
    version: str
    written: int = 0
    kept: int = 0
    removed: int = 0
    n_bytes: int = 0
    seconds: float = 0.0

    def line(self) -> str:
        """The report in one line."""
        if not self.written:
            return f"on the site already: {count(self.rounds, 'round')}, version {self.version}"
        return (
            f"site of {count(self.rounds, 'round')} written in {self.seconds:.1f} s: {count(self.written, 'file')} "
            f"({byte_size(self.n_bytes)}), {self.kept:,} unchanged, {self.removed:,} old ones removed; "
            f"version {self.version}"
        )


def publish_site(
    lake: Lake,
    run_name: str,
    folder: str,
    deviations: float | None = None,
    titles: TitlesChoice = None,
    steal: bool = False,
    rebuild: bool = False,
    on_progress: ProgressCallback = not_shown,
    places: Mapping[str, Any] | None = None,
    brand: Mapping[str, Any] | None = None,
    shared: Shared = UNSHARED,
) -> SiteReport:
    """Write the current state of a run as a site of static files.

    ``folder``: folder or address of an object store. An existing site of the run gets a new version.
    ``deviations``, ``titles``: see :class:`ranklake.flows.answers.rated_run.RatedRun`.
    ``places``, ``brand``: as for :class:`ranklake.flows.publication.content.Content`.
    ``shared``: the public address of the site, and how many players and contests have pages and cards for programs.
    ``steal``: take the lease over from a writer that is certainly dead.
    ``rebuild``: write every file again, and replace the site of another run.
    ``on_progress``: called with the rows that are written, of all: participations and players, each for two kinds of
    pages.
    Raises LakeError: the run does not exist or has no ratings, another writer holds its lease, or the folder has other
    files.
    Raises MissingExtraError: the package jinja2 is not installed.
    """
    need("jinja2", "serve", "a site")
    began = time.perf_counter()
    with hold_lease(lake, layout.run_folder(run_name), f"publish {run_name}", steal=steal):
        content = SiteContent(lake, run_name, deviations, titles, places=places, brand=brand)
        if content.n_rounds > MAX_ROUNDS:
            rule = f"a site has at most {MAX_ROUNDS:,} rounds, run {run_name} has {content.n_rounds:,}"
            raise LakeError(f"{rule}; `ranklake publish` writes tables of any size")
        with SiteFiles(folder, run_name, rebuild) as files:
            return _write(content, files, shared, rebuild, on_progress, began)


def _write(
    content: SiteContent, files: SiteFiles, shared: Shared, rebuild: bool, on_progress: ProgressCallback, began: float
) -> SiteReport:
    """Write a new version, unless the newest one shows the current state."""
    parts = SiteParts(content, files, shared, on_progress)
    state = digest(FORMAT, content.key(), parts.look, shared.most)
    if files.manifest().get("state") == state and not rebuild:
        return SiteReport(content.n_rounds, files.previous.rstrip("/"))
    files.start(content.run)
    parts.statics()
    contests, n_players = parts.rounds()
    manifest = {
        "format": FORMAT,
        "state": state,
        "run": content.run,
        "system": content.system,
        "dataset": content.dataset,
        "decimals": content.format.decimals,
        "uncertainty": parts.uncertainty,
        "deviations": content.display.deviations,
        "sigma_limit": content.display.sigma_limit,
        "steady": content.display.shift is not None,
        "minimum": finite_json(content.display.minimum),
        "has_performance": parts.facts.has_performance,
        **({"games": True} if content.of_games else {}),
        "titles": ladder(content.format.titles),
        **season_marks([Season.from_json(facts) for facts in content.seasons.to_pylist()]),
        "players": parts.board.num_rows,
        "ranked": parts.facts.n_ranked,
        **parts.ranked_in(),
        "rounds": content.n_rounds,
        "last_time_seconds": parts.facts.last_time_seconds,
        "histories": parts.histories(n_players),
        **parts.contests(contests),
        "leaderboard": parts.leaderboard(),
        "distribution": parts.distribution(),
        **parts.groups(),
        **parts.problems(),
        **parts.past_places(),
        **parts.search(),
    }
    parts.active()
    parts.seasons()
    files.page("manifest.json", encode(manifest))
    files.switch(parts.shells(contests), parts.index())
    removed = files.clean()
    seconds = time.perf_counter() - began
    version = files.version.rstrip("/")
    return SiteReport(content.n_rounds, version, files.written, files.kept, removed, files.bytes_written, seconds)
