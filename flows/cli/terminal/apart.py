"""Groups of players who never met: the warning of commands that compare ratings, and the option that refuses them."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any, TypeVar, cast

import click

from .output import print_line

F = TypeVar("F", bound=Callable[..., Any])
REMEDY = "`ranklake runs --components` lists them."
WRONG = 2  # exit code
_FOUND = "ranklake.apart"

_strict = click.option(
    "--strict", is_flag=True, help="Exit with code 2 if ratings cannot be compared: large groups of players never met."
)
refuse_option = click.option("--strict", is_flag=True, help="Refuse entrants who never met, not even through others.")


def strict_option(command: F) -> F:
    """The option ``--strict``: the command does its work, and exits with code 2 if :func:`say_apart` said something."""

    @functools.wraps(command)
    def strictly(strict: bool, **given: Any) -> Any:
        found = command(**given)
        if strict and _FOUND in click.get_current_context().meta:
            sys.exit(WRONG)
        return found

    return cast("F", _strict(strictly))


def say_apart(line: str, run: str = "", err: bool = True) -> None:
    """Print that large groups of players never met; an empty line says nothing."""
    if line:
        click.get_current_context().meta[_FOUND] = True
        print_line(f"run {run}: {line}" if run else line, err)
