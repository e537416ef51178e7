"""Optional packages: one error for a missing one, and an error in place of a panic."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType

from ranklake.storage.lake.remedies import install_extra


class MissingExtraError(ImportError):
    """A package of an extra is not installed; the message has the command that installs it."""


def need(package: str, extra: str, purpose: str) -> ModuleType:
    """Import a package of an extra; ``MissingExtraError`` with the purpose and the remedy if it is not installed."""
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
        message = f"{purpose} needs the package {package}: {install_extra(extra)}"
        raise MissingExtraError(message, name=package) from error


@contextmanager
def panics_as_errors() -> Iterator[None]:
    """Raise a panic of a package in Rust, which is no ``Exception``, as ``OSError`` with its message."""
    try:
        yield
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # each such package has a class of its own
            raise
        raise OSError(f"the library failed: {error}") from error
