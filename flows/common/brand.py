"""How a run presents itself to readers: title, description, logo, and the words for players and contests.

The words and the texts are those of the operator. They are stored in ``run.json`` and in the root of a published run,
and the site, the server, its API and the commands show the same.
"""

from __future__ import annotations

import json
import re
import tomllib
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, Self
from xml.etree import ElementTree

from ranklake.storage import DamagedError, Run
from ranklake.storage.lake.layout import run_file

from .text import count, quoted, visible

RECORDED = "brand"  # the key in ``run.json`` and in the root
MOST_LOGO = 64 << 10  # bytes
MOST_PIXELS = 2048  # of a logo, each way
WORDS = ("player", "players", "contest", "contests")
_LENGTHS = {"title": 80, "description": 300, **dict.fromkeys(WORDS, 40)}
_PNG = b"\x89PNG\r\n\x1a\n"
_ACTIVE = {"script", "foreignobject", "iframe", "embed", "object", "handler", "listener"}  # elements of SVG
_HREF = "href"
_ENCODING = re.compile(r"""\s*<\?xml[^>]*encoding\s*=\s*["']([^"']*)""").match


@dataclass(frozen=True, slots=True)
class Logo:
    """A picture beside the title: SVG without scripts, or PNG.

    Raises ``ValueError``: it is none of these, too large, or would run or load something.
    """

    data: bytes

    def __post_init__(self) -> None:
        if len(self.data) > MOST_LOGO:
            raise ValueError(f"logo must have at most {MOST_LOGO:,} bytes, got {len(self.data):,}")
        if self.data.startswith(_PNG):
            _check_png(self.data)
        else:
            _check_svg(self.data)

    @property
    def kind(self) -> str:
        """``svg`` or ``png``."""
        return "png" if self.data.startswith(_PNG) else "svg"

    @property
    def media_type(self) -> str:
        """Of its file."""
        return {"png": "image/png", "svg": "image/svg+xml"}[self.kind]

    @property
    def name(self) -> str:
        """The name of its file, which changes with its content."""
        return f"logo-{blake2b(self.data, digest_size=8).hexdigest()}.{self.kind}"


@dataclass(frozen=True, slots=True)
class Brand:
    """What an operator has chosen for a run; by default nothing.

    ``title``: shown instead of the name of the run. ``description``: a sentence or two.
    ``player``, ``players``, ``contest``, ``contests``: the words for these, singular and plural, lower case unless they
    are names.
    ``logo``: a picture; None without.
    Raises ``ValueError``, which names the rule.
    """

    title: str = ""
    description: str = ""
    player: str = "player"
    players: str = "players"
    contest: str = "contest"
    contests: str = "contests"
    logo: Logo | None = None

    def __post_init__(self) -> None:
        for name, longest in _LENGTHS.items():
            text = getattr(self, name)
            if not isinstance(text, str):
                raise ValueError(f"{name} must be a text, got {text!r}")
            if len(text) > longest:
                raise ValueError(f"{name} must have at most {longest} characters, got {len(text)}")
            if visible(text) != text:
                raise ValueError(f"{name} must be one line of visible characters, got {quoted(text)}")
            if name in WORDS and not text.strip():
                raise ValueError(f"{name} must not be empty")

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> Self:
        """The opposite of :meth:`to_json`. Raises ``ValueError``."""
        known = dict(facts)
        if unknown := sorted(set(known) - {field.name for field in fields(cls)}):
            raise ValueError(f"there is no {unknown[0]!r} of a brand, only {', '.join(f.name for f in fields(cls))}")
        if (logo := known.get("logo")) is not None:
            try:
                known["logo"] = Logo(b64decode(str(logo), validate=True))
            except Base64Error as error:
                raise ValueError(f"logo must be in base 64: {error}") from error
        return cls(**known)

    @classmethod
    def of_run(cls, run: Run) -> Self:
        """The choices in ``run.json``; raises ``DamagedError`` if they are invalid."""
        try:
            return cls.from_json(run.config.get(RECORDED, {}))
        except (TypeError, ValueError) as error:
            path = run_file(run.name)
            raise DamagedError(f"{path}: the brand is invalid: {error}", path=path) from error

    def to_json(self) -> dict[str, Any]:
        """What was chosen, the logo in base 64; empty without a choice."""
        values = {field.name: (getattr(self, field.name), field.default) for field in fields(self)}
        chosen = {name: value for name, (value, default) in values.items() if value != default}
        return chosen | ({} if self.logo is None else {"logo": b64encode(self.logo.data).decode()})

    def count_players(self, n: int) -> str:
        """A number of players with its noun: ``1 driver``, ``2,000 drivers``."""
        return f"{n:,} {self.player if n == 1 else self.players}"

    def count_contests(self, n: int) -> str:
        """The same of contests."""
        return f"{n:,} {self.contest if n == 1 else self.contests}"

    def count_in_contest(self, n_players: int, n_games: int | None = None) -> str:
        """Who took part in a contest, as ``60 players``; in a period of games, as ``83 games of 60 players``."""
        games = "" if n_games is None else f"{count(n_games, 'game')} of "
        return f"{games}{self.count_players(n_players)}"

    def facts(self) -> dict[str, Any]:
        """Title, description and words for programs; of the logo its media type, or None."""
        words = {name: getattr(self, name) for name in ("title", "description", *WORDS)}
        return words | {"logo": None if self.logo is None else self.logo.media_type}

    def changed(self, choices: Mapping[str, Any]) -> Self:
        """The same with other choices, as :func:`read_brand` returns them."""
        return replace(self, **choices)


