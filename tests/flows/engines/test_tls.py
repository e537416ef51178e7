"""Clusters with certificates: `rate --scheduler tls://...`, and the errors when one side refuses the other."""

from __future__ import annotations

import logging
import os
import shlex
import shutil
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from unittest.mock import Mock

import pandas as pd
import pytest
from deploy.commands import ROOT, shell_lines
from helpers.lakes import lake_of, rate_run, rated, same_tables, synthetic
from helpers.timeouts import TIMEOUT

from ranklake import rate_history
from ranklake.flows.engines.limits import ClusterLimits
from ranklake.flows.engines.protocols import EngineError
from ranklake.flows.engines.serial import Serial
from ranklake.flows.engines.task_pool import open_task_pool
from ranklake.storage import Lake

distributed = pytest.importorskip("distributed", reason="the extra cluster is not installed: no Dask to test with")
pytest.importorskip("cryptography", reason="the extra cluster is not installed: no certificates to test with")
import dask.config  # noqa: E402
from helpers.certificates import Authority, Certificates  # noqa: E402
from helpers.cluster_sites import Site  # noqa: E402
from helpers.ports import context_of  # noqa: E402

from ranklake.flows.engines import connection as connecting  # noqa: E402
from ranklake.flows.engines import task_pool  # noqa: E402
from ranklake.flows.engines.cluster import Cluster  # noqa: E402

CONTESTS = synthetic(20, large=9)
SECONDS = 60.0  # maximum time until an error
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")]


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("certificates") / "cluster")


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("certificates") / "other")


