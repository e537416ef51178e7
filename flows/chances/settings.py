"""What a run learns of draws and advantages, and from which games: options of `rate`, kept in ``run.json``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from ranklake.rating_kernels.chances.three_way import MODELS, NONE, PRESERVING
from ranklake.storage.names.hints import hint, near_names

BESIDE_KEY, LEARNT_KEY = "chances", "learnt_advantage"
"""Keys of ``run.json``: of settings that no rating depends on, and of those by which a run rates."""

LEARNT, STORED = ADVANTAGES = ("learnt", "stored")


@dataclass(frozen=True, slots=True)
class ChanceSettings:
    """What a run learns.

    ``draws``: the model, one of :data:`MODELS`.
    ``by``: a kept column of the games, each value of which has draws and an advantage of its own; empty: none.
    ``no_advantage``: values of that column without an advantage; they share the draws of all games.
    ``weighted``: whether a game counts by its weight.
    ``learnt``: whether the run rates with the advantages that it has learnt before.
    ``asked``: whether somebody chose some of this; otherwise a run learns where it can.

    Raises ValueError: an unknown model, or values without a column.
    """

    draws: str = PRESERVING
    by: str = ""
    no_advantage: tuple[str, ...] = ()
    weighted: bool = False
    learnt: bool = False
    asked: bool = False

    def __post_init__(self) -> None:
        if self.draws not in MODELS:
            raise ValueError(f"--draws must be one of {', '.join(MODELS)}, got {self.draws!r}")
        if self.no_advantage and not self.by:
            raise ValueError(
                f"--no-advantage {','.join(self.no_advantage)} has values of a column: name it by --chances-by"
            )
        if "" in self.no_advantage or len(set(self.no_advantage)) < len(self.no_advantage):
            raise ValueError(f"--no-advantage has an empty value or one twice: {','.join(self.no_advantage)!r}")

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> Self:
        """The settings in ``run.json``, or the usual ones.

        Raises KeyError, TypeError, ValueError: they cannot be read.
        """
        facts = config.get(LEARNT_KEY) or config.get(BESIDE_KEY)
        if facts is None:
            return cls()
        known = {key: facts[key] for key in ("draws", "by", "weighted") if key in facts}
        return cls(**known, no_advantage=tuple(facts.get("no_advantage", ())), learnt=LEARNT_KEY in config, asked=True)

    def to_json(self) -> dict[str, Any]:
        """The settings as an entry of ``run.json``, under one of both keys; empty for the usual ones."""
        if not (self.asked or self.learnt):
            return {}
        return {LEARNT_KEY if self.learnt else BESIDE_KEY: self.facts()}

    def facts(self) -> dict[str, Any]:
        """The settings that learning depends on, without the usual values of those that are rarely chosen."""
        facts = {"by": self.by, "no_advantage": list(self.no_advantage), "weighted": self.weighted}
        return {"draws": self.draws, **{key: value for key, value in facts.items() if value}}

    @property
    def learns(self) -> bool:
        """Whether there is something to learn: without draws, only advantages that somebody asks for."""
        return self.draws != NONE or self.learnt or bool(self.by)

    def label(self) -> str:
        """The settings in words, for messages."""
        text = f"draws {self.draws}"
        text += f" by {self.by}" if self.by else ""
        text += f" without an advantage for {','.join(self.no_advantage)}" if self.no_advantage else ""
        text += ", weighted" if self.weighted else ""
        return text


@dataclass(frozen=True, slots=True)
class ChanceOptions:
    """Choices of a command; None keeps what the run has, or the usual value.

    ``by``, ``no_advantage``: empty removes the choice of before.
    ``advantage``: one of :data:`ADVANTAGES`: the run rates with what it learns, or with the advantages of games alone.
    """

    draws: str | None = None
    by: str | None = None
    no_advantage: tuple[str, ...] | None = None
    weighted: bool | None = None
    advantage: str | None = None

    def __bool__(self) -> bool:
        return self != ChanceOptions()

    def of_ratings(self) -> dict[str, str]:
        """The choices that ratings depend on, for the name of a new run."""
        if self.advantage != LEARNT:
            return {}
        chosen = {name: getattr(self, name) for name in ("advantage", "draws", "by", "no_advantage", "weighted")}
        return {name: str(value) for name, value in chosen.items() if value}

    def over(self, recorded: ChanceSettings | None) -> ChanceSettings | None:
        """The settings with these choices over those of an existing run; None: nothing is chosen or recorded.

        Raises ValueError: as :class:`ChanceSettings`, or an unknown choice.
        """
        if not self:
            return recorded
        if self.advantage not in (None, *ADVANTAGES):
            raise ValueError(f"--advantage must be one of {', '.join(ADVANTAGES)}, got {self.advantage!r}")
        before = recorded or ChanceSettings()
        names = ("draws", "by", "no_advantage", "weighted")
        given = {name: value for name in names if (value := getattr(self, name)) is not None}
        if "by" in given and given["by"] != before.by:
            given.setdefault("no_advantage", ())  # its values are of the other column
        learnt = before.learnt if self.advantage is None else self.advantage == LEARNT
        return replace(before, **given, learnt=learnt, asked=True)


NO_CHOICE = ChanceOptions()


def unknown_column(by: str, known: list[str], dataset: str) -> str:
    """The message about a column that the games do not have, with the nearest names."""
    if not known:
        remedy = f"`ranklake ingest games FILE --keep {by} --dataset {dataset}` keeps one"
        return f"--chances-by {by}: the games of data set {dataset} have no kept columns; {remedy}"
    have = f"; it has {', '.join(known[:20])}"
    return f"--chances-by {by}: data set {dataset} has no such column{hint(by, near_names(by, known))}{have}"


def unknown_value(value: str, by: str, known: list[str]) -> str:
    """The message about a value that no game has, with the nearest ones."""
    near = hint(value, near_names(value, known)) or f"; it has {', '.join(known[:20])}"
    return f"--no-advantage {value}: no game has this value of {by}{near}"
