"""A case, small enough for a file, and its result."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

LONGEST = 4000  # maximum length of a stored detail, characters


@dataclass(frozen=True, slots=True)
class Case:
    """One attempt: a kind of ``kinds.KINDS``, and a JSON value that describes it all, None before it is drawn."""

    kind: str
    seed: int
    parameters: dict[str, Any] | None = None

    def to_json(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=True)

    @classmethod
    def read(cls, path: Path) -> Case:
        """The case in a file that the suite wrote; ``ValueError``: it holds something else."""
        try:
            fields = json.loads(path.read_bytes())
            return cls(str(fields["kind"]), int(fields["seed"]), fields["parameters"])
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{path} is not the file of a case ({error!r}); run.py writes such files") from None

    def with_parameters(self, parameters: dict[str, Any] | None) -> Case:
        return replace(self, parameters=parameters)


class Violation(Exception):
    """An invariant does not hold.

    The rule is the same text for all cases that violate it: shrinking keeps it. The detail has the observed values.
    """

    def __init__(self, rule: str, detail: str = "") -> None:
        super().__init__(rule, detail)
        self.rule, self.detail = rule, detail


@dataclass(slots=True)
class Result:
    """The result of a case: its violation, if there is one, numbers of kills, pauses, faults, ..., and its duration."""

    case: Case
    rule: str = ""
    detail: str = ""
    counts: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0

    def to_json(self) -> str:
        return json.dumps(asdict(self) | {"detail": self.detail[-LONGEST:]})

    @classmethod
    def of_json(cls, text: str) -> Result:
        fields = json.loads(text)
        return cls(Case(**fields.pop("case")), **fields)


def case_seed(seed: int, kind: str, number: int) -> int:
    """The seed of case ``number``, from 0, of a kind."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{kind}/{number}".encode()).digest()[:5])
