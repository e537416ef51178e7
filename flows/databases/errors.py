"""The error of a database, in one line: the cause, the address without its password, and the remedy."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ..common.text import message

UNWRITABLE = {"25006": "the database is read-only: give the address of one that can be written"}
"""The remedies of a connection that writes."""

# By the beginning of SQLSTATE (PostgreSQL's manual, appendix A); the first match counts.
_BY_STATE = (
    ("42501", "the user lacks a privilege: grant it, or connect as another user"),
    ("53100", "the disk of the server is full; nothing was changed, free space there and run again"),
    ("3F000", "create it, or give the name of another"),
    ("55P03", "another publish holds the tables; run again later"),
    ("42601", "the statement must be one query, and the query must not write"),
    ("40", "another transaction was in the way; nothing was changed, run again"),
    ("25006", "the connection is read-only: the query must not write"),
    ("28", "give the password by PGPASSWORD or ~/.pgpass"),
    ("08", "the connection is lost; run again"),
    ("57P", "the connection is lost; run again"),
)
_BY_TEXT = (
    (r"(?i)no password supplied|password authentication", "give the password by PGPASSWORD or ~/.pgpass"),
    (r"(?i)server closed the connection|terminating connection|could not receive data|no connection to the server|"
     r"Lost connection|gone away|reset by peer|Broken pipe", "the connection is lost; run again"),
    (r"(?i)Connection refused", "no server listens there: start it, or give another host and port"),
    (r"(?i)certificate (verify failed|has expired)|SSL is required|not support SSL",
     "see the parameters for TLS of the address"),
    (r"(?i)No space left on device|disk is full", "the disk is full; nothing was changed, free space and run again"),
    (r"(?i)already exists|there is already an? ", "another program made it: give a --prefix, as ranklake_"),
    (r"(?i)database is locked", "another program writes to the file; run again later"),
    (r"(?i)permission denied", "the user lacks a privilege: grant it, or connect as another user"),
    (r"(?i)readonly database|read-only transaction|not authorized|authorization denied",
     "the connection is read-only: the query must not write"),
    (r"(?i)syntax error|one statement at a time", "the statement must be one query, and the query must not write"),
    (r"(?i)too big", "a value or a row has more than 64 MiB: leave it out of the query"),
    (r"(?i)invalid byte sequence|0x00", "the database cannot store a character of a name"),
)  # fmt: skip
_PREFIXES = re.compile(
    r"^(?:[A-Z_]+: )?(?:\[(?:libpq|SQLite)\] )?(?:Failed to [a-z ]+(?: '.*?')?: )?(?:.*?ERROR:\s+)?", re.DOTALL
)


class DatabaseError(Exception):
    """A database refused a statement, or cannot be reached: its address without a password, the cause, and the remedy
    if one is known; and the SQLSTATE or nothing.
    """

    def __init__(self, database: str, reason: str, state: str = "") -> None:
        super().__init__(database, reason, state)  # pickle passes them to the constructor in another process
        self.database, self.reason, self.state = database, reason, state

    def __str__(self) -> str:
        return message(f"{self.database}: {self.reason}")


def database_error(
    database: str,
    secrets: tuple[str, ...],
    text: str,
    state: str = "",
    primary: str = "",
    remedies: Mapping[str, str] | None = None,
) -> DatabaseError:
    """The error of a driver as one for people; its message repeats none of the ``secrets``.

    ``text``, ``state``: the message of the driver, and the SQLSTATE or nothing. ``primary``: the message of the server
    alone, if the driver has it. ``remedies``: by the beginning of SQLSTATE, beside those of PostgreSQL.
    """
    reason = primary or _PREFIXES.sub("", text, count=1).strip().partition("\n")[0]
    for secret in filter(None, secrets):
        reason = reason.replace(secret, "[password]")
    by_state = [*(remedies or {}).items(), *_BY_STATE]
    remedy = next((remedy for code, remedy in by_state if state.startswith(code)), "")
    remedy = remedy or next((remedy for pattern, remedy in _BY_TEXT if re.search(pattern, text)), "")
    return DatabaseError(database, f"{reason}; {remedy}" if remedy else reason, state)
