"""Imports of optional packages, with one error for a missing one."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from ranklake.storage.lake.remedies import install_extra

__all__ = ["MissingExtraError", "need"]


class MissingExtraError(ImportError):
    """A package of an extra is not installed; the message has the command that installs it."""


def need(package: str, extra: str, purpose: str) -> ModuleType:
    """Import a package of an extra.

    Raises
    ------
    MissingExtraError
        It is not installed; the message has the purpose and the remedy.
    """
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
        message = f"{purpose} needs the package {package}: {install_extra(extra)}"
        raise MissingExtraError(message, name=package) from error
