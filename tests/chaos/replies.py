"""Invalid replies: heads, lengths, encodings and bodies that contradict each other."""

from __future__ import annotations

import base64
import copy
import gzip
import json
import random
import zlib
from collections.abc import Callable
from typing import Any

from chaos.shrinking import BYTES

Reply = dict[str, Any]

STATUSES = ("200 OK", "200", "201 Created", "204 No Content", "206 Partial Content", "301 Moved", "304 Not Modified",
            "400 Bad Request", "401 Unauthorized", "404 Not Found", "418 Teapot", "429 Slow", "500 Oops", "503 Later",
            "599 What", "999 No", "099 No", "-1 No", "two hundred", "200 \x1b[2J", "200 " + "x" * 9000, "")  # fmt: skip
VERSIONS = ("HTTP/1.1", "HTTP/1.0", "HTTP/9.9", "HTTP/1.1 ", "ICY", "", "\x00")
HEADERS = (
    "Retry-After: -5", "Retry-After: 1e9", "Retry-After: " + "9" * 400, "Retry-After: Mon, 99 Foo 2026 00:00:00",
    "Retry-After: Fri, 31 Dec 9999 23:59:59 GMT", "ETag: " + "e" * 20_000, "ETag: \x00", "ETag: \xff\xfe",
    "Last-Modified: never", "Content-Type: application/json; charset=utf-16", "Content-Type: text/html; charset=x",
    "Content-Encoding: gzip", "Content-Encoding: deflate", "Content-Encoding: br", "Content-Encoding: zstd",
    "Content-Encoding: gzip, gzip, gzip", "Content-Encoding: nonsense", "Transfer-Encoding: chunked",
    "Transfer-Encoding: gzip, chunked", "Content-Length: -1", "Content-Length: 1e3", "Content-Length: " + "9" * 40,
    "Content-Length: 0", "Content-Length: 5\r\nContent-Length: 6", "Set-Cookie: a=" + "b" * 5000, "X: \x1b]0;x\x07",
    "no colon at all", ": no name", " folded", "X" * 70_000 + ": y", "Connection: upgrade\r\nUpgrade: h2c",
    "Location: {url}", "Location: http://127.0.0.1:1/", "Location: file:///etc/passwd", "Location: //[", "Location: ",
    "Location: http://user:password@127.0.0.1/", "Location: http://127.0.0.1:99999/", "Location: \xe9",
    "Location: javascript:alert(1)", "Location: /" + "x" * 9000,
)  # fmt: skip
VALUES = (None, True, False, 0, -1, 1, 2**31, 2**63, 2**64, -(2**63), 10**30, 10**400, 1e300, -0.0, 0.5, "", "\x00",
          "\x1b[2J", "\u202e", "../..", "9999-12-31T23:59:59+00:00", "0001-01-01T00:00:00+14:00", "x" * 5000, [], {},
          "\ud800", "nan", "1970-01-01")  # fmt: skip
PAGES = (b"<html>maintenance</html>", b"", b"\xff\xfe", b"\xef\xbb\xbf{}", b"null", b"[]", b"{}", b"0", b'"', b"NaN",
         b"[" * 100_000, b'{"a":' * 50_000, b"<!DOCTYPE x [<!ENTITY a 'b'>]><x>&a;</x>",
         b"\x1f\x8b\x08junk")  # fmt: skip


def reply(dice: random.Random, honest: bytes) -> Reply:
    """A reply in place of a valid response."""
    kind = dice.choices(_KINDS, _SHARES)[0]
    made = {"head": "", "body": honest, "mebibytes": 0, "layers": 1, "pace": 0.0, "end": "close"} | kind(dice, honest)
    made["head"] = made["head"] or _head(len(made["body"]))
    return made | {"body": {BYTES: base64.b64encode(made["body"]).decode()}}


def _head(length: int | str | None, *more: str, status: str = "HTTP/1.1 200 OK") -> str:
    lines = [status, *([] if length is None else [f"Content-Length: {length}"]), "Connection: close", *more]
    return "\r\n".join(lines) + "\r\n\r\n"


def _spoilt(dice: random.Random, honest: bytes) -> Reply:
    """JSON, or XML, of another shape."""
    try:
        value = json.loads(honest)
    except ValueError:
        return _bytes(dice, honest)
    for _ in range(dice.randint(1, 3)):
        value = _spoil(dice, value)
    return {"body": json.dumps(value).encode()}


def _spoil(dice: random.Random, value: Any) -> Any:
    """The value with one part replaced, deleted, repeated or nested deeper."""
    value = copy.deepcopy(value)
    inside, key, at = None, None, value
    while isinstance(at, dict | list) and at and (inside is None or dice.random() < 0.8):
        inside, key = at, dice.choice(list(at) if isinstance(at, dict) else range(len(at)))
        at = inside[key]
    if inside is None:
        return dice.choice(VALUES)
    how = dice.choice(["replace", "replace", "delete", "repeat", "wrap", "rename"])
    if how == "delete":
        del inside[key]
    elif how == "repeat" and isinstance(inside, list):
        inside.insert(key, at)
    elif how == "wrap":
        inside[key] = [at]
    elif how == "rename" and isinstance(inside, dict):
        inside[str(dice.choice(VALUES))[:100]] = inside.pop(key)
    else:
        inside[key] = dice.choice(VALUES)
    return value


