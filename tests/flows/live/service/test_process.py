"""`ranklake rated` as a process: its messages, its end under load, a second one, tokens that are read again."""

from __future__ import annotations

import signal
import threading
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner
from helpers.lakes import start
from helpers.timeouts import TIMEOUT

pytest.importorskip("uvicorn")
from helpers.live_process import options, rated
from helpers.live_service import duel

from ranklake.flows.cli.main import cli
from ranklake.flows.live.log.opening import open_log


@pytest.mark.slow
def test_process__told_to_end_finishes_what_is_accepted(tmp_path: Path) -> None:
    accepted: list[str] = []
    refused: list[int] = []

    def send(client: int, address: str) -> None:
        with suppress(httpx.TransportError), httpx.Client(timeout=TIMEOUT) as session:
            for at in range(1_000_000):
                answer = session.post(f"{address}/matches", json=duel(f"{client}-{at}", f"p{client}", f"p{at % 7}!"))
                if answer.status_code == 201:
                    accepted.append(answer.json()["id"])
                else:
                    refused.append(answer.status_code)

    with rated(tmp_path) as (process, address, last):
        assert last == 0
        threads = [threading.Thread(target=send, args=(client, address)) for client in range(4)]
        for thread in threads:
            thread.start()
        while len(accepted) < 100:
            httpx.get(f"{address}/leaderboard", timeout=TIMEOUT)
        process.send_signal(signal.SIGTERM)
        out, error = process.communicate(timeout=TIMEOUT)
        for thread in threads:
            thread.join()
    assert process.returncode == 0
    assert out == b"stopped; all accepted matches are in the log\n"
    assert b"Traceback" not in error
    assert set(refused) <= {503}
    log = open_log(f"file:{tmp_path / 'log'}", "games")
    names = [record.id for record in log.read(1)]
    log.close()
    assert len(names) == len(set(names))
    assert set(accepted) <= set(names)
    with rated(tmp_path) as (_, address, last):
        assert last == len(names)
        assert httpx.get(f"{address}/matches/{accepted[-1]}", timeout=TIMEOUT).status_code == 200


@pytest.mark.slow
def test_process__of_a_run_that_another_one_rates_names_its_holder(tmp_path: Path) -> None:
    with rated(tmp_path) as (process, address, _):
        for more in ((), ("--log", f"file:{tmp_path / 'other log'}")):
            with start("rated", *options(tmp_path, *more)) as second:
                out, error = second.communicate(timeout=TIMEOUT)
            assert (second.returncode, out) == (1, b"")
            assert str(process.pid).encode() in error
            assert b"Traceback" not in error
        assert httpx.post(f"{address}/matches", json=duel("1"), timeout=TIMEOUT).status_code == 201


@pytest.mark.slow
def test_process__reads_its_tokens_again_at_sighup(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"

    def allow(token: str) -> None:
        tokens.write_text(f"game:{sha256(token.encode()).hexdigest()}\n", encoding="utf-8", newline="")

    def status(address: str, token: str) -> int:
        headers = {"authorization": f"Bearer {token}"}
        return httpx.post(f"{address}/matches", json=duel(token), headers=headers, timeout=TIMEOUT).status_code

    allow("first")
    with rated(tmp_path, "--tokens", str(tokens)) as (process, address, _):
        assert [status(address, token) for token in ("first", "second")] == [201, 401]
        allow("second")
        process.send_signal(signal.SIGHUP)
        while status(address, "second") == 401:
            pass
        assert status(address, "first") == 401
        process.terminate()
        _, error = process.communicate(timeout=TIMEOUT)
        assert b"read 1 tokens again" in error


def test_command__errors_are_in_the_words_of_its_options(tmp_path: Path) -> None:
    def asked(*more: str, run: str = "run") -> tuple[int, str]:
        result = CliRunner().invoke(cli, ["rated", "--run", run, "--lake", str(tmp_path / "lake"), *more])
        return result.exit_code, result.output + str(result.exception or "")

    log = ("--log", f"file:{tmp_path / 'log'}")
    for more, words in [
        (("--log", "mysql://u:password@h/d"), "--log must be file:DIR or postgresql://USER@HOST/DATABASE"),
        ((*log, "--host", "0.0.0.0"), "give --tokens FILE"),
        ((*log, "--public-read"), "--public-read is for --tokens"),
        (log, "no run 'run' in the lake"),
        ((*log, "--queue", "10"), "--queue"),
    ]:
        code, text = asked(*more)
        assert (code, words in text) == (2, True), text
        assert "password" not in text
    bad = tmp_path / "tokens"
    bad.write_text("secret\n", encoding="utf-8", newline="")
    code, text = asked(*log, "--dataset", "d", "--tokens", str(bad))
    assert code in (1, 2)
    assert "line 1" in text
    assert "secret" not in text
