"""Output of errors and log lines, escaped and of limited length like all output."""

from __future__ import annotations

import io
from typing import Any

import click

from ...common.text import message
from .terminal import print_line

__all__ = ["escape_logs", "print_traceback", "print_usage"]


def print_usage(error: click.UsageError) -> None:
    """Print a usage error, with click's lines about the usage; for a group without a command, its help."""
    if not isinstance(error, click.exceptions.NoArgsIsHelpError):  # whose message is our help text
        error.message = message(error.message)  # type: ignore[misc]  # escapes line breaks of the message only
    text = io.StringIO()
    error.show(text)
    for line in text.getvalue().removesuffix("\n").split("\n"):
        print_line(line.replace("\t", "    "), err=True)


def print_traceback(error: BaseException) -> None:
    """Print the traceback of an unexpected error, or of any error with ``--debug``."""
    import traceback

    for line in "".join(traceback.format_exception(error)).removesuffix("\n").split("\n"):
        print_line(line, err=True)


def escape_logs() -> None:
    """Escape log lines also without a handler: Python would write them to stderr unchanged."""
    import logging

    class Visible(logging.Formatter):
        def formatMessage(self, record: logging.LogRecord) -> str:
            return message(super().formatMessage(record))

        def formatException(self, ei: Any) -> str:
            return "\n".join(map(message, super().formatException(ei).split("\n")))

    if logging.lastResort is not None:
        logging.lastResort.setFormatter(Visible())
