"""The address of a database: its kind, its parts, and a form without the password for messages."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal, TypeAlias
from urllib.parse import parse_qsl, unquote, urlsplit

Kind: TypeAlias = Literal["postgresql", "sqlite", "mariadb"]

_KINDS: dict[str, Kind] = {
    "postgresql": "postgresql",
    "postgres": "postgresql",
    "sqlite": "sqlite",
    "mariadb": "mariadb",
    "mysql": "mariadb",
}
_FORMS = "postgresql://USER@HOST/DATABASE, mariadb://USER@HOST/DATABASE or sqlite:///FILE"
_ENCODE = "a password with @ / ? # or : must be percent-encoded, or be given in the environment"
_SECRET = ("password", "passwd", "sslpassword")


@dataclass(frozen=True, slots=True)
class DatabaseAddress:
    """The address of a database; MySQL has the kind ``mariadb``.

    ``shown``: for messages and records: without password and parameters.
    ``url``: as given; not in the ``repr``.
    ``user``, ``password``, ``host``, ``path``: decoded; empty if missing. ``path`` is the file of SQLite, else the name
    of the database.
    """

    kind: Kind
    shown: str
    url: str = field(repr=False)
    path: str
    user: str = ""
    password: str = field(default="", repr=False)
    host: str = ""
    port: int | None = None
    parameters: dict[str, str] = field(default_factory=dict, repr=False)

    @property
    def secrets(self) -> tuple[str, ...]:
        """All forms of the passwords, which no message may repeat."""
        written = re.search(r"://[^/?#]*?:([^/?#]*)@", self.url)
        values = [self.password, written[1] if written else "", *(self.parameters.get(key, "") for key in _SECRET)]
        return tuple(sorted({value for value in values if value}, key=len, reverse=True))

    @classmethod
    def parse(cls, url: str) -> DatabaseAddress:
        """The parts of an address; ``ValueError``, which shows nothing behind the kind, for another form or kind."""
        scheme, colon, rest = url.partition("://")
        kind = _KINDS.get(scheme.lower())
        if kind is None or not colon:
            shown = repr(f"{scheme}://...") if colon and re.fullmatch(r"[\w+.-]{1,20}", scheme) else "another form"
            raise ValueError(f"the address of a database must be {_FORMS}, got {shown}")
        if kind == "sqlite":
            path = unquote(rest.removeprefix("/")) if rest.startswith("/") else ""
            if not path or "\0" in path:
                raise ValueError(
                    "the address of an SQLite file is sqlite:///FILE, with four slashes for a path from the root"
                )
            return cls(kind, f"sqlite:///{path}", url, path)
        try:
            parts = urlsplit(url)
            port = parts.port if "," not in parts.netloc else None  # libpq takes several hosts
        except ValueError:
            raise ValueError(f"the address of the database is invalid (not shown); {_ENCODE}") from None
        wild = "@" in parts.path or "@" in parts.fragment or parts.netloc.count("@") > 1
        if wild or any("=" not in pair for pair in filter(None, parts.query.split("&"))):
            raise ValueError(f"the address of the database is invalid (not shown); {_ENCODE}")
        user, _, place = parts.netloc.rpartition("@")
        user, _, password = user.partition(":")
        shown = f"{scheme}://{user + '@' if user else ''}{place}{parts.path}"
        path = unquote(parts.path.removeprefix("/"))
        parameters = dict(parse_qsl(parts.query))
        host = parts.hostname or "" if "," not in place else place
        return cls(kind, shown, url, path, unquote(user), unquote(password), unquote(host), port, parameters)
