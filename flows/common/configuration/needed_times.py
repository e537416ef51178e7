"""Times that contests need where hyperparameters count days, and the time of a contest to come."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping
from typing import Any

from ranklake.rating_kernels.core.limits import limits_of

from ..times import spelled
from .settings import params_to_json


def chosen_of(params: Any, named: Collection[str] = ()) -> dict[str, Any]:
    """The hyperparameters that are ``named`` or differ from their defaults."""
    values = {field: getattr(params, field.name) for field in dataclasses.fields(params)}
    return {field.name: value for field, value in values.items() if field.name in named or value != field.default}


def check_times(kind: type[Any], chosen: Mapping[str, Any], where: str) -> None:
    """Refuse hyperparameters that act by the days between contests, where contests have no times.

    Their unit tells which ones these are. A default that was not ``chosen`` is not refused: it adds nothing; nor are
    None and 0. ``where`` says what has no times, and the remedy.
    """
    for field in dataclasses.fields(kind):
        value = chosen.get(field.name)
        if value and limits_of(field).unit.endswith(("day", "days")):
            raise ValueError(f"{field.name} = {value:g} counts the days between contests, and {where}")


def check_to_come(params: Any, seconds: int, *ends: int) -> None:
    """Raise ``ValueError`` for a time of a contest to come that is before the last rated contest, or the only one that
    is known if days count.

    ``ends`` are the ends of the last contest in rated order and of the latest one, as clocks of sources may go back;
    none without rated contests. Times are UTC seconds, 0 is unknown.
    """
    if not seconds:
        return
    last = min(filter(None, ends), default=0)
    if ends and not last:
        check_first_times(params, "the rated contests have no times: give none to the contest to come either")
    if last and seconds < last:
        raise ValueError(
            f"the contest to come cannot end at {spelled(seconds)}: the ratings are those after the last contest, "
            f"which ended at {spelled(last)}; give a later time, or none"
        )


def check_first_times(params: Any, where: str) -> None:
    """Refuse the first times after contests without, if any hyperparameter counts days, by default or not."""
    check_times(type(params), params_to_json(params, whole=True), where)
