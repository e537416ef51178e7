"""Volatility farming: losing on purpose to gain later, on TopCoder's system and on others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from ranklake.rating_kernels import Rounds
from ranklake.rating_kernels.core.standings import Floats

from ...common.configuration.settings import build_params, find_system
from ...common.text import slug as slug_of
from ...plotting.figures import SERIES, legible, new_figure
from ..base import Experiment, ExperimentContext, Part, Picture, Table
from ..data import History
from ..findings import listed
from .incentives import TOLERANCE, move, other_self

PHASES = (128 / 462, 346 / 462)  # shares of the rounds at which farming begins and ends, as in the engine
LONG = 80  # minimum number of rounds of the player

_NEVER = "at or below honest play"
_TARGETS: dict[str, tuple[str, dict[str, Any], str | None]] = {
    "TopCoder": ("topcoder", {}, "may end above"),
    "Glicko-2": ("glicko2", {}, "may end above"),
    "Glicko-2, tau = 0.36": ("glicko2", {"tau": 0.36}, "may end above"),
    **{f"Elo-MMR, rho = {rho:g}": ("elo-mmr", {"rho": rho}, _NEVER) for rho in (0.0, 0.04, 1.0, 5.0, np.inf)},
    "Elo-MMχ": ("elo-mmx", {}, _NEVER),
    "Elo-R": ("elo-r", {}, None),
    "Glicko": ("glicko", {}, None),
}
_SHOWN = ("TopCoder", "Glicko-2, tau = 0.36", "Elo-MMR, rho = 1")

_BEYOND = 1e5  # rating points: larger values are reported in the text, not drawn


def check(history: History) -> None:
    """Raise ``ValueError`` for a history without a player of ``LONG`` rounds."""
    most = int(np.bincount(history.rounds.player).max())
    if most < LONG:
        raise ValueError(f"a player with {LONG} rounds is needed; the maximum in data set {history.name} is {most}")


def strongest(history: History) -> int:
    """The player with the highest TopCoder rating among those with ``LONG`` rounds."""
    long = np.bincount(history.rounds.player, minlength=len(history.handles)) >= LONG
    return int(np.argmax(np.where(long, history.rate("topcoder").beliefs.mu, -np.inf)))


def farm(history: History, player: int) -> tuple[Floats, Floats, set[int], float]:
    """The attack on TopCoder's system: finish last whenever the rating exceeds that at the beginning of the attack.

    Returns float64[n], float64[n], set of int, float: the player's ratings, honest and farming; the rounds lost on
    purpose; the rating at the beginning of the attack.
    """
    n_rounds = int(np.count_nonzero(history.rounds.player == player))
    first, last = (int(share * n_rounds) for share in PHASES)
    threshold, lost = np.inf, set()

    def stand(n: int, round: Rounds, mu: float) -> Rounds:
        nonlocal threshold
        if n == first:
            threshold = mu
        if first <= n < last and mu > threshold:
            lost.add(n)
        return move(round, player, round.n_rows - 1) if n in lost else round

    system = find_system("topcoder")
    honest, farming = other_self(system, system.params(), history.rounds, len(history.handles), player, stand)
    return honest, farming, lost, float(threshold)


def attack(history: History, player: int, lost: set[int], name: str, settings: dict[str, Any]) -> tuple[Floats, Floats]:
    """The player's ratings by another system, honest and with the same rounds lost on purpose."""

    def stand(n: int, round: Rounds, mu: float) -> Rounds:
        return move(round, player, round.n_rows - 1) if n in lost else round

    system = find_system(name)
    params = build_params(system, settings)
    return other_self(system, params, history.rounds, len(history.handles), player, stand)


def synthetic(seed: int, n_players: int = 400, n_rounds: int = 4_620, size: int = 10) -> History:
    """Small rounds of a large pool; its strongest player takes part in one of ten."""
    rng = np.random.default_rng(seed)
    skill = np.sort(rng.normal(1500.0, 350.0, n_players))[::-1]
    skill[0] = skill[1] + 100.0
    fields = np.stack([1 + rng.permutation(n_players - 1)[:size] for _ in range(n_rounds)])
    fields[::10, 0] = 0
    shown = skill[fields] + rng.normal(0.0, 200.0, fields.shape)
    order = np.take_along_axis(fields, np.argsort(-shown, axis=1), axis=1)
    places, offsets = np.tile(np.arange(size), n_rounds), size * np.arange(n_rounds + 1)
    rounds = Rounds.from_columns(offsets, order.ravel(), places, places, 86_400 * np.arange(1, n_rounds + 1))
    handles = pa.array(["the strongest", *(f"player {i}" for i in range(1, n_players))])
    return History("simulated", n_rounds, float(size), rounds, np.arange(n_rounds), [""] * n_rounds, handles)