def _bytes(dice: random.Random, honest: bytes) -> Reply:
    """Some bytes changed, deleted or inserted."""
    body = bytearray(honest)
    for _ in range(dice.randint(1, 8)):
        at = dice.randrange(len(body) + 1)
        how = dice.choice(["flip", "cut", "insert", "numbers"])
        if how == "flip" and at < len(body):
            body[at] ^= 1 << dice.randrange(8)
        elif how == "cut":
            del body[at : at + dice.randint(1, 50)]
        elif how == "numbers":
            body[at:at] = str(dice.choice(VALUES[4:12])).encode()[:30]
        else:
            body[at:at] = dice.randbytes(dice.randint(1, 20))
    return {"body": bytes(body)}


def _page(dice: random.Random, honest: bytes) -> Reply:
    return {"body": dice.choice(PAGES)}


def _status(dice: random.Random, honest: bytes) -> Reply:
    line = f"{dice.choice(VERSIONS[:2] * 4 + VERSIONS)} {dice.choice(STATUSES)}"
    return {"head": _head(len(honest), *dice.sample(HEADERS, dice.choice([0, 0, 1])), status=line)}


def _headers(dice: random.Random, honest: bytes) -> Reply:
    length = dice.choice([len(honest), len(honest), None])
    status = f"HTTP/1.1 {dice.choice(('200 OK', '200 OK', '302 Found', '429 Slow', '503 Later'))}"
    many = [f"X-{number}: y" for number in range(dice.choice([0, 0, 500, 5000]))]
    return {"head": _head(length, *dice.sample(HEADERS, dice.randint(1, 3)), *many, status=status)}


def _length(dice: random.Random, honest: bytes) -> Reply:
    """A wrong length."""
    length = max(len(honest) + dice.choice([-50, -1, 1, 50, 10**6, 10**12]), 0)
    return {"head": _head(length), "end": dice.choice(["close", "reset", "hold"])}


def _chunks(dice: random.Random, honest: bytes) -> Reply:
    """Invalid chunks."""
    body, at = b"", 0
    while at < len(honest):
        piece = honest[at : at + dice.randint(1, 200)]
        at += len(piece)
        size = dice.choice(
            [b"%x" % len(piece)] * 20 + [b"zz", b"-1", b"ffffffffffffffffff", b"", b"%x;x=y" % len(piece)]
        )
        body += size + b"\r\n" + piece + dice.choice([b"\r\n"] * 20 + [b"", b"\n"])
    return {
        "head": _head(None, "Transfer-Encoding: chunked"),
        "body": body + dice.choice([b"0\r\n\r\n", b"", b"0\r\n"]),
    }


def _encoded(dice: random.Random, honest: bytes) -> Reply:
    """An encoding that is damaged, nested, or differs from the named one."""
    name, encode = dice.choice([("gzip", gzip.compress), ("deflate", zlib.compress), ("br", bytes), ("zstd", bytes)])
    body = encode(honest)
    if dice.random() < 0.7:
        body = _bytes(dice, body)["body"]
    return {"head": _head(len(body), f"Content-Encoding: {name}"), "body": body}


def _bomb(dice: random.Random, honest: bytes) -> Reply:
    """A body that expands to many times its size."""
    layers = dice.choice([1, 1, 2, 3])
    head = _head(None, f"Content-Encoding: {', '.join(['gzip'] * layers)}")
    return {"head": head, "body": b"", "mebibytes": dice.choice([8, 64, 300]), "layers": layers}


def _slow(dice: random.Random, honest: bytes) -> Reply:
    """Byte by byte, or no byte at all."""
    if dice.random() < 0.3:
        return {"end": "hold", "head": dice.choice(["HTTP/1.1 200 OK\r\n", "H", _head(None)]), "body": b""}
    return {"pace": dice.choice([0.01, 0.05])}


def _cut(dice: random.Random, honest: bytes) -> Reply:
    head = _head(len(honest))
    if dice.random() < 0.3:
        return {"head": head[: dice.randrange(len(head))] or "H", "body": b"", "end": dice.choice(["close", "reset"])}
    return {"head": head, "body": honest[: dice.randrange(len(honest) + 1)], "end": dice.choice(["close", "reset"])}


_OF: dict[Callable[[random.Random, bytes], Reply], int] = {
    _spoilt: 30, _bytes: 12, _page: 6, _status: 10, _headers: 14, _length: 5, _chunks: 8, _encoded: 6, _bomb: 2,
    _slow: 2, _cut: 6,
}  # fmt: skip
_KINDS, _SHARES = list(_OF), list(_OF.values())
