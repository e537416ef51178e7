"""Addresses with any parameters and headers: no error of the server, and the same answer when asked again."""

from __future__ import annotations

import asyncio
import json
import random
import time
from typing import Any
from urllib.parse import quote, quote_from_bytes, unquote

from chaos.cases import Violation
from chaos.published import application, watched
from chaos.world import World

MOST_SECONDS = 20.0  # of a machine under load
VALUES = ("", " ", "0", "1", "-1", "+1", "1.5", "1e9", "1e400", "nan", "inf", "9" * 19, "9" * 400, "-" + "9" * 5000,
          "0x1", "1_0",
          "\u0663", "2015-01-01", "2015-13-01", "0001-01-01T00:00+14:00", "9999-12-31", "1e5d", "90d", "9y",
          "1600000000",
          "-62135596801", "rating", "mu", "json", "csv", "ndjson", "arrow", "player 1", "player 1,player 2", "old one",
          "last/1", "3", "x" * 4001, "," * 999, "a," * 20, "\0", "\r\n", "<b>", "'\"", "%", "..", "../x", "e\u0301",
          "\U0001f600",
          "country:PL", ":", "=1+1", "latest.parquet", "rounds/_delta_log/00000000000000000000.json", "{}", "[]",
          "null",
          "true")  # fmt: skip
RAW = ("%zz", "%", "%ff%fe", "%ed%a0%80", "%00", "+", "%25zz", "&&", ";", "&{}=1", "%u0041")
HEADERS = (("range", ("bytes=0-3", "bytes=-5", "bytes=5-2", "bytes=0-1,3-4", "bytes=" + "9" * 400 + "-", "x",
           "bytes=")),
           ("if-none-match", ("*", '"x"', "W/", ",,,", "x" * 9000)),
           ("if-modified-since", ("never", "Mon, 01 Jan 99999 00:00:00 GMT", "Fri, 31 Dec 9999 23:59:59 GMT", "0",
           "(", "1 Jan")),
           ("accept", ("text/html", "application/json", "text/html;q=x", "*/*;q=1e999", ";", "text/html;q=nan")),
           ("accept-encoding", ("gzip", "zstd", "zstd;q=0,gzip;q=0.000", "x" * 3000, ";;;", "*")),
           ("origin", ("null", "https://a.example")), ("host", ("", "[", "a?b", "x" * 9000)))  # fmt: skip


def draw(seed: int) -> dict[str, Any]:
    """A parameter of an address with a value, more parameters of the same address, and headers."""
    dice = random.Random(seed)
    value = quote(_text(dice), "") if dice.random() < 0.8 else dice.choice(RAW)
    others = [
        {"of": dice.randrange(1000), "value": quote(_text(dice), "")} for _ in range(dice.choice([0, 1, 1, 2, 4]))
    ]
    headers = [[name, dice.choice(values)] for name, values in dice.sample(HEADERS, dice.choice([0, 0, 1, 2]))]
    method = dice.choice(["GET", "GET", "GET", "GET", "HEAD", "OPTIONS", "DELETE"])
    return {"of": dice.randrange(1000), "value": value, "others": others, "headers": headers, "method": method}


def _text(dice: random.Random) -> str:
    if dice.random() < 0.85:
        return dice.choice(VALUES)
    data = dice.randbytes(dice.randint(1, 30))
    return unquote(quote_from_bytes(data))


def check(world: World, parameters: dict[str, Any]) -> None:
    from helpers.addresses import all_parameters
    from helpers.api import ask

    app, known = application(world), world.once("parameters", all_parameters)
    path, query = _address(known, parameters)
    headers = [(name.encode(), value.encode("latin-1")) for name, value in parameters["headers"]]

    async def twice() -> list[Any]:
        return [await ask(app, path, query, headers, parameters["method"]) for _ in range(2)]

    world.counts["requests"] += 2
    with watched() as log:
        began = time.monotonic()
        first, again = asyncio.run(twice())
        seconds = time.monotonic() - began
    shown = f"{path[:500]!r} ? {query[:500]!r}: {first!r:.2000}; {log.lines}"
    if not 200 <= first[0] < 500:
        raise Violation("an address is an error of the server", shown)
    if seconds > MOST_SECONDS:
        raise Violation("an answer takes too long", f"{seconds:.1f} s; {shown}")
    if first != again:
        raise Violation("an answer differs when it is asked for again", f"{shown} and {again!r:.2000}")
    if log.lines:
        raise Violation("an address leaves lines in the log", shown)
    _check_body(parameters["method"], *first, shown)


def _address(known: list[Any], parameters: dict[str, Any]) -> tuple[str, bytes]:
    """The path and the query of a request."""
    address, name = known[parameters["of"] % len(known)]
    value = parameters["value"].replace("{}", name)
    path, _, query = address.partition("?")
    siblings = [one.name for one in known if one.address.partition("?")[0] == path and "?" in one.address]
    more = [f"{siblings[one['of'] % len(siblings)]}={one['value']}" for one in parameters["others"] if siblings]
    if query:
        return path, "&".join([query.replace("{}", value), *more]).encode()
    return path.replace("{}", unquote(value)), "&".join(more).encode()


def _check_body(method: str, status: int, headers: dict[str, str], body: bytes, shown: str) -> None:
    if method == "HEAD" or status in (204, 304):
        if status == 304 and body:
            raise Violation("an answer 304 has a body", shown)
        return
    kind = headers.get("content-type", "").partition(";")[0]
    if b"Traceback" in body:
        raise Violation("a traceback is in an answer", shown)
    if "content-encoding" not in headers and kind in ("application/json", "application/problem+json"):
        try:
            json.loads(body, parse_constant=float.fromhex)
        except ValueError:
            raise Violation("an answer is no JSON", shown) from None
    if status in (400, 404) and kind not in ("text/html", "application/problem+json"):
        raise Violation("an error has no reason", shown)
