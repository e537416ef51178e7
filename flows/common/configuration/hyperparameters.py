"""Descriptions of rating systems and their hyperparameters, read from their modules and parameter classes."""

from __future__ import annotations

import dataclasses
import inspect
import math
import re
import sys
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from ranklake.rating_kernels import System
from ranklake.rating_kernels.core.limits import Limits, limits_of

T = typing.TypeVar("T")


@dataclass(frozen=True, slots=True)
class Parameter:
    """One hyperparameter: its name in ``--set``, its meaning, its default, whether "none" is a valid value, and the
    valid values.
    """

    name: str
    default: Any
    optional: bool
    limits: Limits
    text: str

    def to_json(self) -> dict[str, Any]:
        """The parameter for JSON: an open end is null, infinity is "inf"."""
        limits = dataclasses.asdict(self.limits)
        low, high = (None if math.isinf(limits.pop(end)) else getattr(self.limits, end) for end in ("low", "high"))
        default = "inf" if self.default == math.inf else self.default
        return {
            "name": self.name, "default": default, "optional": self.optional, "range": self.limits.text,
            **limits, "low": low, "high": high, "description": self.text,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Description:
    """One system: its name, a line about it, its source, what it ignores (``System.ignores``), the attributes of
    players that it reads, its hyperparameters.
    """

    name: str
    text: str
    source: str
    ignores: tuple[str, ...]
    attributes: tuple[str, ...]
    parameters: tuple[Parameter, ...]

    def to_json(self, parameters: bool = True) -> dict[str, Any]:
        """The description for JSON."""
        document: dict[str, Any] = {"name": self.name, "description": self.text, "source": self.source}
        document |= {"ignores": list(self.ignores), "attributes": list(self.attributes)}
        return document | ({"parameters": [one.to_json() for one in self.parameters]} if parameters else {})


def describe(system: System) -> Description:
    """Describe a system from the docstring of its module, and the fields and docstring of its parameter class."""
    page = inspect.cleandoc(sys.modules[system.params.__module__].__doc__ or "")
    source = re.search(r"^Source: (.+?)(?:\.\s+(?=[A-Z])|\.?\n\n|\.?\Z)", page, re.MULTILINE | re.DOTALL)
    built = system.params()
    texts: dict[str, str] = {}
    for kind in reversed(system.params.__mro__[:-1]):
        texts |= _attributes(kind)
    hints = typing.get_type_hints(system.params)
    parameters = tuple(
        Parameter(
            field.name, getattr(built, field.name), types.NoneType in typing.get_args(hints[field.name]),
            limits_of(field), texts.get(field.name, ""),
        )
        for field in own_fields_first(system.params)
    )  # fmt: skip
    text = page.partition("\n\n")[0].rstrip(".")
    facts = _plain(text), _plain(source[1]) if source else "", system.ignores
    return Description(system.name, *facts, tuple(name for _, name, _ in system.attributes), parameters)


def own_fields_first(kind: type[Any]) -> list[dataclasses.Field[Any]]:
    """The fields of a dataclass, its own ones before inherited ones."""
    own = kind.__annotations__
    return sorted(dataclasses.fields(kind), key=lambda field: field.name not in own)


def find_named(kind: str, name: str, known: Mapping[str, T]) -> T:
    """The value called ``name``; else ``ValueError``, which says what ``kind`` of value it is, and lists all names."""
    if name not in known:
        near = near_names(name, known)
        meant = f"; did you mean {' or '.join(near)}?" if near else ""
        raise ValueError(f"{kind} must be one of {', '.join(known)}, got {name!r}{meant}")
    return known[name]


def near_names(name: str, names: typing.Iterable[str]) -> list[str]:
    """The names that are most similar to ``name``, the most similar first."""
    from difflib import get_close_matches

    bare = {one.replace("-", ""): one for one in names}
    return [bare[one] for one in get_close_matches(name.lower().replace("-", "").replace("_", ""), bare, 3, 0.6)]


def _attributes(kind: type[Any]) -> dict[str, str]:
    """The texts of the section Attributes of a numpydoc docstring, by name."""
    lines = inspect.cleandoc(kind.__doc__ or "").split("\n")
    texts: dict[str, list[str]] = {}
    names: list[str] = []
    for line, under in pairwise([*lines[lines.index("Attributes") + 2 :], ""]):
        if under.startswith("---"):  # the next section
            break
        if line and not line.startswith(" "):
            names = [name.strip() for name in line.partition(" : ")[0].split(",")]
            texts.update((name, []) for name in names)
        elif line:
            for name in names:
                texts[name].append(line.strip())
    return {name: _plain(" ".join(text)) for name, text in texts.items()}


def _plain(text: str) -> str:
    """The text in one line, without the markup of reStructuredText."""
    return re.sub(r"``|:\w+:`\.?([^`]*)`", r"\1", re.sub(r"\s+", " ", text)).strip()
