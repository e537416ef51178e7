"""The plan of a rating: which rounds of a run to keep and which to rate, by digests. Writes nothing."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ranklake.storage import Chain, DamagedError, Dataset, MissingError, Run

from ..chances.settings import BESIDE_KEY
from ..common.brand import RECORDED as BRAND
from ..common.brand import Brand
from ..common.skipping import Skipping, differ
from ..events.resets import DueReset, due_resets
from ..results.level_shifts import STEADY
from ..results.places import RECORDED, PlaceOptions
from ..results.titles import Titles
from .chain import BESIDE, first_break, n_valid, round_contents, round_digests
from .config import RunConfig, recorded_chances
from .player_state import PlayerState, player_state
from .report import RateReport

RATED_FROM = ("dataset", "system", "params")  # keys of run.json: with others, what was decided at entry is decided anew


@dataclass(frozen=True, slots=True)
class Plan:
    """The kept rounds of a run, and the rounds to rate.

    ``run``, ``chain``: the existing run and its segments; None if it must be created.
    ``config``, ``n_rounds``: the content of ``run.json``, and the number of rounds, after the rating.
    ``digests``: the required digest of each round: of its contest and of all rounds before it.
    ``state``: what the system takes from attributes of players; see :func:`.player_state.player_state`.
    ``resets``: the resets of the data set in order, also those after the last round.
    ``excluded`` (bool[n]): mask of the excluded contests.
    ``holds``, ``kept``: number of leading rounds with the required digests; of these, rounds in complete segments.
    ``snapshots``: last rounds of the snapshots that are kept.
    ``why``: reason why committed rounds are not kept; empty if all are.
    """

    dataset: Dataset
    run: Run | None
    chain: Chain | None
    config: dict[str, Any]
    skipping: Skipping
    digests: list[str]
    state: PlayerState
    resets: list[DueReset]
    excluded: npt.NDArray[np.bool_]
    n_rounds: int
    holds: int
    kept: int
    snapshots: list[int]
    why: str

    @classmethod
    def of(cls, config: RunConfig, dataset: Dataset, max_rounds: int | None = None, start: int | None = None) -> Plan:
        """Compare a run with its data set.

        ``max_rounds``, ``start``: see :class:`.rate.RateOptions`.
        Raises MissingError: a contest to exclude is not in the data set, a contest to include was not excluded, or the
        data set has no round ``start``.
        """
        try:
            run = Run.open(dataset.lake, config.run)
        except MissingError:
            run = None
        if run is not None:
            config = _as_recorded(config, run, dataset)
            if config.chances is None:
                config = dataclasses.replace(config, chances=recorded_chances(run.config))
        same_dataset = run is not None and run.config.get("dataset") == config.dataset
        before: list[str] = run.config.get("exclude", []) if run is not None and same_dataset else []
        contest_ids: list[str] = dataset.contests.column("contest_id").to_pylist()
        exclude = _excluded(config, before, contest_ids)
        excluded = np.fromiter(map(exclude.__contains__, contest_ids), np.bool_, len(contest_ids))
        state = player_state(config.system, dataset, config.params)
        wanted = config.to_json() | _beside(config, {} if run is None else run.config, exclude)
        other = run is None or any(run.config.get(key) != wanted[key] for key in RATED_FROM)
        resets = due_resets(dataset, None if other else run)
        digests = round_digests(config.digest, round_contents(dataset, exclude, state), resets)
        if start and start >= len(digests):
            rule = f"its last round is {len(digests) - 1}" if digests else "it is empty"
            raise MissingError(f"no round {start} in data set {config.dataset}; {rule}")
        n_rounds = len(digests) if max_rounds is None else min(max_rounds, len(digests))
        if run is None:
            return cls(
                dataset, None, None, wanted, config.skipping, digests, state, resets, excluded, n_rounds, 0, 0, [], ""
            )

        chain, why = run.segments(), ""
        recorded = chain.digests
        valid = n_valid(recorded, digests)
        holds = valid if start is None else min(start, valid)
        kept = max((segment.stop_round for segment in chain.segments if segment.stop_round <= holds), default=0)
        if holds < valid:
            why = f"from round {holds} on, as requested"
        elif holds < len(recorded):
            asked = config.to_json()
            others = {key for key in run.config.keys() | asked.keys() if run.config.get(key) != asked.get(key)}
            why = "another release rated it" if others - set(BESIDE) == {"numerics"} else "other parameters"
            if not others - set(BESIDE):
                why = f"round {holds}, {first_break(holds, chain, dataset, run, exclude, digests)}"
        elif chain.rest:
            why = chain.reason
        snapshots = [number for number in run.snapshots() if number < kept]
        return cls(
            dataset,
            run,
            chain,
            wanted,
            config.skipping,
            digests,
            state,
            resets,
            excluded,
            n_rounds,
            holds,
            kept,
            snapshots,
            why,
        )

    @property
    def done(self) -> bool:
        """Whether no round is left to rate, and the last round has its snapshot."""
        if self.kept == self.n_rounds:
            return self.kept == 0 or self.kept - 1 in self.snapshots
        return self.kept > self.n_rounds

    def report(self) -> RateReport:
        """What is to be done."""
        rated = max(self.n_rounds - self.kept, 0)
        sizes = self.sizes(self.kept, self.n_rounds)
        replayed = 0 if self.done else self.kept - self.resumes_at
        excluded, rows = rated - len(sizes), int(sizes.sum())
        return RateReport(self.kept, replayed, rated, self.holds, self.why, excluded, rows, planned=True)

    def sizes(self, start: int, stop: int) -> npt.NDArray[np.int32]:
        """Participants of each round from ``start`` to ``stop - 1`` that is not excluded."""
        n_players: npt.NDArray[np.int32] = self.dataset.contests.column("n_players").to_numpy()[start:stop]
        return n_players[~self.excluded[start:stop]]

    def rows_from_kept(self) -> npt.NDArray[np.int64]:
        """Participations before each round, and before the end, of the rounds that are not kept or excluded."""
        n_players = self.dataset.contests.column("n_players").to_numpy()[: self.n_rounds]
        counts = np.where(self.excluded[: self.n_rounds], 0, n_players)
        counts[: self.kept] = 0
        return np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))

    @property
    def has_teams(self) -> bool:
        """Whether a contest that counts is one of teams."""
        of_teams = self.dataset.contests.column("n_teams").is_valid().to_numpy()[: self.n_rounds]
        return bool((of_teams & ~self.excluded[: self.n_rounds]).any())

    @property
    def resumes_at(self) -> int:
        """The round after the newest valid snapshot; 0 if there is none."""
        for number in reversed(self.snapshots):
            assert self.run is not None
            with suppress(DamagedError):  # an older snapshot is used
                if self.run.snapshot_digest(number) == self.digests[number]:
                    return number + 1
        return 0


def _as_recorded(config: RunConfig, run: Run, dataset: Dataset) -> RunConfig:
    """The configuration with the rule of the existing run, unless another is requested that differs on this data set.

    A run with another configuration is rated from its first round on, with the rule of a new run.
    """
    same = config.to_json()
    rule = config.skipping.to_json()
    if config.recorded is not None or any(run.config.get(key) != same[key] for key in same.keys() - rule.keys()):
        return config
    try:
        recorded = Skipping.from_json(run.config)
    except KeyError:
        return config
    if not config.allows(recorded) and (not run.segments().segments or differ(dataset, config.skipping, recorded)):
        return config
    return dataclasses.replace(config, recorded=recorded)


def _excluded(config: RunConfig, before: Sequence[str], contest_ids: Sequence[str]) -> set[str]:
    """The new set of excluded contests."""
    if both := sorted(set(config.exclude) & set(config.include)):
        raise ValueError(f"contest {both[0]!r} is both excluded and included; choose one")
    if unknown := sorted(set(config.exclude).difference(contest_ids)):
        raise MissingError(f"no contest {unknown[0]!r} in data set {config.dataset}; `ranklake player` shows their ids")
    if never := sorted(set(config.include) - set(before)):
        there_are = f"excluded are: {', '.join(map(repr, before))}" if before else "it excludes none"
        raise MissingError(f"contest {never[0]!r} is not excluded from run {config.run}; {there_are}")
    return (set(before) | set(config.exclude)) - set(config.include)


def _beside(config: RunConfig, recorded: Mapping[str, Any], exclude: Collection[str]) -> dict[str, Any]:
    """The new values for ``run.json`` of the keys :data:`.chain.BESIDE` that have one."""
    titles = recorded.get("titles")
    if config.titles is not None:
        titles = config.titles.to_json() if isinstance(config.titles, Titles) else None
    before, same = dict(recorded.get("display", {})), config.to_json()
    recorded_level, places = before.pop("level", None), before.pop(RECORDED, {})
    if config.places is not None:
        places = PlaceOptions.from_json(places).changed(**config.places).to_json()
    display = config.display
    if display is None and all(recorded.get(key) == same[key] for key in ("system", "params")):
        display = before  # of a preset, whose hyperparameters these are
    level = {"level": STEADY} if (config.level or recorded_level) == STEADY else {}
    brand = Brand.from_json(recorded.get(BRAND, {}))
    if config.brand is not None:
        brand = brand.changed(config.brand)
    accepts = recorded.get("accept_rounding") if config.accept_rounding is None else config.accept_rounding
    found = {
        "exclude": sorted(exclude) or None,
        "titles": titles,
        "display": {**(display or {}), **level, **({RECORDED: places} if places else {})} or None,
        "accept_rounding": True if accepts else None,
        BRAND: brand.to_json() or None,
        BESIDE_KEY: None if config.chances is None else config.chances.to_json().get(BESIDE_KEY),
    }
    return {key: value for key, value in found.items() if value is not None}
