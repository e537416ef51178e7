"""Users without a home, a cache or a temporary folder, and without a name: every command works, or fails readably."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.commands import Command
from helpers.folders import write_folder
from helpers.lakes import lake_of, rate_run, synthetic

from ranklake.flows.compilation.compile import compile_kernels
from ranklake.flows.publication.publish import publish
from ranklake.rating_kernels.core import cache_folder

NOBODY = 65534
TIMEOUT = 600.0  # seconds; kernels may have to be compiled
READS = (
    "runs", "verify", "verify --run run --replay :3", "leaderboard --run run", "player 'player 1' --run run",
    "export --run run --what ratings --format csv", "log --dataset games", "rate --run run --dry-run",
    "evaluate --run run",
)  # fmt: skip
WRITES = (
    "rate --run run", "rate --dataset games --run more --system elo", "publish --run run", "compact",
    "alias 'player 4' 'player 3' --dataset games", "rate --run run", "verify --run run", "delete --run more --yes",
)  # fmt: skip
EACH = """
import shlex, sys
from ranklake.flows.cli.main import main
lake, *commands = sys.argv[1:]
for command in commands:
    sys.argv = ["ranklake", *shlex.split(command), "--lake", lake]
    try:
        main()
    except SystemExit as ended:
        assert not ended.code, command
"""


@pytest.fixture(scope="module")
def pattern(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake with a published run."""
    folder = tmp_path_factory.mktemp("pattern") / "lake"
    lake = lake_of(folder, synthetic(12))
    rate_run(lake, system="elo")
    publish(lake, "run")
    return folder


IMPORTS = f'{EACH}    assert "numba" not in sys.modules, command\n'


@pytest.mark.slow
def test_imports__commands_that_compute_nothing_import_no_numba(pattern: Path, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    shutil.copytree(pattern, lake)
    write_folder(tmp_path / "source", synthetic(14))
    commands = (
        "rate --run run", "rate --run run --dry-run", "rate --run run --from 5 --dry-run", "publish --run run",
        "leaderboard --run run", "leaderboard --run run --format csv", "player 'player 1' --run run", "verify",
        "export --run run --what ratings --format csv", f"publish --run run --site {tmp_path / 'site'}",
        "runs", "runs --format json", "log --dataset games", f"ingest files {tmp_path / 'source'} --dataset games",
        f"ingest files {tmp_path / 'source'} --dataset other", "alias 'player 4' 'player 3' --dataset games",
        "remove 3 --why twice --dataset games", "compact", "delete --run run --yes", "delete --dataset other --yes",
        "verify --dataset games",
    )  # fmt: skip
    done = subprocess.run([sys.executable, "-c", IMPORTS, str(lake), *commands], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_cache__without_any_writable_folder_is_logged_once_and_stops_nothing(
    invoke: Command, pattern: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """As on a read-only root file system."""

    def none() -> str:
        raise FileNotFoundError(2, "No usable temporary directory found in ['/tmp']")

    for remembered in (cache_folder._folders, cache_folder._warn_once):
        remembered.cache_clear()
    monkeypatch.setattr(cache_folder, "_is_writable", lambda base: False)
    monkeypatch.setattr(cache_folder.tempfile, "gettempdir", none)
    try:
        for command in ("runs", "verify", "leaderboard --run run", "rate --run run --dry-run"):
            result = invoke(*command.split(), "--lake", pattern)
            assert (result.code, "Traceback" in result.err) == (0, False), (command, result.err)
        assert cache_folder.folders()[1] is None
        assert compile_kernels("elo", [5]) == 0.0  # as for `rate`, `evaluate` and `verify --replay`
        cache_folder.write("one", b"")
        cache_folder.write("two", b"")
        assert [record.getMessage().partition(",")[0] for record in caplog.records] == [
            "compiled kernels cannot be kept"
        ]
    finally:
        cache_folder._folders.cache_clear()
        cache_folder._warn_once.cache_clear()


# As another user


@pytest.fixture
def nobody(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run commands as a user without a name, with permission to read all files and to write only its own."""
    capabilities = "-all,+dac_read_search"  # the interpreter may be in a folder of root
    setpriv = ["setpriv", f"--reuid={NOBODY + 1}", f"--regid={NOBODY + 1}", "--clear-groups"]
    setpriv += [f"--{which}={capabilities}" for which in ("bounding-set", "inh-caps", "ambient-caps")]
    if shutil.which("setpriv") is None or subprocess.run([*setpriv, "true"], capture_output=True).returncode:
        pytest.skip("only root on Linux, with setpriv of util-linux, may become another user")

    def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
        return subprocess.run(
            [*setpriv, sys.executable, "-B", "-c", EACH, *arguments],
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            env={"PYTHONPATH": os.getcwd(), **kept, **environment},
        )

    return run


def shut(folder: Path) -> str:
    """A folder that only root may write."""
    folder.mkdir(mode=0o755)
    return str(folder)


def open_to_all(folder: Path) -> None:
    for path in (folder, *folder.rglob("*")):
        os.chown(path, NOBODY + 1, NOBODY + 1)
    for parent in folder.parents[:3]:
        parent.chmod(0o755)


@pytest.mark.slow
@pytest.mark.parametrize("home", ["missing", "shut", "none"])
def test_commands__of_a_user_without_a_home_or_a_name_work(
    nobody: Callable[..., subprocess.CompletedProcess[str]], pattern: Path, tmp_path: Path, home: str
) -> None:
    lake, closed = tmp_path / "lake", shut(tmp_path / "closed")
    shutil.copytree(pattern, lake)
    homes = {"missing": {"HOME": "/nonexistent"}, "shut": {"HOME": closed, "XDG_CACHE_HOME": closed}, "none": {}}
    environment = {**homes[home], "TMPDIR": closed, "NUMBA_CACHE_DIR": str(cache_folder.folders()[0][0].parent)}
    done = nobody(str(lake), *READS, **environment)  # the lake of another user
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    done = nobody(str(lake), "rate --run run", **environment)
    assert "Error: runs/run/lease-" in done.stderr
    assert "Permission denied; grant this user the right, or run the command as another user\n" in done.stderr
    open_to_all(lake)
    done = nobody(str(lake), *WRITES, **environment)
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