def _farming(context: ExperimentContext) -> Iterator[Part]:
    for history in (synthetic(context.seed), *context.histories):
        context.on_step(f"{history.name}: selecting a strong player")
        player = strongest(history)
        context.on_step(f"{history.name}: the attack on TopCoder's system")
        *courses, lost, threshold = farm(history, player)
        runs: dict[str, tuple[Floats, Floats]] = {"TopCoder": (courses[0], courses[1])}
        for label, (system, settings, _) in _TARGETS.items():
            context.on_step(f"{history.name}: {label}")
            if label not in runs:
                runs[label] = attack(history, player, lost, system, settings)
        yield from _report(history, legible(history.handles[player].as_py()), runs, len(lost), threshold)


def _report(
    history: History, name: str, runs: dict[str, tuple[Floats, Floats]], n_lost: int, threshold: float
) -> list[Part]:
    slug = slug_of(history.name)
    n = len(runs["TopCoder"][0])
    back = int(PHASES[1] * n)
    gains = [(attacked[back:] - honest[back:]) for honest, attacked in runs.values()]
    columns: dict[str, list[Any]] = {
        "system": list(runs),
        "honest, at the end": [float(honest[-1]) for honest, _ in runs.values()],
        "attack, at the end": [float(attacked[-1]) for _, attacked in runs.values()],
        "gain at the end": [float(gain[-1]) for gain in gains],
        "largest gain after the attack": [float(gain.max()) for gain in gains],
        "according to the paper": [_TARGETS[label][2] for label in runs],
    }
    caption = f"{history.name}: {name}, {n:,} rounds, {n_lost:,} lost on purpose when rated above {threshold:,.0f}"
    shown = [label for label in _SHOWN if np.max(np.abs(runs[label])) < _BEYOND]
    figure, axes = new_figure(3.7 * len(shown), 3.8, columns=len(shown), squeeze=False)
    for panel, label in zip(axes[0], shown, strict=True):
        for values, colour, series in zip(runs[label], SERIES, ("honest", "attack"), strict=False):
            panel.plot(np.arange(1, n + 1), values, color=colour, label=series, linewidth=1.2)
        for share in PHASES:
            panel.axvline(int(share * n) + 0.5, color="#999999", linewidth=0.8, linestyle=":")
        panel.set_title(label)
        panel.set_xlabel("rounds of the player")
    axes[0, 0].set_ylabel("rating points")
    axes[0, 0].legend(loc="best")
    above = {label: float(gain[-1]) for label, gain in zip(runs, gains, strict=True) if not gain[-1] <= TOLERANCE}
    proved = [label for label in runs if _TARGETS[label][2] == _NEVER]
    found = (
        f"Found: in {history.name} the attack ends above honest play with "
        f"{listed((f'{label} ({_points(gain)})' for label, gain in above.items()), 'no system')}. "
        f"Where the paper proves that it cannot, {sum(label in above for label in proved)} of {len(proved)} do."
    )
    return [Picture.of(slug, caption, figure), Table(slug, caption, columns), found]


def _points(gain: float) -> str:
    return f"{gain:+,.0f} points" if gain < _BEYOND else f"more than {_BEYOND:,.0f} points: it diverges"


EXPERIMENTS = (
    Experiment(
        "farming",
        "Volatility farming: losing on purpose to gain later",
        "Section 5.1 of Ebtekar and Liu, arXiv:2101.00400, and the attack in the authors' engine",
        _farming,
        [
            "A strong player plays honestly for 28 % of their rounds. Until 75 % of the rounds, the player then "
            "finishes last on purpose whenever TopCoder's rating exceeds the rating at the beginning of this phase. "
            "The remaining rounds are honest again. TopCoder's system and Glicko-2 increase the volatility after such "
            "changes, and a higher volatility makes later changes larger, in both directions. The same rounds are lost "
            "in every system. The beliefs about the other players stay as they were without the attack. With Elo-MMR, "
            "the attack never ends above honest play (Theorem 5.5 of the paper). Glicko-2 treats each pair of a "
            "contest as a separate game. Its volatility and ratings can then diverge: under the attack with the usual "
            "tau of 0.5, or in contests of hundreds of players even without an attack."
        ],
        data="optional",
        check=check,
    ),
)
