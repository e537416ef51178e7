"""Paths of a lake: from names to paths and back, without access to files."""

from __future__ import annotations

import hashlib
import re
from typing import Literal, TypeAlias

RAW = "raw"
RUNS = "runs"
PUBLISHED = "published"
SEARCHES = "searches"
TEMPORARY_PREFIX = ".tmp-"  # followed by no suffix: readers' globs match dot-files too
FENCE_PREFIX = "writing-"

DatasetPart: TypeAlias = Literal[
    "contests", "standings", "players", "log", "events", "sources", "attributes", "results"
]

RESERVED = frozenset({RAW, RUNS, PUBLISHED, SEARCHES})
MAX_NAME = 100  # characters of the name of a data set, run, search or source
_NAME = re.compile(rf"[A-Za-z0-9_-][A-Za-z0-9._-]{{0,{MAX_NAME - 1}}}")
_PLAIN = re.compile(r"[a-z0-9][a-z0-9_-]{0,59}")  # safe also on disks that ignore case
# On Windows these are devices, with any suffix and in any folder
_DEVICES = frozenset({"con", "prn", "aux", "nul"} | {f"{port}{n}" for port in ("com", "lpt") for n in range(10)})
MAX_DIGITS = 12  # of the number of a lease, round or batch of trials: longer names may be too long for a disk
_NUMBER = re.compile(rf"[0-9]{{6,{MAX_DIGITS}}}")


def check_dataset_name(name: str) -> str:
    """``name``, if a data set may have it.

    Raises ValueError: the name is not one safe path component, or is reserved for another part of the lake.
    """
    _check_name("data set", name)
    # Lower case, because on some disks Runs and runs are one folder.
    if name.lower() in RESERVED:
        raise ValueError(f"a data set must not be called {' or '.join(sorted(RESERVED))}, got {name!r}")
    return name


def kind_of(folder: str) -> str:
    """The kind of thing that a folder belongs to: ``source``, ``run``, ``search`` or ``data set``."""
    kinds = {RAW: "source", RUNS: "run", SEARCHES: "search"}
    return kinds.get(folder.partition("/")[0], "data set")


def portability_problem(name: str) -> str:
    """The reason why some disks cannot have a folder with this valid name, for a text after "must not"; else empty."""
    if name.endswith("."):
        return "end with '.', which Windows drops"
    if _is_device(name):
        return f"be or start with {name.partition('.')[0]!r}, which is a device on Windows"
    return ""


def check_run_name(name: str) -> str:
    """``name``, if a run may have it.

    Raises ValueError: the name is not one safe path component.
    """
    return _check_name("run", name)


def dataset_folder(dataset: str, part: DatasetPart | None = None) -> str:
    """Folder of all files of a data set, or of those of one part."""
    folder = check_dataset_name(dataset)
    return f"{folder}/{part}" if part else folder


def dataset_file(dataset: str, part: DatasetPart, file: str) -> str:
    """Path of a file of a part of a data set; the table of contests and its metadata have the names of most."""
    return f"{dataset_folder(dataset, part)}/{file}"


def contests_file(dataset: str) -> str:
    """The table of contests, of a large data set its last ones; replacing it is the commit of an ingest."""
    return dataset_file(dataset, "contests", "contests.parquet")


def attributes_file(dataset: str) -> str:
    """The table of the players' attributes; replaced as a whole."""
    return dataset_file(dataset, "attributes", "attributes.parquet")


def results_file(dataset: str) -> str:
    """The table of the contests with results of problems; replacing it is the commit of an ingest of results."""
    return dataset_file(dataset, "results", "results.parquet")


def raw_folder(source: str, kind: str = "") -> str:
    """Folder of a source's responses, or of its responses of one kind."""
    folder = f"{RAW}/{_check_name('source', source)}"
    return f"{folder}/{_check_name('kind of response', kind)}" if kind else folder


def raw_file(source: str, kind: str, key: str, version: int = 0) -> str:
    """Path of a response; ``key`` is the site's name for it, any string. Each different response is a new version."""
    stem = _raw_stem(key)
    if _is_device(stem):
        stem = f"x-{stem}" if "." in stem else f"x-{stem}.{_key_digest(key)}"  # `x-con` may be a key, too
    return f"{raw_folder(source, kind)}/{stem}.{version}.zst"


def raw_file_before(source: str, kind: str, key: str, version: int = 0) -> str:
    """Path of a response in release 0.1: differs only for keys that are device names on Windows."""
    return f"{raw_folder(source, kind)}/{_raw_stem(key)}.{version}.zst"


