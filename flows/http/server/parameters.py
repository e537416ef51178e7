"""Parameters of the API: their rules, which both check a request and describe it in the OpenAPI document."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ranklake.storage.names.lists import split_handles

from ...common.times import AGES, TIME_RULE, NoTimeError, parse_span, parse_time, span_pattern
from .problems import Problem

LONGEST = 4_000  # characters of any value
# Python reads more as a number: blanks, underscores, other digits, and "nan".
_INTEGER = re.compile("[+-]?[0-9]{1,18}")
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,4})?")


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a query.

    ``kind``: the value of ``handles`` is a list of texts for :meth:`.Handles.listed`. ``time`` is a date, a time or UTC
    seconds; its value is UTC seconds. ``age`` is a number of days, weeks or years; its value is in seconds.
    ``default``: the value without the parameter; None if there is none.
    ``short``: whether numbers of fewer than nine digits are UTC seconds, too, and not perhaps a year or a date.
    ``low``, ``high``: limits of a number, or of the length of a text or a list; both inclusive.
    ``between``: whether a number must be between the limits, and not at one.
    """

    name: str
    kind: Literal["integer", "number", "text", "time", "age", "handles"]
    description: str
    default: Any = None
    low: float = -math.inf
    high: float = math.inf
    choices: tuple[str, ...] = ()
    required: bool = False
    short: bool = False
    between: bool = False

    def rule(self) -> str:
        """The rule in words, after the name."""
        if self.choices:
            return f"must be {', '.join(self.choices[:-1])} or {self.choices[-1]}"
        if self.kind == "handles":
            return f"must be {self.low:.0f} to {self.high:.0f} handles with commas between them"
        if self.kind == "time":
            return TIME_RULE
        if self.kind == "age":
            return "must be a duration as 90d, 26w or 1y"
        if self.kind == "text":
            return f"must have at most {min(self.high, LONGEST):.0f} characters"
        what = "an integer" if self.kind == "integer" else "a finite number"
        signs = (">", "<") if self.between else (">=", "<=")
        limits = [
            f"{sign} {_text(limit)}"
            for sign, limit in zip(signs, (self.low, self.high), strict=True)
            if math.isfinite(limit)
        ]
        return f"must be {what}" + (f" {' and '.join(limits)}" if limits else "")

    def read(self, text: str) -> Any:
        """The value of a text; raises Problem: it breaks the rule."""
        value: Any = text
        fits = len(text) <= LONGEST
        if fits and self.kind in ("integer", "number"):
            kind, form = (int, _INTEGER) if self.kind == "integer" else (float, _NUMBER)
            fits = (
                form.fullmatch(text) is not None
                and math.isfinite(value := kind(text))
                and self.low <= value <= self.high
                and not (self.between and value in (self.low, self.high))
            )
        elif fits and self.kind == "time":
            try:
                value = parse_time(int(text) if self.short and re.fullmatch(r"-?[0-9]{1,8}", text) else text)
            except NoTimeError as error:
                raise Problem.of_parameter(self.name, text, error.rule) from None
        elif fits and self.kind == "age":
            try:
                value = parse_span(text, AGES)
            except ValueError:
                fits = False
        elif fits and self.kind == "handles":
            value, fits = [text], self.low <= len(split_handles(text)) <= self.high
        elif fits:
            fits = self.low <= len(text) <= self.high and (not self.choices or text in self.choices)
        if not fits:
            raise Problem.of_parameter(self.name, text, self.rule())
        return value

    def read_all(self, texts: Sequence[str]) -> Any:
        """The value of a parameter that is given with these texts; raises as :meth:`read`.

        Handles may be given one by one, as generated clients do; each may then have commas in it.
        """
        if len(texts) == 1:
            return self.read(texts[0])
        if self.kind != "handles":
            raise Problem.of_parameter(self.name, texts[1], "must be given once")
        handles = [handle for handle in texts if handle]
        if not (self.low <= len(handles) <= self.high and sum(map(len, handles)) <= LONGEST):
            raise Problem.of_parameter(self.name, ",".join(handles), self.rule())
        return handles

    def schema(self) -> dict[str, Any]:
        """The JSON schema of the value."""
        if self.kind == "handles":
            items = {"type": "string", "minLength": 1}
            return {"type": "array", "items": items, "minItems": int(self.low), "maxItems": int(self.high)}
        if self.kind == "time":
            return {"type": "string", "examples": ["2020-01-31", "1580428800"]}
        if self.kind == "age":
            return {"type": "string", "pattern": span_pattern(AGES), "examples": ["90d", "1y"]}
        if self.kind == "text":
            schema: dict[str, Any] = {"type": "string"}
            if self.choices:
                return schema | {"enum": list(self.choices)} | self._default()
            low = {"minLength": int(self.low)} if math.isfinite(self.low) else {}
            return schema | low | {"maxLength": int(min(self.high, LONGEST))}
        names = ("exclusiveMinimum", "exclusiveMaximum") if self.between else ("minimum", "maximum")
        limits = {key: _number(limit, self.kind) for key, limit in zip(names, (self.low, self.high), strict=True)
                  if math.isfinite(limit)}  # fmt: skip
        return {"type": self.kind} | limits | self._default()

    def openapi(self) -> dict[str, Any]:
        """The parameter in the OpenAPI document."""
        return {
            "name": self.name, "in": "query", "description": self.description, "required": self.required,
            "schema": self.schema(),
        }  # fmt: skip

    def _default(self) -> dict[str, Any]:
        return {} if self.default is None else {"default": self.default}


def parse(parameters: Sequence[Parameter], query: Iterable[tuple[str, str]]) -> Mapping[str, Any]:
    """The values of all parameters of a query; Problem: one is unknown, missing, given twice, or breaks its rule."""
    known = {parameter.name: parameter for parameter in parameters}
    given: dict[str, list[str]] = {}
    for name, text in query:
        if name not in known:
            rule = (
                f"is not a parameter; there are: {', '.join(known)}" if known else "is not a parameter; there are none"
            )
            raise Problem.of_parameter(name[:100], text, rule)
        given.setdefault(name, []).append(text)
    for parameter in parameters:
        if parameter.required and parameter.name not in given:
            raise Problem.of_parameter(parameter.name, None, parameter.rule())
    values = {name: known[name].read_all(texts) for name, texts in given.items()}
    return {parameter.name: values.get(parameter.name, parameter.default) for parameter in parameters}


def parse_form(parameters: Sequence[Parameter], query: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """The values of all parameters of a page; raises Problem: a parameter breaks its rule.

    Fields of a form that are empty are missing, of repeated ones the last one counts (of handles all), and unknown ones
    are ignored, as other sites add their own to links.
    """
    given: dict[str, list[str]] = {}
    for name, text in query:
        given.setdefault(name, []).append(text.strip())
    return {parameter.name: _of_form(parameter, given.get(parameter.name, [])) for parameter in parameters}


def _of_form(parameter: Parameter, texts: Sequence[str]) -> Any:
    """The value of a parameter of a page."""
    if parameter.kind == "handles":
        return parameter.read_all(filled) if (filled := list(filter(None, texts))) else parameter.default
    return parameter.read(texts[-1]) if texts and texts[-1] else parameter.default


def _text(limit: float) -> str:
    return f"{limit:,.0f}" if limit == int(limit) else str(limit)


def _number(limit: float, kind: str) -> float:
    return int(limit) if kind == "integer" else limit
