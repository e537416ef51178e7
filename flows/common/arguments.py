"""Check the arguments of a public function against its annotations, by one rule for each type. Values inside of an
argument, and ranges, are checked where they are used.
"""

from __future__ import annotations

import functools
import inspect
import numbers
import os
import types
import typing
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from .text import described

F = TypeVar("F", bound=Callable[..., Any])


class _Rule(NamedTuple):
    """What a value of a type is in words, and whether a value is one."""

    words: str
    fits: Callable[[Any], bool]


def _is_number(value: Any, kind: type[Any]) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool | np.bool_)


def _is_list(value: Any) -> bool:
    is_other = isinstance(value, str | bytes | Mapping) or hasattr(value, "columns")
    return isinstance(value, Iterable) and not is_other


_LIST = _Rule("a list", _is_list)
_RULES = {
    str: _Rule("a text", lambda value: isinstance(value, str)),
    bool: _Rule("True or False", lambda value: isinstance(value, bool | np.bool_)),
    int: _Rule("a whole number", lambda value: _is_number(value, numbers.Integral)),
    float: _Rule("a number", lambda value: _is_number(value, numbers.Real)),
    os.PathLike: _Rule("a path", lambda value: isinstance(value, os.PathLike)),
    Mapping: _Rule("a mapping", lambda value: isinstance(value, Mapping)),
    Sequence: _LIST,
    Collection: _LIST,
    Iterable: _LIST,
    types.NoneType: _Rule("None", lambda value: value is None),
}


def checked(function: F) -> F:
    """The function; a ``TypeError`` names an argument of a wrong type, what it must be, and the value."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        signature, rules = _rules_of(function)
        try:
            given = signature.bind(*args, **kwargs).arguments
        except TypeError as error:
            raise TypeError(f"{function.__name__}: {error}") from None
        for name, value in given.items():
            if name in rules and not any(rule.fits(value) for rule in rules[name]):
                words = " or ".join(rule.words for rule in rules[name])
                raise TypeError(f"{name} must be {words}, got {described(value)}")
        return function(*args, **kwargs)

    return typing.cast(F, call)


def check_names(names: Iterable[Any], what: str = "a player") -> None:
    """Raise ``TypeError`` for what cannot be a name, such as a list or a frame; ``what`` says what it was given for."""
    for name in names:
        try:
            hash(name)
        except TypeError:
            raise TypeError(f"{what} must be a text or a number, got {described(name)}") from None


@functools.cache
def _rules_of(function: Callable[..., Any]) -> tuple[inspect.Signature, dict[str, list[_Rule]]]:
    """The signature of a function, and the rules of those parameters whose types all have one."""
    signature = inspect.signature(function, eval_str=True)
    rules = {}
    for name, parameter in signature.parameters.items():
        kinds = [typing.get_origin(kind) or kind for kind in _members(parameter.annotation)]
        if all(kind in _RULES for kind in kinds):
            rules[name] = [_RULES[kind] for kind in kinds]
    return signature, rules


def _members(annotation: Any) -> list[Any]:
    """The types of a union, or the type itself; of names in a Literal the type of the names."""
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        return [kind for member in typing.get_args(annotation) for kind in _members(member)]
    if typing.get_origin(annotation) is typing.Literal:
        return list({type(name) for name in typing.get_args(annotation)})
    return [annotation]