def raw_index(source: str) -> str:
    """Index of a source's responses, as JSON; it can be rebuilt from the responses."""
    return f"{RAW}/{_check_name('source', source)}/index.json"


def source_file(dataset: str, source: str) -> str:
    """Record of the responses of a source that are in a data set, as JSON."""
    return dataset_file(dataset, "sources", f"{_check_name('source', source)}.json")


def run_folder(run: str) -> str:
    """Folder of all files of a run."""
    return f"{RUNS}/{check_run_name(run)}"


def run_file(run: str) -> str:
    """Configuration of the run, as JSON."""
    return f"{RUNS}/{check_run_name(run)}/run.json"


def rounds_folder(run: str, epoch: int = 0) -> str:
    """Folder of the run's segments: data and manifests, named by their first round."""
    return f"{RUNS}/{check_run_name(run)}/rounds{epoch_suffix(epoch)}"


def snapshots_folder(run: str, epoch: int = 0) -> str:
    """Folder of the run's snapshots, each a folder named by its last round."""
    return f"{RUNS}/{check_run_name(run)}/snapshots{epoch_suffix(epoch)}"


def entry_folder(run: str, epoch: int = 0) -> str:
    """Folder of the run's ratings at entry; each file has a digest of its bytes as its name."""
    return f"{RUNS}/{check_run_name(run)}/entry{epoch_suffix(epoch)}"


def smoothing_folder(run: str) -> str:
    """Folder of the smoothing of a run: its table, and the checkpoint of an interrupted one."""
    return f"{RUNS}/{check_run_name(run)}/smoothing"


def published_folder(run: str) -> str:
    """Folder of the tables that consumers of a run read."""
    return f"{PUBLISHED}/{check_run_name(run)}"


def search_file(name: str) -> str:
    """Configuration of a search, as JSON."""
    return f"{SEARCHES}/{_check_name('search', name)}/search.json"


def search_tests_file(name: str) -> str:
    """Test results of a search's best trials, as JSON."""
    return f"{SEARCHES}/{_check_name('search', name)}/tests.json"


def trials_folder(name: str) -> str:
    """Folder of a search's trials, one file a batch."""
    return f"{SEARCHES}/{_check_name('search', name)}/trials"


def fence_folder(folder: str, lease: int) -> str:
    """Folder through which the holder of a lease changes ``folder``; see ``ranklake.storage.leases.fence``."""
    return f"{folder}/{FENCE_PREFIX}{numbered(lease)}"


def fence_number(name: str) -> int:
    """The lease in the name of a fence, in use or revoked; -1 for any other name."""
    number = number_of(name.removeprefix(FENCE_PREFIX).partition("-")[0]) if name.startswith(FENCE_PREFIX) else None
    return -1 if number is None else number


def epoch_suffix(epoch: int) -> str:
    """Suffix of the names of an epoch, see ``ranklake.storage.leases.roots``; empty before the first epoch."""
    return f"-{numbered(epoch)}" if epoch else ""


def numbered(number: int, suffix: str = "") -> str:
    """``000412`` and the like; more digits from a million on, so sort by ``number_of``, not by name.

    Raises ValueError: ``number`` is negative.
    """
    if number < 0:
        raise ValueError(f"files are numbered from 0, got {number}")
    return f"{number:06d}{suffix}"


def number_of(name: str, suffix: str = "") -> int | None:
    """The number in a name that ``numbered`` made; None for any other name."""
    stem = name.removesuffix(suffix)
    if (suffix and stem == name) or not _NUMBER.fullmatch(stem):
        return None
    number = int(stem)
    return number if numbered(number) == stem else None


def _raw_stem(key: str) -> str:
    if _PLAIN.fullmatch(key):
        return key
    plain = re.sub(r"[^a-z0-9]+", "-", key.lower())[:40].strip("-")
    return f"{plain or 'x'}.{_key_digest(key)}"


def _key_digest(key: str) -> str:
    return hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _is_device(name: str) -> bool:
    return name.partition(".")[0].lower() in _DEVICES


def _check_name(kind: str, name: str) -> str:
    if not isinstance(name, str):
        raise TypeError(f"the name of a {kind} must be a text, got a value of the type {type(name).__name__}")
    if not _NAME.fullmatch(name):
        rule = "1 to 100 of the letters a-z and A-Z, digits, '.', '_' and '-', not starting with '.'"
        raise ValueError(f"the name of a {kind} must be {rule}, got {name!r}")
    return name
