"""Kernels are code: no file is loaded that another user could have written."""

from __future__ import annotations

import os
import pickle
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numba
import pytest
from helpers.kernel_cache import no_kernels

from ranklake.rating_kernels.core import cache_folder
from ranklake.rating_kernels.core.jit import exact

pytestmark = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only the superuser can give a file to another user"
)
OTHER = 65534  # another user
VARIABLES = ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "TMPDIR")


@pytest.fixture(params=VARIABLES)
def base(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of all releases, by the variable that names it or its parent; other users can write to the parent."""
    folder = {
        "NUMBA_CACHE_DIR": tmp_path / "chosen" / "kernels",
        "XDG_CACHE_HOME": tmp_path / "home" / ".cache" / "ranklake",
        "TMPDIR": tmp_path / "tmp" / f"ranklake-{os.getuid()}",
    }[request.param]
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.parent.chmod(0o777)
    if request.param == "TMPDIR":
        (tmp_path / "home").write_bytes(b"")  # not even the superuser can make a folder there
    with no_kernels(monkeypatch, tmp_path):
        if request.param == "NUMBA_CACHE_DIR":
            monkeypatch.setattr(numba.config, "CACHE_DIR", str(folder))
        yield folder


def given_away(path: Path) -> None:
    os.chown(path, OTHER, -1)


def opened_to(mode: int) -> Callable[[Path], None]:
    return lambda path: path.chmod(mode)


def linked(path: Path) -> None:
    path.rename(path.with_name("moved"))
    path.symlink_to(path.with_name("moved"))


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


ATTACKS = {"given away": given_away, "group": opened_to(0o770), "all": opened_to(0o777), "sticky": opened_to(0o1777)}
LEVELS = {"base": ATTACKS, "release": ATTACKS | {"link": linked}, "file": ATTACKS | {"link": linked, "pipe": pipe}}


@pytest.mark.parametrize(("level", "attack"), [(level, attack) for level in LEVELS for attack in LEVELS[level]])
def test_read__refuses_what_another_user_could_have_written(base: Path, level: str, attack: str) -> None:
    """Whoever named the folder, and also after it was found private."""
    cache_folder.write("elo.small.warm", b"code")
    assert cache_folder.read("elo.small.warm") == b"code"
    release = base / cache_folder.release()
    LEVELS[level][attack]({"base": base, "release": release, "file": release / "elo.small.warm"}[level])
    assert cache_folder.read("elo.small.warm") is None
    assert not cache_folder.is_warm("elo.small")


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("level", ["base", "release"])
def test_write__avoids_a_folder_that_others_can_write_to(
    base: Path, tmp_path: Path, level: str, attack: str, caplog: pytest.LogCaptureFixture
) -> None:
    release = base / cache_folder.release()
    release.mkdir(parents=True)
    ATTACKS[attack]({"base": base, "release": release}[level])
    cache_folder.write("one", b"mine")
    assert not any(release.iterdir())
    temporary = tmp_path / "tmp" / f"ranklake-{os.getuid()}"
    assert cache_folder.read("one") == (None if base == temporary else b"mine")
    assert (f"{base} cannot be" in caplog.text) == (base != temporary)
    assert "set NUMBA_CACHE_DIR" in caplog.text


@pytest.mark.parametrize("moment", range(3))
def test_read__a_replacement_between_check_and_reading_has_no_effect(
    base: Path, monkeypatch: pytest.MonkeyPatch, moment: int
) -> None:
    """Another user puts a copy of the whole folder in its place before one of the three openings."""
    cache_folder.write("one", b"code")
    theirs = base.with_name("theirs")
    shutil.copytree(base, theirs)
    for path in (theirs, *theirs.rglob("*")):
        given_away(path)
    openings = 0
    really_open = os.open

    def open_late(*arguments: Any, **options: Any) -> int:
        nonlocal openings
        if openings == moment:
            base.rename(base.with_name("mine"))
            theirs.rename(base)
        openings += 1
        return really_open(*arguments, **options)

    with monkeypatch.context() as patched:
        patched.setattr(os, "open", open_late)
        assert cache_folder.read("one") == (b"code" if moment else None)
    assert cache_folder.read("one") is None


def test_read__accepts_what_root_prepared(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache_folder.write("one", b"code")
    monkeypatch.setattr(os, "geteuid", lambda: OTHER)
    assert cache_folder.read("one") == b"code"


def test_write__makes_private_files_under_any_umask(base: Path) -> None:
    before = os.umask(0)
    try:
        cache_folder.write("one", b"code")
    finally:
        os.umask(before)
    assert cache_folder.read("one") == b"code"


def double(x):
    return 2 * x


@pytest.mark.parametrize("base", VARIABLES[:1], indirect=True)
def test_kernel__of_another_user_is_compiled_and_not_unpickled(base: Path, tmp_path: Path) -> None:
    assert exact(double)(3) == 6
    (path,) = base.glob("*/test_private_files.double-*.kernel")
    path.unlink()
    cache_folder.write(path.name, pickle.dumps(Payload(tmp_path / "executed")))  # with its digest
    with pytest.raises(TypeError):  # as long as the file is this user's
        exact(double)(3)
    (tmp_path / "executed").rmdir()
    given_away(path)
    assert exact(double)(3) == 6
    assert not (tmp_path / "executed").exists()


class Payload:
    """Executed when it is unpickled."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple[Callable[[str], None], tuple[str]]:
        return os.mkdir, (str(self.trace),)
