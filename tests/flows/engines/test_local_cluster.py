"""The Dask cluster that `--engine dask` starts: its certificate, temporary files and settings."""

from __future__ import annotations

import os
import re
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from helpers.lakes import lake_of, rate_run, rated, same_tables, synthetic
from helpers.timeouts import TIMEOUT

from ranklake.flows.common.extras import MissingExtraError
from ranklake.flows.engines.factory import open_engine
from ranklake.flows.engines.limits import ClusterLimits
from ranklake.flows.engines.protocols import EngineError
from ranklake.flows.engines.serial import Serial

distributed = pytest.importorskip("distributed", reason="the extra cluster is not installed: no Dask to test with")
pytest.importorskip("cryptography", reason="the extra cluster is not installed: no certificates to test with")
import dask.config  # noqa: E402
import locket  # noqa: E402
from helpers.ports import answer, context_of, listening, plain_answer  # noqa: E402

CONTESTS = synthetic(20, large=9)
LOOPBACK = {"127.0.0.1", "::1"}
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of killed connections


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder for all temporary files."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def processes() -> list[int]:
    return [os.getpid(), *(one.pid for one in psutil.Process().children(recursive=True))]


@pytest.mark.slow
def test_local_cluster__refuses_connections_without_its_certificate(
    strike: Callable[..., None], tmp_path: Path, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake, other = lake_of(tmp_path / "lake", CONTESTS), lake_of(tmp_path / "other", CONTESTS)
    before, found = listening(processes()), {}
    stranger = context_of(distributed.Security.temporary())

    def look() -> None:
        for port in listening(processes()) - before:
            found[port] = plain_answer(port), answer(port, context_of(None)), answer(port, stranger)
            ours = context_of(engine._security)  # type: ignore[attr-defined]
            assert b"pickle-protocol" in answer(port, ours), "Dask does not listen there: the refusals prove nothing"

    strike("finish_round", look)
    with open_engine("dask", 2, limits=ClusterLimits(shared_summary_rows=1000, overlap_rows=0)) as engine:
        assert rate_run(lake, engine=engine).recoveries == 0
    assert len(found) == 5  # a scheduler, two workers and their nannies; no HTTP server
    assert {ip for ip, _ in found} <= LOOPBACK
    assert set(found.values()) == {(b"", b"", b"")}
    rate_run(other, engine=Serial())
    assert same_tables(rated(lake), rated(other))


@pytest.mark.slow
def test_local_cluster__keeps_its_files_in_a_private_folder_and_removes_them(scratch: Path) -> None:
    with open_engine("dask", 2) as engine:
        info = engine._client.scheduler_info(n_workers=-1)  # type: ignore[attr-defined]
        folders = [Path(one["local_directory"]) for one in info["workers"].values()]
        assert len(folders) == 2
        (private,) = {scratch / folder.relative_to(scratch).parts[0] for folder in folders}
        assert list(scratch.iterdir()) == [private]
        assert stat.S_IMODE(private.stat().st_mode) == 0o700
    assert list(scratch.iterdir()) == []


@pytest.mark.bound("ranklake.flows.engines.local_cluster.MIN_AGE_SECONDS")
@pytest.mark.slow
def test_local_cluster__removes_the_files_of_one_whose_driver_was_killed(scratch: Path) -> None:
    dead, young, busy, other = (scratch / f"ranklake-dask-{name}" for name in ("dead", "young", "busy", "other"))
    for folder in (dead, young, busy):
        (folder / "dask-scratch-space").mkdir(parents=True)
    other.symlink_to(tmp := scratch.parent / "kept")
    tmp.mkdir()
    lock = locket.lock_file(str(busy / "lock"), timeout=0)
    for folder in (dead, busy):
        os.utime(folder, (1e9, 1e9))
    with lock, open_engine("dask", 1):
        assert not dead.exists()
        assert all(folder.exists() for folder in (young, busy, other))


USERS_SETTINGS = """\
temporary-directory: /nowhere
scheduler-address: tcp://192.0.2.1:8786
distributed:
  comm:
    default-scheme: ws
    require-encryption: false
    tls: {ca-file: /nowhere/ca.pem, ciphers: AES128-SHA, max-version: 1.2}
  scheduler: {contact-address: "tcp://192.0.2.1:8786", preload: [no_such_module], idle-timeout: 1ms}
  nanny: {preload: [no_such_module]}
  client: {preload: [no_such_module], security-loader: no_such_module.loader}
  worker: {preload: [no_such_module], lifetime: {duration: 1s}, http: {routes: [no_such_module]}}
"""


@pytest.mark.slow
def test_local_cluster__ignores_the_users_settings_for_clusters(tmp_path: Path) -> None:
    (tmp_path / "settings").mkdir()
    (tmp_path / "settings" / "distributed.yaml").write_text(USERS_SETTINGS)
    lake = lake_of(tmp_path / "lake", CONTESTS)
    done = rate_in_a_process(
        lake.url, DASK_CONFIG=str(tmp_path / "settings"), DASK_DISTRIBUTED__WORKER__MULTIPROCESSING_METHOD="nothing"
    )
    out, err = done.communicate(timeout=TIMEOUT)
    assert done.returncode == 0, err
    assert re.match(r"Dask cluster tls://127\.0\.0\.1:\d+, 2 workers\n", err)
    assert {line.partition(" ")[0] for line in err.splitlines()} <= {"Dask", "rating:", "time"}
    assert "run games-elo-mmr: " in out


@pytest.mark.slow
def test_local_cluster__keeps_the_settings_of_this_process(scratch: Path) -> None:
    with dask.config.set({"distributed.comm.require-encryption": None, "temporary-directory": "/nowhere"}):
        before = repr(dask.config.config)
        with open_engine("dask", 1):
            assert repr(dask.config.config) == before


def rate_in_a_process(lake: str, **environ: str) -> subprocess.Popen[str]:
    words = ["rate", "--dataset", "games", "--engine", "dask", "--workers", "2", "--lake", lake]
    return subprocess.Popen(
        [sys.executable, "-c", "from ranklake.flows.cli.main import main; main()", *words],
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[3])} | environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="Windows has no kill -9")
def test_local_cluster__ends_when_its_driver_is_killed(tmp_path: Path) -> None:
    lake = lake_of(tmp_path / "lake", synthetic(400, n_players=3000, size=2900, spice=False))
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with rate_in_a_process(lake.url, TMPDIR=str(scratch)) as driver:
        assert driver.stderr is not None
        assert driver.stderr.readline().startswith("Dask cluster tls://")
        workers = psutil.Process(driver.pid).children(recursive=True)
        ports = listening([driver.pid, *(one.pid for one in workers)])
        assert len(ports) == 5
        driver.kill()
        driver.communicate(timeout=TIMEOUT)
    _, alive = psutil.wait_procs(workers, timeout=TIMEOUT)
    assert alive == []
    for port in ports:
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(port, 1.0)
    files = [path for path in scratch.rglob("*") if path.is_file()]
    assert {path.stat().st_size for path in files} == {0}  # locks; no key and no data


@pytest.mark.slow
def test_local_cluster__has_a_dashboard_on_demand(monkeypatch: pytest.MonkeyPatch, scratch: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    monkeypatch.setenv("RANKLAKE_DASHBOARD", str(port))
    before = listening(processes())
    with open_engine("dask", 1) as engine:
        opened = listening(processes()) - before
        assert len(opened) == 4
        assert {one for one in opened if plain_answer(one)} == {("127.0.0.1", port)}
        line = engine.describe()  # type: ignore[attr-defined]
        assert f"dashboard http://127.0.0.1:{port}/status; every user of this machine can read it" in line
    for wrong in ("yes", "0", "65536", "127.0.0.1:80"):
        monkeypatch.setenv("RANKLAKE_DASHBOARD", wrong)
        with pytest.raises(EngineError, match=f"RANKLAKE_DASHBOARD must be the port .* got '{wrong}'"):
            open_engine("dask", 1)
    assert list(scratch.iterdir()) == []


def test_local_cluster__names_a_missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography", None)
    with pytest.raises(MissingExtraError, match=r"needs the package cryptography: pip install 'ranklake\[cluster\]'"):
        open_engine("dask", 1)
