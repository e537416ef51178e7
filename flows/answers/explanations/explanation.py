"""One participation explained: the belief before, the expected place, the performance, and the parts of the change."""

from __future__ import annotations

import difflib
from dataclasses import asdict, dataclass
from math import isfinite
from shlex import quote
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ranklake.rating_kernels import Prior
from ranklake.rating_kernels.core.standings import Conditions
from ranklake.storage import Lake, LakeError

from ...common.adapters import conditions_of, refuse_games
from ...common.configuration.settings import check_rounds_matter
from ...compilation.compile import announce_compilation
from ...results.display import Display
from ...results.player_names import candidate_names
from ...results.rated_rounds import RatedRounds
from ...results.rating_format import RatingFormat
from ...results.titles import TitlesChoice
from .caps import Caps, largest_changes
from .game_margin import GameMargin, game_margin
from .period_explanation import PeriodExplanation, explain_period


class ResetStep(NamedTuple):
    """A reset between a player's round before and the explained one: its season, its time, UTC seconds, and the belief
    and the rating before it and after it; rating points.
    """

    season: str
    time_seconds: int
    mu_before: float
    sigma_before: float
    rating_before: float
    mu: float
    sigma: float
    rating: float

    @property
    def change(self) -> float:
        """The change of the rating."""
        return self.rating - self.rating_before


