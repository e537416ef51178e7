"""Make a failing case smaller while it still fails."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Iterator
from typing import Any

BYTES = "base64"  # key of an object that represents bytes


def shrink(
    parameters: dict[str, Any], fails: Callable[[dict[str, Any]], bool], seconds: float, most: int = 400
) -> tuple[dict[str, Any], int]:
    """The smallest known parameters that fail with the same rule, and the number of trials.

    At most ``most`` trials in some seconds.
    """
    give_up, tried = time.monotonic() + seconds, 0
    smaller = True
    while smaller:
        smaller = False
        for candidate in simpler(parameters):
            if tried == most or time.monotonic() > give_up:
                return parameters, tried
            tried += 1
            if fails(candidate):
                parameters, smaller = candidate, True
                break
    return parameters, tried


def simpler(value: Any) -> Iterator[Any]:
    """Smaller values of the same form, the smallest first: shorter lists and bytes, lower numbers; strings stay."""
    if isinstance(value, bool):
        if value:
            yield False
    elif isinstance(value, int | float):
        for lower in dict.fromkeys([type(value)(0), value // 2, value - 1]):
            if 0 <= lower < value:
                yield lower
    elif isinstance(value, list) and value and all(isinstance(inside, str) for inside in value):
        return  # the words of a command
    elif isinstance(value, list):
        yield from _shorter(value)
        for at, inside in enumerate(value):
            yield from ([*value[:at], other, *value[at + 1 :]] for other in simpler(inside))
    elif isinstance(value, dict) and value.keys() == {BYTES}:
        for data in _shorter(base64.b64decode(value[BYTES])):
            yield {BYTES: base64.b64encode(data).decode()}
    elif isinstance(value, dict):
        for key, inside in value.items():
            yield from (value | {key: other} for other in simpler(inside))


def _shorter(items: Any) -> Iterator[Any]:
    """The items without all, a half, a quarter, ... of them, down to one item."""
    size = len(items)
    while size:
        for start in range(0, len(items), size):
            yield items[:start] + items[start + size :]
        size //= 2
