"""Power cuts: what a command does to the files below a folder, and the states that a cut between two steps can leave.

The model: a cut undoes what was not flushed. A file without a flush of its content is empty or torn. A name without a
flush of its folder may be undone, or may survive without the content of its file. The cases tested are the worst ones:
nothing unflushed survived, the names alone, the names with torn files, and everything.
"""

from __future__ import annotations

import os
import pickle
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

SURVIVING = ("flushed", "names", "torn", "all")  # what of the unflushed changes survives a cut
_EVENTS = frozenset({"os.rename", "os.link", "os.remove", "os.mkdir", "os.rmdir"})
_NATIVE = "published"  # below this folder a library without Python's events writes, too


class Change(NamedTuple):
    """One step: ``rename``, ``link``, ``remove``, ``mkdir``, ``rmdir``, ``write`` or ``flush``.

    ``content`` is that of the file, None for a folder; ``target`` the new name.
    """

    what: str
    path: str
    target: str = ""
    content: bytes | None = None


def recorder(log: Path) -> str:
    """Python that a command of :class:`helpers.command_server.CommandServer` runs first, to record its changes."""
    return f"import sys\nfrom helpers.power import record\nrecord(sys.argv[sys.argv.index('--lake') + 1], {str(log)!r})"


def record(lake: str, log: str) -> None:
    """Record all changes of this process below a folder, from now on. Nothing reaches the disk meanwhile."""
    busy, native = threading.local(), set[tuple[str, int]]()
    lock, out = threading.Lock(), open(log, "ab", buffering=0)  # noqa: SIM115

    def note(what: str, path: str, target: str = "", content: bytes | None = None) -> None:
        if path.startswith(f"{lake}/") or path == lake:
            pickle.dump(Change(what, path[len(lake) + 1 :], target[len(lake) + 1 :], content), out)

    def note_native() -> None:
        for path in sorted([*Path(lake).glob(_NATIVE), *Path(lake, _NATIVE).rglob("*")]):
            seen = (str(path), -1 if path.is_dir() else path.stat().st_ino)
            if seen not in native:
                native.add(seen)
                note("mkdir" if seen[1] < 0 else "write", str(path), content=_content(str(path)))

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event not in _EVENTS or getattr(busy, "on", False):
            return
        busy.on = True
        try:
            path, folder = str(arguments[0]), arguments[-1]
            if not path.startswith("/") and isinstance(folder, int) and folder >= 0:
                path = f"{os.readlink(f'/proc/self/fd/{folder}')}/{path}"
            target = str(arguments[1]) if event in ("os.rename", "os.link") else ""
            with lock:
                note_native()
                note(event.removeprefix("os."), path, target, _content(path) if target else None)
        finally:
            busy.on = False

    def flush(descriptor: int) -> None:
        path = os.readlink(f"/proc/self/fd/{descriptor}")
        with lock:
            note_native()
            note("flush", path, content=_content(path))

    note_native()
    os.fsync = flush
    sys.addaudithook(hook)


def changes(log: Path) -> list[Change]:
    """The recorded changes, in order."""
    found = []
    with log.open("rb") as file:
        while file.peek(1):
            found.append(pickle.load(file))
    return found


@dataclass(eq=False)
class _File:
    content: bytes
    flushed: bytes | None = None


class Power:
    """The files below a folder while a command changes them, as programs see them and as the disk has them."""

    def __init__(self, folder: Path) -> None:
        self._seen: dict[str, _File | None] = {"": None}  # None is a folder
        for path in sorted(folder.rglob("*")):
            data = None if path.is_dir() else path.read_bytes()
            self._seen[str(path.relative_to(folder))] = None if data is None else _File(data, data)
        self._kept = dict(self._seen)

    def apply(self, change: Change) -> None:
        """Make one step; a step that fails, as a link to an existing name, changes nothing."""
        what, path, target, content = change
        if what == "flush":
            self._flush(path, content)
        elif what == "write":
            self._write(path, content or b"")
        elif what == "mkdir":
            self._seen.setdefault(path, None)
        elif what in ("remove", "rmdir"):
            self._take(path)
        elif content is None and self._seen.get(path, _File(b"")) is not None:
            return  # the source of a rename or a link is missing
        elif target and os.path.dirname(target) not in self._seen:
            return
        elif what == "rename":
            if content is not None:
                self._write(path, content)
            self._take(target)
            for name, item in self._take(path).items():
                self._seen[target + name] = item
        elif target not in self._seen:
            self._write(path, content or b"")
            self._seen[target] = self._seen[path]

    def left(self, surviving: str) -> dict[str, bytes | None]:
        """The files, and folders as None, that a cut leaves now."""
        names = self._kept if surviving == "flushed" else self._seen
        found: dict[str, bytes | None] = {}
        for path, item in sorted(names.items()):
            if path and os.path.dirname(path) not in {"", *found}:
                continue  # the name of its folder is not on the disk
            if item is None or surviving == "all":
                found[path] = None if item is None else item.content
            elif item.flushed is not None:
                found[path] = item.flushed
            else:
                found[path] = item.content[: len(item.content) // 2] if surviving == "torn" else b""
        return found

    def _write(self, path: str, content: bytes) -> None:
        file = self._seen.get(path)
        if file is None:
            self._seen[path] = _File(content)
        elif file.content != content:
            self._seen[path] = _File(content, file.flushed)

    def _take(self, path: str) -> dict[str, _File | None]:
        below = [name for name in self._seen if f"{name}/".startswith(f"{path}/")]
        return {name[len(path) :]: self._seen.pop(name) for name in below}

    def _flush(self, path: str, content: bytes | None) -> None:
        if content is not None:
            self._write(path, content)
            file = self._seen[path]
            assert file is not None
            file.flushed = content
            return
        for name in [name for name in self._kept if _is_in(name, path) and name not in self._seen]:
            for below in [below for below in self._kept if f"{below}/".startswith(f"{name}/")]:
                del self._kept[below]
        for name in self._seen:
            if _is_in(name, path):
                self._kept[name] = self._seen[name]


def write(left: dict[str, bytes | None], folder: Path) -> None:
    """Make the files of :meth:`Power.left`."""
    folder.mkdir(parents=True)
    for path, data in left.items():
        if data is None:
            (folder / path).mkdir(exist_ok=True)
        else:
            (folder / path).write_bytes(data)


def cuts(before: Path, done: list[Change], surviving: str) -> Iterator[tuple[int, dict[str, bytes | None]]]:
    """The distinct states that cuts leave, each with the number of steps before; leases and the reserve apart."""
    power, known = Power(before), set[frozenset[tuple[str, bytes | None]]]()
    for number in range(len(done) + 1):
        left = power.left(surviving)
        facts = frozenset((path, data) for path, data in left.items() if not _is_aside(path))
        if facts not in known or number == len(done):
            known.add(facts)
            yield number, left
        if number < len(done):
            power.apply(done[number])


def _is_in(name: str, folder: str) -> bool:
    return name != "" and os.path.dirname(name) == folder


def _is_aside(path: str) -> bool:
    return path.startswith(".reserve") or "/lease-" in path or "/writing-" in path


def _content(path: str) -> bytes | None:
    """The content of a file; None for a folder or a missing file."""
    try:
        return Path(path).read_bytes()
    except OSError:
        return None
