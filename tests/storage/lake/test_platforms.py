"""Calls that only some platforms have, or that differ between platforms, are made in one place each."""

from __future__ import annotations

import ast
import os
import signal
import socket
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest
from fsspec.implementations.local import LocalFileSystem

from ranklake.flows.cli.terminal.process import interruptible
from ranklake.flows.common.times import utc
from ranklake.flows.scheduling.notices import place
from ranklake.storage.lake.access.object_stores import connect
from ranklake.storage.leases import processes
from ranklake.storage.leases.holder import author

ROOT = Path(__file__).resolve().parents[3]
SOURCES = [
    path for part in ("src", "flows", "storage", "rating_kernels") for path in sorted((ROOT / part).rglob("*.py"))
]

ONE_PLACE = {  # a call, and the modules that may make it
    "os.kill": {"storage/leases/processes.py"},  # ends any process on Windows
    "os.sched_getaffinity": {"flows/common/cpus.py"},
    "os.getuid": {"storage/leases/holder.py", "rating_kernels/core/cache_folder.py", "flows/engines/local_cluster.py"},
    "os.link": {"storage/lake/access/disk.py"},
    "os.rename": {"storage/lake/access/disk.py"},  # replaces on POSIX, refuses on Windows
    "os.replace": {"storage/lake/access/disk.py", "rating_kernels/core/cache_folder.py"},
    "os.fsync": {"storage/lake/access/disk.py"},
    "fcntl.fcntl": {"storage/lake/access/disk.py"},
    "socket.gethostname": {"storage/leases/holder.py", "storage/leases/processes.py"},
    # of a time before 1970 an OSError on Windows; the years of CTFtime are later
    "datetime.fromtimestamp": {"flows/sources/sites/ctftime.py"},
    "datetime.utcfromtimestamp": set(),
    "time.tzset": set(),
    "os.fork": set(),
    "os.geteuid": {"rating_kernels/core/private_files.py"},  # not on Windows
    "os.killpg": set(),
    "os.setsid": set(),
    "os.mkfifo": set(),
    "os.symlink": set(),
    "os.sysconf": set(),
    "os.uname": set(),
    "os.nice": set(),
    "select.select": set(),
    "signal.alarm": set(),
    "signal.setitimer": set(),
    "signal.pthread_kill": set(),
    "signal.pthread_sigmask": {"flows/engines/local_cluster.py"},  # only if there is one
    "faulthandler.register": set(),
    "resource.getrusage": set(),
}
SIGNALS = {"SIGINT", "SIGTERM", "SIG_IGN", "SIG_DFL", "Signals"}  # on every platform
WITH_A_MASK = {"SIG_BLOCK"}  # where there is ``pthread_sigmask``


KINDS = ast.Attribute, ast.Call, ast.Import, ast.ImportFrom


@pytest.fixture(scope="module")
def nodes() -> list[tuple[str, ast.AST]]:
    """The calls, attributes and imports of all modules, each with the name of its file."""
    trees = [(path.relative_to(ROOT).as_posix(), ast.parse(path.read_text(encoding="utf-8"))) for path in SOURCES]
    return [(name, node) for name, tree in trees for node in ast.walk(tree) if isinstance(node, KINDS)]


@pytest.mark.slow
def test_sources__call_platform_dependent_functions_in_one_place(nodes: list[tuple[str, ast.AST]]) -> None:
    calls: dict[str, set[str]] = {}
    for name, node in nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            calls.setdefault(f"{node.value.id}.{node.attr}", set()).add(name)
    assert {call: places for call in ONE_PLACE if (places := calls.get(call, set()) - ONE_PLACE[call])} == {}
    numbers = {call.removeprefix("signal.") for call in calls if call.startswith("signal.")}
    assert {number for number in numbers if number.isupper() or number == "Signals"} <= SIGNALS | WITH_A_MASK


@pytest.mark.slow
def test_sources__import_no_module_of_one_platform_alone(nodes: list[tuple[str, ast.AST]]) -> None:
    only_some = {"fcntl", "grp", "msvcrt", "posix", "pty", "pwd", "resource", "select", "syslog", "termios", "winreg"}
    found = set()
    for name, node in nodes:
        modules = [node.module] if isinstance(node, ast.ImportFrom) else []
        modules += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        found |= {(name, module) for module in modules if module in only_some}
    assert found == {
        ("storage/lake/access/disk.py", "fcntl"),  # behind an ``except ImportError``
        ("flows/http/server/running.py", "resource"),  # not reached on Windows
    }


