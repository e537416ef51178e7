"""A webhook: notices are posted as JSON to an address of the operator, signed by the rule of Standard Webhooks.

The headers are ``webhook-id``, ``webhook-timestamp`` and, with a secret, ``webhook-signature``: ``v1,`` and the base64
of the HMAC-SHA256 of ``id.timestamp.body``. Source: standardwebhooks.com. Libraries of that name verify them.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import json
import os
import uuid
from collections.abc import Mapping
from typing import Any

import httpx
from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_exponential_jitter

from ..common.text import quoted
from ..common.times import utc
from .bounded import ExchangeError
from .client import TRANSIENT_STATUSES, split_url
from .pace import Clock
from .redaction import Secret
from .transport import Transport

SECRET = "RANKLAKE_WEBHOOK_SECRET"  # environment variable
ATTEMPTS = 4
SECONDS = 10.0  # of an attempt, from the connection to the status of the response
_TIMEOUT = httpx.Timeout(SECONDS)
_PREFIX = "whsec_"


class WebhookError(ConnectionError):
    """A notice was not accepted by its receiver. The message has the host, and not the path, which may be a secret."""


class _TransientError(WebhookError):
    """Another attempt may succeed."""


class Webhook:
    """Posts notices to one address.

    ``url``: http or https, without user and password.
    ``secret``: key of the signature; empty for none. After ``whsec_`` it is base64, as Standard Webhooks writes keys.
    Raises ValueError: the address or the secret is invalid; neither is shown in full.
    """

    def __init__(self, url: str, secret: str = "", clock: Clock | None = None) -> None:
        parts = split_url(url)
        if parts is None:
            raise ValueError("a webhook is an address as https://host/path")
        if parts.username is not None:
            raise ValueError(f"the webhook at {quoted(str(parts.hostname))} must not have a user; use {SECRET} to sign")
        self.url, self.host = url, str(parts.hostname)
        self._secret = Secret(secret, SECRET)
        self._key = _key_of(self._secret.value)
        self._clock = clock or Clock()

    @classmethod
    def from_environment(cls, url: str) -> Webhook:
        """The webhook at an address, with the secret in the environment."""
        return cls(url, os.environ.get(SECRET, ""))

    def post(self, kind: str, data: Mapping[str, Any]) -> None:
        """Post a notice, again after transient errors, with the same id; ``WebhookError`` unless the status is 2xx."""
        time = self._clock.now()
        stamp = utc(int(time)).isoformat().replace("+00:00", "Z")
        notice = {"type": kind, "timestamp": stamp, "data": dict(data)}
        body = json.dumps(notice, ensure_ascii=False, allow_nan=False).encode("utf-8", "backslashreplace")
        notice_id = f"msg_{uuid.uuid4().hex}"
        attempts = Retrying(
            retry=retry_if_exception_type(_TransientError),
            wait=wait_exponential_jitter(initial=1.0, max=30.0),
            stop=stop_after_attempt(ATTEMPTS),
            sleep=self._clock.sleep,
            reraise=True,
        )
        attempts(self._send, notice_id, body)

    def _send(self, notice_id: str, body: bytes) -> None:
        seconds = int(self._clock.now())
        headers = {"Content-Type": "application/json", "User-Agent": "ranklake", "webhook-id": notice_id}
        headers["webhook-timestamp"] = str(seconds)
        if self._key:
            headers["webhook-signature"] = sign(self._key, notice_id, seconds, body)
        transport = Transport({}, max_bytes=0, timeout=_TIMEOUT, monotonic=self._clock.monotonic)
        try:
            answer = transport.request("POST", self.url, headers, SECONDS, lambda _: "none", body)
        except ExchangeError as error:
            kind = _TransientError if error.transient else WebhookError
            raise kind(f"webhook at {self.host}: {self._secret.redact(str(error))}") from None
        finally:
            transport.close()
        if not 200 <= answer.status < 300:
            kind = _TransientError if answer.status in TRANSIENT_STATUSES else WebhookError
            raise kind(f"webhook at {self.host}: the notice was answered with status {answer.status}, not 2xx")


def sign(key: bytes, notice_id: str, seconds: int, body: bytes) -> str:
    """The signature of a notice: the header ``webhook-signature`` of Standard Webhooks, version 1."""
    digest = hmac.digest(key, b"%s.%d.%s" % (notice_id.encode(), seconds, body), "sha256")
    return f"v1,{base64.b64encode(digest).decode()}"


def _key_of(secret: str) -> bytes:
    """The bytes of a secret: base64 after ``whsec_``, otherwise the text. ``ValueError`` does not show it."""
    if not secret.startswith(_PREFIX):
        return secret.encode()
    try:
        return base64.b64decode(secret.removeprefix(_PREFIX), validate=True)
    except binascii.Error:
        raise ValueError(f"{SECRET} begins with {_PREFIX}, so base64 must follow (not shown)") from None
