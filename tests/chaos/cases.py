"""A case: what is tried, small enough for a file, and what came of it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

__all__ = ["Case", "Result", "Violation", "case_seed"]

LONGEST = 4000  # characters of a detail that are kept


@dataclass(frozen=True, slots=True)
class Case:
    """One attempt.

    Attributes
    ----------
    kind : str
        A key of ``kinds.KINDS``.
    seed : int
        What the parameters are drawn from.
    parameters : dict, optional
        A JSON value that says all that is tried; None before it is drawn.
    """

    kind: str
    seed: int
    parameters: dict[str, Any] | None = None

    def to_json(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=True)

    @classmethod
    def read(cls, path: Path) -> Case:
        """The case in a file that the suite wrote.

        Raises
        ------
        ValueError
            The file holds something else.
        """
        try:
            found = json.loads(path.read_bytes())
            return cls(str(found["kind"]), int(found["seed"]), found["parameters"])
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{path} is not the file of a case ({error!r}); run.py writes such files") from None

    def with_parameters(self, parameters: dict[str, Any] | None) -> Case:
        return replace(self, parameters=parameters)


class Violation(Exception):
    """Something that must never be.

    Parameters
    ----------
    rule
        What was broken, in words that are the same for all cases that break it: shrinking keeps it.
    detail
        What was seen.
    """

    def __init__(self, rule: str, detail: str = "") -> None:
        super().__init__(rule, detail)
        self.rule, self.detail = rule, detail


@dataclass(slots=True)
class Result:
    """What came of a case.

    Attributes
    ----------
    rule, detail : str
        See :class:`Violation`; the rule is empty if nothing was violated.
    counts : dict of str to int
        What was done: kills, pauses, faults, requests, records, ...
    seconds : float
        How long it took.
    """

    case: Case
    rule: str = ""
    detail: str = ""
    counts: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0

    def to_json(self) -> str:
        return json.dumps(asdict(self) | {"detail": self.detail[-LONGEST:]})

    @classmethod
    def of_json(cls, text: str) -> Result:
        found = json.loads(text)
        return cls(Case(**found.pop("case")), **found)


def case_seed(seed: int, kind: str, number: int) -> int:
    """The seed of the case of a number, from 0, of a kind."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{kind}/{number}".encode()).digest()[:5])
