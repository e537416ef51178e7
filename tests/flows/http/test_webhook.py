"""Webhooks: signed by the rule of Standard Webhooks, tried again, bounded in time, and silent about secrets."""

from __future__ import annotations

import base64
import hmac
import json
import threading
from collections.abc import Iterator

import pytest
from helpers.server import Reply, Server, serving

import ranklake.flows.http.webhook as webhooks
from ranklake.flows.http.pace import Clock
from ranklake.flows.http.webhook import ATTEMPTS, SECRET, Webhook, WebhookError, sign

KEY = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


@pytest.fixture
def receiver() -> Iterator[Server]:
    with serving() as server:
        server["/hook?to=me"] = Reply(b"thank you", 202)
        yield server


class Impatient(Clock):
    """The real time, without pauses."""

    def sleep(self, seconds: float) -> None:
        pass


def webhook(receiver: Server, secret: str = KEY, path: str = "hook?to=me") -> Webhook:
    return Webhook(f"{receiver.url}{path}", secret, receiver.clock)


@pytest.mark.parametrize(
    ("key", "notice_id", "seconds", "body", "signature"),
    [
        ("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, b'{"test": 2432232314}',
         "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="),
        ("plJ3nmyCDGBKInavdOK15jsl", "msg_loFOjxBNrRLzqYUf", 1_731_705_121,
         b'{"event_type":"ping","data":{"success":true}}', "v1,rAvfW3dJ/X/qxhsaXPOyyCGmRKsaKWcsNccKXlIktD0="),
    ],
)  # fmt: skip
def test_sign__has_the_published_signatures(
    key: str, notice_id: str, seconds: int, body: bytes, signature: str
) -> None:
    """The test vector of the libraries of Standard Webhooks, and the example in the manual of Svix."""
    assert sign(base64.b64decode(key), notice_id, seconds, body) == signature


def test_post__sends_one_signed_notice(receiver: Server) -> None:
    webhook(receiver).post("ratings.changed", {"run": "ladder", "name": "Zoë \udc80"})
    (request,) = receiver.requests
    notice = json.loads(request.body)
    assert notice["data"] == {"run": "ladder", "name": "Zoë \udc80"}
    assert (notice["type"], notice["timestamp"]) == ("ratings.changed", "2027-01-15T08:00:00Z")
    headers = {name.lower(): value for name, value in request.headers.items()}
    assert headers["content-type"] == "application/json"
    assert headers["webhook-timestamp"] == "1800000000"
    signed = f"{headers['webhook-id']}.1800000000.".encode() + request.body
    digest = hmac.digest(base64.b64decode(KEY.removeprefix("whsec_")), signed, "sha256")
    assert headers["webhook-signature"] == f"v1,{base64.b64encode(digest).decode()}"


def test_post__without_a_secret_has_no_signature(receiver: Server) -> None:
    webhook(receiver, "").post("ratings.changed", {})
    assert "webhook-signature" not in {name.lower() for name in receiver.requests[0].headers}


def test_post__is_tried_again_with_the_same_id(receiver: Server) -> None:
    receiver.script("/hook?to=me", Reply(b"", 503), Reply(b"", 429), Reply(b"", 204))
    webhook(receiver).post("ratings.changed", {"run": "ladder"})
    ids = [request.headers["webhook-id"] for request in receiver.requests]
    assert len(ids) == 3
    assert len(set(ids)) == 1
    assert len({request.body for request in receiver.requests}) == 1
    assert len(receiver.clock.slept) == 2
    assert 1.0 <= receiver.clock.slept[0] <= receiver.clock.slept[1]


@pytest.mark.parametrize(("status", "attempts"), [(500, ATTEMPTS), (400, 1), (404, 1), (301, 1)])
def test_post__names_the_status_and_not_the_path(receiver: Server, status: int, attempts: int) -> None:
    receiver["/hook?to=me"] = Reply(b"", status, {"Location": "/elsewhere"})
    with pytest.raises(WebhookError, match=rf"^webhook at 127\.0\.0\.1: .* status {status}, not 2xx") as caught:
        webhook(receiver).post("ratings.changed", {})
    assert "hook?" not in str(caught.value)
    assert receiver.paths == ["/hook?to=me"] * attempts


def test_post__does_not_wait_for_a_slow_receiver(receiver: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhooks, "SECONDS", 0.05)
    ended = threading.Event()
    receiver["/hook?to=me"] = Reply(b"", 200, before=lambda: ended.wait(60.0) and None)
    with pytest.raises(WebhookError, match=r"no whole response within 0.05 s"):
        Webhook(f"{receiver.url}hook?to=me", KEY, Impatient()).post("ratings.changed", {})
    ended.set()
    assert len(receiver.requests) == ATTEMPTS


def test_post__an_unreachable_receiver_is_an_error() -> None:
    with serving() as closed:
        pass
    with pytest.raises(WebhookError, match="no response"):
        webhook(closed).post("ratings.changed", {})
    assert len(closed.clock.slept) == ATTEMPTS - 1


@pytest.mark.parametrize("url", ["", "hook", "ftp://host/hook", "https://", "https://user:password@host/hook"])
def test_webhook__needs_an_address_without_a_user(url: str) -> None:
    with pytest.raises(ValueError, match="webhook") as caught:
        Webhook(url)
    assert "password" not in str(caught.value)


def test_webhook__takes_its_secret_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for secret, message in (("short", "8 or more visible ASCII"), ("whsec_!!!!", "base64 must follow")):
        monkeypatch.setenv(SECRET, secret)
        with pytest.raises(ValueError, match=message) as caught:
            Webhook.from_environment("https://host/hook")
        assert secret not in str(caught.value)
