"""Access tokens are found in every encoding in which a site may repeat them, and nowhere else."""

from __future__ import annotations

import base64
import html
import json
import logging
import time
from urllib.parse import quote

import pytest

from ranklake.flows.http.redaction import REDACTED, Secret

TOKEN = "lip_very+Secret/123="


def escaped(text: str) -> str:
    return "".join(f"\\u{ord(c):04x}" for c in text)


FORMS = {
    "plain": TOKEN,
    "percent": quote(TOKEN, safe=""),
    "percent-all": "".join(f"%{ord(c):02X}" for c in TOKEN),
    "percent-twice": quote(quote("".join(f"%{ord(c):02x}" for c in TOKEN))),
    "json": escaped(TOKEN),
    "json-in-json": json.dumps(json.dumps(TOKEN).replace("l", "\\u006C"))[1:-1],
    "json-slash": TOKEN.replace("/", "\\/"),
    "javascript": "".join(f"\\x{ord(c):02x}" for c in TOKEN),
    "html": html.escape(TOKEN),
    "html-decimal": "".join(f"&#{ord(c)};" for c in TOKEN),
    "html-hexadecimal": "".join(f"&#x{ord(c):02X};" for c in TOKEN),
    "hexadecimal": TOKEN.encode().hex(),
    **{f"base64-{n}": base64.b64encode(b"u" * n + TOKEN.encode() + b"tail").decode() for n in range(4)},
    "base64-url": base64.urlsafe_b64encode(b"Bearer " + TOKEN.encode()).decode(),
}


@pytest.mark.parametrize("form", FORMS)
def test_secret__is_found_in_any_known_encoding(form: str) -> None:
    secret, text = Secret(TOKEN), f'{{"a": "before {FORMS[form]} after"}}'
    assert secret.is_in(text)
    assert secret.is_in(text.encode())
    redacted = secret.redact(text)
    assert REDACTED in redacted
    assert not secret.is_in(redacted)
    assert redacted.startswith('{"a": "before ')


@pytest.mark.parametrize(
    "text", ["", "lip_very", TOKEN[:-1] + "x", TOKEN.upper(), "\\u006c\\u0069\\u0070", "%6c%69%70"]
)
def test_secret__a_text_without_it_stays_as_it_is(text: str) -> None:
    assert not Secret(TOKEN).is_in(text)
    assert Secret(TOKEN).redact(text) == text


def test_secret__none_is_in_nothing() -> None:
    assert not Secret("")
    assert not Secret("").is_in("")
    assert Secret("").redact("text") == "text"


@pytest.mark.bound("ranklake.flows.http.redaction.LEAST_CHARACTERS")
@pytest.mark.parametrize(
    "value", ["short", "with blank in it", "line\nbreak-inside", "ümlaut-äöü-token", "nul\0-character"]
)
def test_secret__what_is_no_token_is_refused_and_not_shown(value: str) -> None:
    with pytest.raises(ValueError, match="RANKLAKE_X_TOKEN must have 8 or more visible ASCII characters") as error:
        Secret(value, "RANKLAKE_X_TOKEN")
    assert value not in str(error.value)


def test_secret__a_line_break_behind_it_is_no_part_of_it_and_it_is_not_shown() -> None:
    secret = Secret(f"{TOKEN}\r\n")
    assert secret.value == TOKEN
    assert TOKEN not in repr(secret)


def test_secret__is_removed_from_the_records_of_the_http_library(caplog: pytest.LogCaptureFixture) -> None:
    secret = Secret(TOKEN)
    with caplog.at_level(logging.DEBUG):
        logging.getLogger("httpcore.http11").debug("headers %r", [(b"ETag", TOKEN.encode())])
    assert REDACTED in caplog.text
    assert TOKEN not in caplog.text
    assert secret


@pytest.mark.parametrize("unit", [b'{"rank": 1, "username": "lip"}\n', b"\\u006c\\\\", b"%25%25", b"l" * 64])
def test_secret__is_searched_for_in_time_that_grows_with_the_text(unit: bytes) -> None:
    secret, text = Secret(TOKEN), unit * (1_000_000 // len(unit))
    began = time.process_time()
    assert not secret.is_in(text)
    assert time.process_time() - began < 1.0  # a backtracking pattern would take hours


def test_secret__is_searched_for_in_one_pass_over_escapes() -> None:
    for text in ("\\" * 200_000, "%" + "25" * 200_000, "&#" + "0" * 200_000, ("\\" * 100 + "u") * 5000):
        began = time.process_time()
        assert not Secret(TOKEN).is_in(text)
        assert time.process_time() - began < 1.0
