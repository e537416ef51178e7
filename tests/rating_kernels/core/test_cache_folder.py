"""The cache of compiled kernels: one subfolder of the user's cache folder a release; only private files are loaded."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numba
import pytest
from helpers.kernel_cache import no_kernels

from ranklake.rating_kernels.core import cache_folder
from ranklake.rating_kernels.core.jit import exact

DAY = 86400.0


@pytest.fixture(autouse=True)
def forgotten(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    with no_kernels(monkeypatch, tmp_path):
        yield


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The user's cache folder of this package."""
    return tmp_path / "home" / ".cache" / "ranklake"


def unusable(folder: Path) -> None:
    """A folder that not even the superuser can create: a file has its name."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.write_bytes(b"")


def test_folder__is_the_users_and_named_after_the_sources(home: Path) -> None:
    assert not home.exists()
    cache_folder.write("one", b"code")
    (folder,) = home.iterdir()
    assert folder.name == cache_folder.release()
    assert cache_folder.sources_digest() in folder.name
    assert cache_folder.read("one") == b"code"
    assert cache_folder.read("other") is None


def test_folder__numba_cache_dir_wins(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache_folder.write("one", b"of the user")
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "chosen"))
    assert cache_folder.read("one") is None
    cache_folder.write("one", b"chosen")
    assert cache_folder.read("one") == b"chosen"
    assert (tmp_path / "chosen" / cache_folder.release() / "one").exists()


def test_folder__without_a_home_is_a_private_one_below_the_temporary_folder(
    home: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    unusable(home)
    with caplog.at_level(logging.WARNING):
        cache_folder.write("one", b"1")
        cache_folder.write("two", b"2")
    (base,) = (tmp_path / "tmp").iterdir()
    assert base.stat().st_mode & 0o777 == 0o700
    assert (cache_folder.read("one"), cache_folder.read("two")) == (b"1", b"2")
    assert [record.message.partition(":")[0] for record in caplog.records] == [f"compiled kernels are kept in {base}"]


def test_folder__numba_cache_dir_may_be_a_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "link"))
    cache_folder.write("one", b"code")
    assert cache_folder.read("one") == b"code"
    assert (tmp_path / "real" / cache_folder.release() / "one").exists()


def test_folder__link_to_another_one_is_not_followed(home: Path, tmp_path: Path) -> None:
    unusable(home)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "tmp" / f"ranklake-{os.getuid()}").symlink_to(tmp_path / "elsewhere")
    cache_folder.write("one", b"code")
    assert not any((tmp_path / "elsewhere").iterdir())


def test_read__damaged_file_counts_as_missing(home: Path) -> None:
    cache_folder.write("one", b"code")
    path = home / cache_folder.release() / "one"
    path.write_bytes(path.read_bytes()[:-1])
    assert cache_folder.read("one") is None


@pytest.mark.bound("ranklake.rating_kernels.core.cache_folder.UNUSED_SECONDS")
def test_prune__deletes_unused_releases_and_keeps_a_few(home: Path) -> None:
    def release(name: str, days: float) -> Path:
        folder = home / f"kernels-{name}"
        folder.mkdir(parents=True)
        (folder / "used").touch()
        os.utime(folder / "used", (time.time() - days * DAY,) * 2)
        return folder

    recent = [release(f"recent{n}", days=n + 2) for n in range(6)]
    busy, old = release("busy", days=0.1), release("old", days=31)
    cache_folder.write("one", b"code")
    there = set(home.iterdir())
    assert old not in there
    assert {busy, *recent[: cache_folder.KEPT - 1], home / cache_folder.release()} == there


def test_marks__name_the_compiled_parts(home: Path) -> None:
    assert not cache_folder.is_warm("elo.small")
    cache_folder.write("one", b"code")
    cache_folder.mark_warm("elo.small")
    assert cache_folder.is_warm("elo.small")
    assert not cache_folder.is_warm("elo.large")


def double(x):
    return 2 * x


def test_kernel__is_compiled_once_for_all_processes(home: Path) -> None:
    first, second = exact(double), exact(double)
    assert first(3) == second(3) == 6
    assert sum(first.dispatcher._cache_misses.values()) == 1
    assert sum(second.dispatcher._cache_hits.values()) == 1
    assert sum(second.dispatcher._cache_misses.values()) == 0
    assert first(1.5) == 3.0  # another signature, another file
    assert len(list((home / cache_folder.release()).glob("test_cache_folder.double-*.kernel"))) == 2


def test_kernel__must_not_depend_on_variables_of_a_function() -> None:
    factor = 3

    def times(x):
        return factor * x

    with pytest.raises(TypeError, match="variables of another function"):
        exact(times)


def test_import__opens_no_file(tmp_path: Path) -> None:
    counted = "c._folders.cache_info().misses, c.release.cache_info().misses"
    code = f"import ranklake.rating_kernels.core.cache_folder as c; print({counted})"
    env = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        env=env | {"XDG_CACHE_HOME": str(tmp_path / "none")},
    )  # fmt: skip
    assert done.stdout.split() == ["0", "0"]
    assert not (tmp_path / "none").exists()