@dataclass(frozen=True, slots=True)
class Explanation:
    """How one contest changed the rating of one player.

    ``name``, ``time_seconds``: None if the data set no longer has the contest.
    ``place``, ``last_place``: from 1; the last place of the tie.
    ``expected_place``: from 1: half, and the chances of all participants to finish before the player, who counts half;
    by the system's own model and the beliefs before the contest.
    ``perf``: performance, rating points; None in systems without.
    ``mu_before``, ``sigma_before``, ``rating_before``: after the player's round before; of a newcomer if there is none;
    after a reset, those brought to the round.
    ``mu_prior``, ``sigma_prior``: the belief brought to the round, after the diffusion.
    ``from_mu``, ``from_sigma_before``, ``from_sigma``, ``from_offset``, ``from_shift``: the parts of the ``change`` of
    the rating: of ``mu``; of ``sigma`` by the diffusion before the round; of ``sigma`` by the result; of the system's
    addend for new players, and of a preset's minimum; of the shift of all ratings since the round before, with a steady
    level.
    ``caps``: how far the contest could have moved ``mu``; None if it was not asked for.
    ``resets``: between the round before and the contest, in order; no part of the ``change``.
    ``margin``: of a contest of two with points, in a run that counts margins.
    """

    handle: str
    contest_id: str
    name: str | None
    round_index: int
    time_seconds: int | None
    place: int
    last_place: int
    n_players: int
    expected_place: float
    perf: float | None
    n_before: int
    mu_before: float
    sigma_before: float
    rating_before: float
    mu_prior: float
    sigma_prior: float
    mu: float
    sigma: float
    rating: float
    from_mu: float
    from_sigma_before: float
    from_sigma: float
    from_offset: float
    from_shift: float
    change: float
    caps: Caps | None = None
    margin: GameMargin | None = None
    resets: tuple[ResetStep, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The attributes as a JSON object; the caps, if they were asked for, are null without a bound."""
        document = asdict(self)
        del document["caps"], document["margin"], document["resets"]
        if self.resets:
            document["resets"] = [{**one._asdict(), "change": one.change} for one in self.resets]
        if self.margin is not None:
            document["margin"] = self.margin._asdict()
        if self.caps is not None:
            document |= {name: value if isfinite(value) else None for name, value in self.caps._asdict().items()}
        return document

    def reason(self) -> str:
        """Why the rating moved against the result; empty if it did not."""
        by_sigma = self.from_sigma_before + self.from_sigma
        if self.change > 0.0 > self.from_mu and by_sigma > 0.0:
            return "mu fell, but sigma fell by more: the rating shown rose"
        if self.change > 0.0 > self.from_mu and self.from_offset > 0.0:
            return "mu fell, but the addend of a new player rose by more: the rating shown rose"
        if self.change < 0.0 < self.from_mu and by_sigma < 0.0:
            return "mu rose, but sigma grew by more: the rating shown fell"
        if self.change * self.from_mu < 0.0 and self.change * self.from_shift > 0.0:
            return "all ratings were shifted by more since the round before, to keep the level"
        return ""


def explain(
    lake: Lake,
    run_name: str,
    handle: str,
    contest: str,
    deviations: float | None = None,
    titles: TitlesChoice = None,
    caps: bool = False,
) -> tuple[Explanation | PeriodExplanation, RatingFormat]:
    """Explain the change of a player's rating in a contest or a rated period, and the format of the ratings.

    ``handle``: any name of the player.
    ``contest``: the id of the contest, or its name if no other contest has it.
    ``deviations``, ``titles``: see :class:`ranklake.flows.answers.rated_run.RatedRun`.
    ``caps``: whether to compute the largest changes of ``mu``; see :func:`.caps.largest_changes`.
    Raises ``LakeError`` if there is no such run, player or contest, the run did not rate the player there, or the
    contest is one of teams; the message says which.
    """
    rounds = RatedRounds(lake, run_name)
    dataset, display = rounds.dataset, Display.of(rounds.run, deviations)
    shows = f"`ranklake player {quote(handle)} --run {run_name}` shows each game"
    check_rounds_matter(display.system, "change by one game")
    if not display.system.periods:
        rule = "only the change in a contest, or in a period rated by fide, can be explained"
        refuse_games(dataset, run_name, f"{rule}; {shows}")
    index, contest_id = _find(rounds, contest)
    rows = rounds.rows(index, index + 1)
    players = candidate_names(dataset, handle)
    of_player = np.flatnonzero(np.isin(rows.column("player").to_numpy(), list(players.values())))
    if not len(of_player):
        how = "skipped it" if index in rounds.skipped else f"did not rate {handle!r} there"
        raise LakeError(f"contest {contest_id} is round {index} of run {run_name}, which {how}")
    at = int(of_player[0])
    contest_row = rounds.contests_table.slice(index, 1)
    (row,), (fact,) = rows.slice(at, 1).to_pylist(), contest_row.to_pylist()
    name = next(name for name, player in players.items() if player == row["player"])
    form = rounds.format(display, titles)
    if display.system.periods:
        if caps:
            largest_changes(rounds, display, row)  # refuses
        return explain_period(rounds, display, name, row["player"], index, contest_id), form
    if fact["n_teams"] is not None:
        raise LakeError(f"contest {contest_id} is one of teams; only contests of individuals can be explained")
    mu, sigma, last_round, latest = _before(rounds, row, display)
    steps = _steps(rounds, row, display, mu, sigma, last_round, latest)
    if steps:  # as everywhere, the change begins at the rating brought to the first contest after a reset
        mu, sigma, last_round = row["mu_prior"], row["sigma_prior"], index - 1
    explanation = Explanation(
        handle=name,
        contest_id=contest_id,
        name=fact["name"],
        round_index=index,
        time_seconds=fact["time_seconds"],
        place=row["lo"] + 1,
        last_place=row["hi"] + 1,
        n_players=rows.num_rows,
        expected_place=_expected_place(display, rows, at, conditions_of(contest_row).take(0)),
        **{name: row[name] for name in ("perf", "n_before", "mu_prior", "sigma_prior", "mu", "sigma")},
        **_parts(display, row, mu, sigma, last_round),
        resets=steps,
        caps=largest_changes(rounds, display, row) if caps else None,
        margin=game_margin(rounds, display, rows, at),
    )
    return explanation, form


def _parts(display: Display, row: dict[str, Any], mu: float, sigma: float, last_round: int) -> dict[str, Any]:
    """The belief before, the display rating before and after, and the parts of its change."""
    n = np.array([row["n_before"], row["n_before"] + 1], dtype=np.int32)
    beliefs = np.array([mu, row["mu"]]), np.array([sigma, row["sigma"]])
    rounds = np.array([last_round, row["round_index"]])
    ratings = display.rating(*beliefs, n, rounds)
    shifts = np.zeros(2) if display.shift is None else -display.shift.at(rounds)
    offsets = ratings - shifts - display.of_belief(*beliefs)
    return {
        "mu_before": mu,
        "sigma_before": sigma,
        "rating_before": float(ratings[0]),
        "rating": float(ratings[1]),
        "from_mu": row["mu"] - mu,
        "from_sigma_before": -display.deviations * (row["sigma_prior"] - sigma),
        "from_sigma": -display.deviations * (row["sigma"] - row["sigma_prior"]),
        "from_offset": float(offsets[1] - offsets[0]),
        "from_shift": float(shifts[1] - shifts[0]),
        "change": float(ratings[1] - ratings[0]),
    }


def _find(rounds: RatedRounds, contest: str) -> tuple[int, str]:
    """The round of a contest and its id."""
    ids, run_name = rounds.chain.contest_ids, rounds.run.name
    if contest in ids:
        return ids.index(contest), contest
    names = rounds.contests_table.column("name").to_pylist()
    found = [index for index, name in enumerate(names) if name is not None and name.casefold() == contest.casefold()]
    if len(found) == 1:
        return found[0], ids[found[0]]
    if found:
        several = ", ".join(ids[index] for index in found[:5])
        raise LakeError(f"{len(found)} contests of run {run_name} have the name {contest!r}; give an id: {several}")
    near = difflib.get_close_matches(contest, [*dict.fromkeys([*ids, *filter(None, names)])], n=3)
    hint = f"; there is {', '.join(map(repr, near))}" if near else ""
    raise LakeError(f"run {run_name} has no contest {contest!r}{hint}")


def _steps(
    rounds: RatedRounds, row: dict[str, Any], display: Display, mu: float, sigma: float, last_round: int, latest: int
) -> tuple[ResetStep, ...]:
    """The resets between the player's round before, which left this belief, and the round of the row."""
    from ...events.shown import reset_ratings, resets_of

    steps, n = [], np.array([row["n_before"]], dtype=np.int32)
    resets = rounds.known_resets(display) if row["n_before"] else []
    for _, time, name, reset in resets_of(resets, row["player"], last_round, row["round_index"], latest):
        before = np.array([mu]), np.array([sigma])
        after = reset_ratings(display.system, display.params, reset, *before)
        shown = [float(display.rating(one, other, n, last_round)[0]) for one, other in (before, after)]
        (mu,), (sigma,) = (values.tolist() for values in after)
        steps.append(ResetStep(name, time, float(before[0][0]), float(before[1][0]), shown[0], mu, sigma, shown[1]))
    return tuple(steps)


def _before(rounds: RatedRounds, row: dict[str, Any], display: Display) -> tuple[float, float, int, int]:
    """``mu`` and ``sigma`` after the player's round before, that round, and the latest end of a round of the player
    until then, UTC seconds; of a newcomer, the initial ones.
    """
    if row["n_before"] == 0:
        return float(display.params.mu_init), float(display.params.sigma_init), row["round_index"], 0
    names, last, latest = ["round_index", "player", "mu", "sigma"], None, np.iinfo(np.int64).min
    for _, table in rounds.walk(0, row["round_index"], names):
        mine = table.filter(pc.equal(table.column("player"), row["player"]))
        last = mine if mine.num_rows else last
        latest = rounds.ends[mine.column("round_index").to_numpy()].max(initial=latest)
    assert last is not None
    mu, sigma, last_round = (last.column(name)[-1].as_py() for name in ("mu", "sigma", "round_index"))
    return mu, sigma, last_round, int(latest)


def _expected_place(display: Display, rows: pa.Table, at: int, conditions: Conditions) -> float:
    """The expected place of the participant in row ``at``; see :meth:`ranklake.flows.frames.prediction.Prediction`."""
    n = rows.num_rows
    mu, sigma = (rows.column(name).to_numpy() for name in ("mu_prior", "sigma_prior"))
    n_before = rows.column("n_before").to_numpy()
    one, all_of_them = (
        Prior(mu[s], sigma[s], np.empty(len(mu[s])), n_before[s]) for s in (slice(at, at + 1), slice(0, n))
    )
    with announce_compilation(display.system.name):
        chances = display.system.beats(display.params, conditions, n, one, all_of_them)
    return float(0.5 + (n - np.sum(chances)))
