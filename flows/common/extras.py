"""Optional packages: one clear error where one is missing."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

__all__ = ["MissingExtraError", "need"]


class MissingExtraError(ImportError):
    """A package of one of our extras is not installed; says how to get it."""


def need(package: str, extra: str, purpose: str) -> ModuleType:
    """Import a package of an extra.

    Raises
    ------
    MissingExtraError
        It is not installed; what it would be needed for, and the way out.
    """
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
        remedy = f"pip install 'ranklake[{extra}]'"
        raise MissingExtraError(f"{purpose} needs the package {package}: {remedy}", name=package) from error