@pytest.fixture(scope="module")
def site(authority: Authority, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    opened = Site(tmp_path_factory.mktemp("site"), 2, tls=authority.sign("node"))
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def open_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A scheduler without certificates."""
    opened = Site(tmp_path_factory.mktemp("open"), 0)
    yield opened
    opened.close()


def invoke(*words: str, environ: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "from ranklake.flows.cli.main import main; main()", *words],
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[3])} | environ,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )


def rate(lake: Lake, scheduler: str, environ: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    return invoke("rate", "--dataset", "games", "--scheduler", scheduler, "--lake", lake.url, environ=environ)


def test_rate__works_with_the_certificates_of_dasks_settings(site: Site, authority: Authority, tmp_path: Path) -> None:
    lake, expected = lake_of(tmp_path / "lake", CONTESTS), lake_of(tmp_path / "expected", CONTESTS)
    done = rate(lake, site.address, authority.sign("driver").environ())
    assert done.returncode == 0, done.stderr
    assert "authenticated" not in done.stderr
    rate_run(expected, engine=Serial())
    assert same_tables(rated(lake, "games-elo-mmr"), rated(expected))


def test_rate__reads_certificates_from_a_file_of_settings(site: Site, authority: Authority, tmp_path: Path) -> None:
    lake, driver = lake_of(tmp_path / "lake", CONTESTS[:3]), authority.sign("driver")
    (tmp_path / "settings").mkdir()
    (tmp_path / "settings" / "tls.yaml").write_text(
        f"""\
distributed:
  comm:
    require-encryption: true
    tls:
      ca-file: {driver.ca}
      client: {{cert: {driver.certificate}, key: {driver.key}}}
"""
    )
    done = rate(lake, site.address, {"DASK_CONFIG": str(tmp_path / "settings")})
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs the command openssl")
def test_deploy__certificates_and_settings_of_the_page_make_a_cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = [line for line in shell_lines(ROOT / "deploy" / "README.md") if "deploy/tls" in line]
    made = [line for line in lines if line.startswith(("install", "openssl"))]
    assert len(made) == 6
    for line in made:
        subprocess.run(shlex.split(line), check=True, capture_output=True)
    folder = tmp_path / "deploy" / "tls"
    settings = (ROOT / "deploy" / "dask-tls.yaml").read_text().replace("/etc/ranklake/tls", str(folder))
    (tmp_path / "dask-tls.yaml").write_text(settings)
    # the operator for Kubernetes sets this address, without TLS; the command's option must have precedence
    environ = {"DASK_CONFIG": str(tmp_path / "dask-tls.yaml"), "DASK_SCHEDULER_ADDRESS": "tcp://127.0.0.1:1"}
    driver = Certificates(folder / "ca.pem", folder / "driver.pem", folder / "driver.key")
    site, lake = Site(tmp_path, 1, tls=driver, environ=environ), lake_of(tmp_path / "lake", CONTESTS[:3])
    try:
        assert "ALERT" in refused_tls(site.address)
        done = rate(lake, site.address, environ)
        assert done.returncode == 0, done.stderr
    finally:
        site.close()


def refused_tls(address: str) -> str:
    """The error for a client without a certificate."""
    host, port = address.removeprefix("tls://").split(":")
    with (
        socket.create_connection((host, int(port)), SECONDS) as plain,
        pytest.raises(ssl.SSLError) as caught,
        context_of(None).wrap_socket(plain) as tls,
    ):
        tls.recv(1)
    return caught.value.reason


def refusal(address: str, settings: Mapping[str, object]) -> str:
    """The error for an address, the same for an engine and for a task pool; it comes without a wait."""
    said = []
    patient = ClusterLimits(connect_seconds=5 * SECONDS)
    for door in (lambda address: Cluster(address, limits=patient), lambda address: open_task_pool(scheduler=address)):
        began = time.monotonic()
        with pytest.MonkeyPatch.context() as patch, dask.config.set(settings):
            patch.setattr(task_pool, "TIMEOUT_SECONDS", 5 * SECONDS)
            patch.setattr(connecting, "PROBE_SECONDS", 5 * SECONDS)
            with pytest.raises(EngineError) as caught:
                door(address)
        assert time.monotonic() - began < SECONDS
        said.append(str(caught.value))
    assert said[0] == said[1]
    assert "\n" not in said[0]
    assert len(said[0]) < 400
    return said[0]


@pytest.mark.parametrize("who", ["scheduler", "client", "expired client"])
def test_cluster__a_certificate_of_another_authority_or_time_is_refused(
    site: Site, authority: Authority, other: Authority, who: str
) -> None:
    if who == "scheduler":
        said = refusal(site.address, authority.sign("driver", trusted=other).settings())
        assert f"the certificate of the scheduler at {site.address} is refused: " in said
        assert f"signed by the CA in {other.path}" in said
        return
    expired = who == "expired client"
    mine = authority.sign("expired", expired=True) if expired else other.sign("stranger", trusted=authority)
    said = refusal(site.address, mine.settings())
    assert f"the scheduler at {site.address} refuses the certificate {mine.certificate} (" in said
    assert not expired or "(sslv3 alert certificate expired)" in said


def test_cluster__an_expired_scheduler_is_refused(authority: Authority, tmp_path: Path) -> None:
    site = Site(tmp_path, 0, tls=authority.sign("old node", expired=True), answers=False)
    try:
        said = refusal(site.address, authority.sign("driver").settings())
        assert f"the certificate of the scheduler at {site.address} is refused: certificate has expired" in said
    finally:
        site.close()


def test_cluster__only_one_side_with_tls_is_an_error(site: Site, open_site: Site, authority: Authority) -> None:
    address = site.address.replace("tls", "tcp")
    assert f"the scheduler at {address} requires TLS; use {site.address} with a certificate" in refusal(address, {})
    address = open_site.address.replace("tcp", "tls")
    said = refusal(address, authority.sign("driver").settings())
    assert f"the scheduler at {address} does not use TLS; start it with certificates" in said
    said = refusal(open_site.address, {"distributed.comm.require-encryption": True})
    assert "is not encrypted, and Dask's settings require it (distributed.comm.require-encryption)" in said


def test_rate__reports_unreadable_settings_of_dask(tmp_path: Path) -> None:
    lake, file = lake_of(tmp_path / "lake", CONTESTS[:3]), tmp_path / "settings.yaml"
    file.write_text("distributed: [\n")
    for words in (["--scheduler", "tls://127.0.0.1:1"], ["--engine", "dask"]):
        done = invoke("rate", "--dataset", "games", *words, "--lake", lake.url, environ={"DASK_CONFIG": str(file)})
        assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
        assert done.stderr.startswith("Error: Dask's settings cannot be read: ")
        assert str(file) in done.stderr


def test_cluster__accepts_a_certificate_as_an_argument(site: Site, authority: Authority) -> None:
    results = pd.DataFrame({"contest": list("aaabbbccc"), "player": list("xyzzxyyzx"), "rank": [1, 2, 3] * 3})
    security = authority.sign("notebook").security()
    with distributed.Client(site.address, security=security, set_as_default=False) as client:
        history = rate_history(results, engine=client)
    pd.testing.assert_frame_equal(history, rate_history(results, engine="serial"))


def test_task_pool__runs_a_search_on_a_cluster_with_certificates(site: Site, authority: Authority) -> None:
    with dask.config.set(authority.sign("searcher").settings()), open_task_pool(scheduler=site.address) as task_pool:
        assert dict(task_pool.run(pow, 2, [(3,), (5,)])) == {0: 8, 1: 32}


@pytest.mark.parametrize(
    ("address", "warnings"),
    [("tcp://127.0.0.1:1", 0), ("tcp://localhost:1", 0), ("tcp://[::1]:1", 0), ("tcp://10.1.2.3:1", 1)],
)
def test_connect__warns_once_of_an_open_cluster(
    address: str, warnings: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(connecting, "_open", set())
    monkeypatch.setattr(connecting, "_security_of_settings", lambda *_: None)
    monkeypatch.setattr(distributed, "Client", lambda address, **_: Mock(address=address))
    with caplog.at_level(logging.WARNING, "ranklake.cluster"):
        assert [connecting.connect(address, 1.0).address for _ in range(2)] == [address] * 2
    assert [message.startswith(f"the connection to {address} is neither encrypted") for message in caplog.messages] == (
        [True] * warnings
    )
