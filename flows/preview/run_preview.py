"""Preview of a contest with the ratings of a run in the lake: its system, hyperparameters, aliases and titles."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ranklake.storage import Dataset, Lake, Run
from ranklake.storage.datasets.tables.aliases import Alias, canonical
from ranklake.storage.names.search import Search

from ..chances.record import learnt_chances
from ..chances.to_come import GamesToCome
from ..common.brand import UNBRANDED, Brand
from ..common.skipping import Skipping
from ..engines.threads import Threads
from ..execution.rater import BeliefColumns, select_beliefs
from ..frames.run_state import RunState
from ..rating.player_state import newcomers_with_state, with_state
from ..results.display import Display
from ..results.rated_rounds import RatedRounds
from ..results.titles import TitlesChoice, titles_of
from .newcomers import name_newcomers
from .preview import Preview, Rules, preview_next
from .standings import Standings

Longs = npt.NDArray[np.int64]

_NONE = -1


@dataclass(frozen=True, slots=True, eq=False)
class RunPreview:
    """A run in memory, ready for previews; it never changes.

    ``run``: the name of the run.
    ``rules``: the system with the hyperparameters of the run, the titles, and the contests that the run skips.
    ``handles``: the names of the players with beliefs.
    ``columns``: the belief about each of them, as from ``Beliefs.columns``.
    ``aliases``: the aliases of the data set.
    ``n_rated``: so many of them are players of the data set; the others have a rating by attributes, and no contest.
    ``names`` (() -> Search): all names of the data set, the best rating first, then old ones.
    ``n_events``, ``last_time``, ``latest``: events before the contest; end of the last round that counts, and of the
    latest round, UTC seconds.
    """

    run: str
    rules: Rules
    handles: pa.StringArray
    columns: BeliefColumns
    n_rated: int
    aliases: Mapping[str, Alias]
    names: Callable[[], Search]
    n_events: int
    last_time: int
    latest: int

    @classmethod
    def open(
        cls,
        lake: Lake,
        run_name: str,
        deviations: float | None = None,
        titles: TitlesChoice = None,
        among: Sequence[str] | None = None,
    ) -> Self:
        """The state of a run after its last round; ``deviations``, ``titles`` as for :class:`.rated_run.RatedRun`.

        ``among``: names of all participants of the contests to preview: only their beliefs are kept in memory.
        Raises LakeError: there is no such run, or it has no ratings or was interrupted.
        """
        run = Run.open(lake, run_name)
        display, dataset = Display.of(run, deviations), Dataset.open(lake, run.config["dataset"])
        handles, aliases, players = dataset.handles(), dataset.log().aliases, None
        names = cache(partial(_names_of, run, dataset, display))
        if among is not None:
            possible = _possible_names(aliases, among)
            players = np.flatnonzero(pc.is_in(handles, pa.array(possible, pa.string())).to_numpy(zero_copy_only=False))
            handles = handles.take(pa.array(players))
        state = RunState.read(run, dataset, players)
        ladder = titles_of(run, dataset, display.params.mu_init, titles)
        games = cache(partial(_games_of, lake, run_name))  # read at the first preview of a game
        rules = Rules(display, ladder, Skipping.from_json(run.config), games)
        known, columns = handles.slice(0, len(state.columns["mu"])), state.columns
        n_rated = len(known)
        new, given = newcomers_with_state(display.system.name, dataset, display.params)
        if given:  # beliefs about players whom the run has not met
            rows = np.append(np.arange(len(known)), np.full(len(new), _NONE))
            of_known = np.full(len(known), np.nan)
            own = {name: np.concatenate([of_known, values]) for name, values in given.items()}
            columns = with_state(select_beliefs(display.system, display.params, columns, rows), own)
            known = pa.concat_arrays([known, new])
        latest = max([int(state.ends.max()), *([] if state.reset_time is None else [state.reset_time])])
        return cls(run_name, rules, known, columns, n_rated, aliases, names, state.n_events, state.last_time, latest)

    def preview(self, standings: Standings, engine: Threads | None = None, brand: Brand = UNBRANDED) -> Preview:
        """The contest as the next one of the run. A pure function, safe in several threads.

        ``standings``: names of the data set, old ones too; other players are newcomers. Without a time, the contest
        ends with the latest round. ``brand``: with the words of the notes. Raises as
        :func:`.preview.preview_next`; ValueError: two names are one player's.
        """
        rows = self._rows(standings.players, self.latest if standings.time_seconds is None else standings.time_seconds)
        display, ends = self.rules.display, (self.last_time, self.latest)
        beliefs = select_beliefs(display.system, display.params, self.columns, rows)
        found = preview_next(self.rules, standings, beliefs, self.n_events, ends, engine)
        given = rows >= self.n_rated
        new = {standings.players[row] for row in np.flatnonzero((beliefs["n_rounds"] == 0) & ~given).tolist()}
        return name_newcomers(found, new, self._near, f"in run {self.run}", brand)

    def _near(self, name: str) -> list[str]:
        """The names of players who were probably meant by a name."""
        search = self.names()
        return [search.texts[row] for row in search.close(name)]

    def _rows(self, names: Sequence[str], time_seconds: int) -> Longs:
        """The row of each player; -1 for newcomers."""
        current = [canonical(self.aliases, name, time_seconds) for name in names] if self.aliases else list(names)
        if len(set(current)) < len(current):
            first: dict[str, str] = {}
            for name, player in zip(names, current, strict=True):
                if (other := first.setdefault(player, name)) != name:
                    raise ValueError(f"player {player!r} is listed twice in the standings: as {other!r} and {name!r}")
        rows = self._find(current)
        renamed = [i for i, (name, player) in enumerate(zip(names, current, strict=True)) if name != player]
        if renamed:  # a run that is older than the alias has the player under the old name
            n_rounds = np.append(np.asarray(self.columns["n_rounds"]), 0)
            new = [i for i in renamed if not n_rounds[rows[i]]]
            rows[new] = self._find([names[i] for i in new])
        return rows

    def _find(self, names: Sequence[str]) -> Longs:
        """The row of each of different names; -1 for unknown ones."""
        at = pc.index_in(self.handles, pa.array(names, pa.string()))  # few names, and perhaps a million handles
        known = np.flatnonzero(at.is_valid().to_numpy(zero_copy_only=False))
        rows = np.full(len(names), _NONE, dtype=np.int64)
        rows[at.take(pa.array(known)).to_numpy()] = known
        return rows


def _names_of(run: Run, dataset: Dataset, display: Display) -> Search:
    """All names of the players of a run, the best rating first, then those that players had."""
    columns, handles = RunState.read(run, dataset).columns, dataset.handles().to_pylist()
    rating = display.rating(*(np.asarray(columns[name]) for name in ("mu", "sigma", "n_rounds")))
    order = [*np.argsort(-rating, kind="stable").tolist(), *range(len(rating), len(handles))]
    return Search([*(handles[row] for row in order), *dataset.log().aliases])


def _games_of(lake: Lake, run_name: str) -> GamesToCome | None:
    """What a run has learnt of games between two; None if its contests have more participants."""
    chances = learnt_chances(RatedRounds(lake, run_name))
    return None if chances is None else GamesToCome.of(chances)


def _possible_names(aliases: Mapping[str, Alias], names: Sequence[str]) -> list[str]:
    """The names, and all names to which their aliases lead at any time."""
    found = dict.fromkeys(names)
    ahead = [name for name in names if name in aliases]
    while ahead:
        new = aliases[ahead.pop()].new
        if new not in found:
            found[new] = None
            ahead += [new] if new in aliases else []
    return list(found)