@pytest.mark.slow
def test_sources__text_files_are_utf8_in_any_locale(nodes: list[tuple[str, ast.AST]]) -> None:
    missing = []
    for name, node in nodes:
        if not isinstance(node, ast.Call):
            continue
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        owner = node.func.value if isinstance(node.func, ast.Attribute) else None
        texts = [one.value for one in node.args if isinstance(one, ast.Constant) and isinstance(one.value, str)]
        named = {keyword.arg for keyword in node.keywords}
        if called in ("read_text", "write_text", "File") and "encoding" not in named and "utf-8" not in texts:
            missing.append((name, node.lineno))
        of_lake = isinstance(owner, ast.Name) or getattr(owner, "attr", "") == "lake"  # Lake.open and the like
        opens = called == "open" and not of_lake
        if opens and not any("b" in text for text in texts) and "encoding" not in named:
            missing.append((name, node.lineno))
        if called == "write_text" and "newline" not in named:
            missing.append((name, node.lineno))
    assert missing == []


@pytest.mark.parametrize("seconds", [-62_135_596_800, -3_093_465_600, -1, 0, 1_700_000_000, 253_402_300_799])
def test_utc__works_for_every_year(seconds: int) -> None:
    assert utc(seconds) == datetime.fromtimestamp(seconds, UTC)


@pytest.mark.parametrize("seconds", [-(10**12), 10**12, 10**18, -(2**63)])
def test_utc__beyond_the_calendar_is_one_error(seconds: int) -> None:
    with pytest.raises(OverflowError):
        utc(seconds)


@pytest.mark.parametrize("error", [ImportError, KeyError, OSError])
def test_author__without_a_user_name_is_a_number_or_unknown(
    monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    """Windows without USERNAME raises ImportError until Python 3.12, later OSError."""

    def fail() -> str:
        raise error("no name")

    monkeypatch.setattr("getpass.getuser", fail)
    assert author() == f"{os.getuid() if hasattr(os, 'getuid') else 'unknown'}@{socket.gethostname()}"
    monkeypatch.delattr(os, "getuid", raising=False)
    assert author() == f"unknown@{socket.gethostname()}"


def test_machine__without_boot_and_namespace_has_its_network_address(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two Macs may have one host name."""
    monkeypatch.setattr(processes, "PROC", Path("/nowhere"))
    machine = processes.machine()
    assert machine == processes.machine()
    assert machine.startswith(socket.gethostname())
    monkeypatch.setattr(uuid, "getnode", lambda: 1)
    assert processes.machine() != machine


def test_interruptible__restores_a_handler_that_is_not_of_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """An embedding program may have installed it: Python then returns None for it, which it cannot install."""
    install, installed = signal.signal, []

    def install_unknown(number: int, handler: object) -> object:
        installed.append(handler)
        return None if len(installed) == 1 else install(number, handler)  # type: ignore[arg-type]

    before = signal.getsignal(signal.SIGTERM)
    try:
        with monkeypatch.context() as patch:
            patch.setattr(signal, "signal", install_unknown)
            patch.setattr(signal, "getsignal", lambda number: None if number == signal.SIGINT else before)
            with interruptible(""):
                pass
        assert installed[1:] == [signal.SIG_DFL]
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.mark.parametrize("platform", ["posix", "windows"])
def test_follow__ends_with_the_signal_that_the_platform_sends(monkeypatch: pytest.MonkeyPatch, platform: str) -> None:
    """Windows never sends SIGTERM, but SIGBREAK; the test uses another signal in its place."""
    from ranklake.flows.cli.commands import follow as following

    if platform == "windows":
        monkeypatch.setattr(signal, "SIGBREAK", signal.SIGABRT, raising=False)
    else:
        monkeypatch.delattr(signal, "SIGBREAK", raising=False)
    caught: list[signal.Signals] = []

    @contextmanager
    def watched(last_words: str, *more: signal.Signals) -> Iterator[None]:
        caught.extend(more)
        yield

    def interrupted() -> Iterator[object]:
        raise KeyboardInterrupt

    lines: list[str] = []
    monkeypatch.setattr(following, "interruptible", watched)
    monkeypatch.setattr(following.click, "echo", lambda text, **_: lines.append(text))
    following._follow_repeatedly(interrupted, 60)
    assert caught == [signal.SIGABRT if platform == "windows" else signal.SIGTERM]
    assert lines[-1] == "stopped; committed data stay"


@pytest.mark.parametrize(
    "url", ["C:\\lake", "C:/lake", "c:lake", "\\\\server\\share\\lake", "file:///C:/lake", "D:\\", "~/lake"]
)
def test_open__a_drive_letter_is_no_protocol(url: str) -> None:
    filesystem, _ = connect(url)
    assert isinstance(filesystem, LocalFileSystem)


def test_page__a_lake_on_a_drive_is_no_link() -> None:
    """Only an address may become a link of a Markdown page."""
    local = SimpleNamespace(local=True, uri=lambda path: f"C:/lake/{path}")
    remote = SimpleNamespace(local=False, uri=lambda path: f"s3://bucket/{path}")
    assert "](" not in place(local, "published")  # type: ignore[arg-type]
    assert "](s3://bucket/published)" in place(remote, "published")  # type: ignore[arg-type]