UNBRANDED = Brand()
"""Of a run without choices."""


def read_brand(path: str) -> dict[str, Any]:
    """The choices in a file, .toml or .json, by the names of :class:`Brand`; ``logo`` is a file beside it.

    Raises ``ValueError``, which names the file and the rule.
    """
    file = Path(path)
    if file.suffix.lower() not in (".toml", ".json"):
        raise ValueError(f"brand must be a file that ends in .toml or .json, got {path!r}")
    data = _bytes_of(file)
    try:
        text = data.decode("utf-8-sig")
        found = tomllib.loads(text) if file.suffix.lower() == ".toml" else json.loads(text)
    except ValueError as error:  # also of the encoding and of both formats
        raise ValueError(f"{path}: {error}") from error
    if not isinstance(found, dict):
        raise ValueError(f"{path}: must be an object with some of {', '.join(f.name for f in fields(Brand))}")
    chosen = dict(found)
    try:
        if isinstance(name := chosen.get("logo"), str) and name:
            chosen["logo"] = read_logo(str(file.parent / name))
        elif name is not None:
            chosen["logo"] = None
        known = {field.name for field in fields(Brand)}
        if unknown := sorted(set(chosen) - known):
            raise ValueError(f"there is no {unknown[0]!r}, only {', '.join(f.name for f in fields(Brand))}")
        Brand(**chosen)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    return chosen


def read_logo(path: str) -> Logo:
    """A logo from a file, .svg or .png. Raises ``ValueError``, which names the file and the rule."""
    try:
        return Logo(_bytes_of(Path(path), MOST_LOGO + 1))
    except ValueError as error:
        text = str(error)
        raise ValueError(text if path in text else f"{path}: {text}") from error


def _bytes_of(file: Path, most: int = -1) -> bytes:
    try:
        with file.open("rb") as opened:
            return opened.read(most)
    except FileNotFoundError:
        raise ValueError(f"there is no file {str(file)!r}") from None
    except OSError as error:
        raise ValueError(f"{file}: {error.strerror}") from None


def _check_png(data: bytes) -> None:
    width, height = (int.from_bytes(data[at : at + 4], "big") for at in (16, 20))
    if data[12:16] != b"IHDR" or not (1 <= width <= MOST_PIXELS and 1 <= height <= MOST_PIXELS):
        raise ValueError(f"logo must be a PNG of at most {MOST_PIXELS} x {MOST_PIXELS} pixels")


def _check_svg(data: bytes) -> None:
    """Refuse what would run or load something if the file is opened by its address."""
    try:
        text = data.decode("utf-8-sig")
        if (found := _ENCODING(text)) and found[1].lower() != "utf-8":
            raise ValueError(f"the encoding must be UTF-8, got {quoted(found[1])}")
        if "<!DOCTYPE" in text.upper() or "<!ENTITY" in text.upper():
            raise ValueError("there must be no document type and no entities")
        root = ElementTree.fromstring(text)
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        raise ValueError(f"logo must be SVG or PNG: {error}") from error
    if root.tag.rpartition("}")[2] != "svg":
        raise ValueError(f"logo must be SVG or PNG, got XML with the root {quoted(root.tag.rpartition('}')[2])}")
    for element in root.iter():
        name = element.tag.rpartition("}")[2].lower()
        if name in _ACTIVE:
            raise ValueError(f"logo must be SVG without scripts, got the element {name}")
        for attribute, value in element.attrib.items():
            key = attribute.rpartition("}")[2].lower()
            if key.startswith("on"):
                raise ValueError(f"logo must be SVG without scripts, got the attribute {quoted(key)}")
            if key == _HREF and not value.strip().startswith(("#", "data:image/png", "data:image/jpeg")):
                raise ValueError(f"logo must be SVG that loads nothing, got the address {quoted(value)}")
