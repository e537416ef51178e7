"""Access tokens in text that a site sent: found in the encodings in which a site may repeat them, and replaced.

The known encodings are: plain; percent-encoded up to five times; with escapes of JSON, JavaScript or HTML; base64 at
any offset; hexadecimal. A site that disguises the token otherwise knows it already and can publish it by itself: the
purpose is that no log, file or message of this program does so by accident.
"""

from __future__ import annotations

import base64
import logging
import re
from weakref import WeakSet

REDACTED = "[access token]"
LEAST_CHARACTERS = 8  # a shorter token would match unrelated text
_LOGGERS = ("httpcore.connection", "httpcore.http11", "httpcore.proxy", "httpcore.socks")


class Secret:
    """An access token; empty means none. ``ValueError``, which does not show it, if it is short or no visible ASCII."""

    def __init__(self, value: str, name: str = "the access token") -> None:
        value = value.strip()  # a file ends with a line break
        if value and not (re.fullmatch(r"[!-~]+", value) and len(value) >= LEAST_CHARACTERS):
            rule = f"{LEAST_CHARACTERS} or more visible ASCII characters without a blank"
            raise ValueError(f"{name} must have {rule}, got {len(value)} characters (not shown)")
        self.value = value
        if value:
            self._literals = [value, *_encodings(value)]
            escaped = "".join(_escaped_forms(c) for c in value)
            self._escaped = re.compile(escaped)
            self._pattern = re.compile("|".join([escaped, *map(re.escape, self._literals)]))
            _SECRETS.add(self)
            for logger in _LOGGERS:
                logging.getLogger(logger).addFilter(_without_secrets)  # has no effect the second time

    def __bool__(self) -> bool:
        return bool(self.value)

    def __repr__(self) -> str:
        return f"Secret({REDACTED if self.value else ''})"

    def redact(self, text: str) -> str:
        """The text with the token replaced."""
        return self._pattern.sub(REDACTED, text) if self.value else text

    def is_in(self, text: str | bytes) -> bool:
        """Whether a text repeats the token."""
        if not self.value:
            return False
        data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
        if any(literal.encode() in data for literal in self._literals):
            return True
        # The pattern takes some 40 ms a megabyte, and most texts have no escape at all. Latin-1 keeps each byte.
        return any(c in data for c in (b"%", b"&", b"\\")) and bool(self._escaped.search(data.decode("latin-1")))


def _escaped_forms(c: str) -> str:
    """A pattern of one character, plain or escaped; alternatives begin with a literal, which `re` matches fast.

    Repetitions are bounded: a text of backslashes alone would otherwise take quadratic time.
    """
    code = f"{ord(c):02x}"
    hexadecimal = "".join(f"[{digit}{digit.upper()}]" if digit.isalpha() else digit for digit in code)
    escaped = [] if c.isalnum() else [r"\\\\{0,7}" + re.escape(c)]  # JSON may write / as \/
    entity = rf"&#(?:0{{0,6}}{ord(c)}|[xX]0{{0,6}}{hexadecimal});?"
    named = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;"}
    names = [named[c]] if c in named else []
    forms = [
        *escaped,
        rf"%(?:25){{0,4}}{hexadecimal}",
        rf"\\\\{{0,7}}(?:u00|x){hexadecimal}",
        entity,
        *names,
        re.escape(c),
    ]
    return f"(?:{'|'.join(forms)})"


def _encodings(value: str) -> list[str]:
    """The token in hexadecimal, and in base64 at each of the three offsets within a longer text."""
    data = value.encode()
    encodings = {data.hex(), data.hex().upper()}
    for offset in range(3):
        text = base64.b64encode(bytes(offset) + data).decode().rstrip("=")
        # Characters at either end also hold bits of the neighbours, and may differ.
        text = text[-(-offset * 8 // 6) : (offset + len(data)) * 8 // 6]
        encodings |= {text, text.replace("+", "-").replace("/", "_")}
    return sorted(encodings)


_SECRETS: WeakSet[Secret] = WeakSet()  # the tokens in use


def _without_secrets(record: logging.LogRecord) -> bool:
    """Removes the tokens from a record of the HTTP library, which at level DEBUG shows headers of responses."""
    text = record.getMessage()
    for secret in list(_SECRETS):
        text = secret.redact(text)
    record.msg, record.args = text, ()
    return True
