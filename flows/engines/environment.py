"""Properties that all machines must share for equal ratings: packages, kernels and, for the last bit, processors."""

from __future__ import annotations

import logging
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version

from .protocols import EngineError

__all__ = ["check_environments", "environment"]

PACKAGES = ("ranklake", "numpy", "numba", "distributed")

log = logging.getLogger("ranklake.cluster")


def environment() -> dict[str, str]:
    """The environment of this process: versions by package, digest of the kernels' sources, processor name."""
    from llvmlite import binding

    from ranklake.rating_kernels.core.sources import sources_digest

    versions = {"python": ".".join(platform.python_version_tuple()[:2]), "kernels": sources_digest()}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = "not installed"
    return versions | {"processor": binding.get_host_cpu_name()}


def check_environments(workers: Sequence[Mapping[str, str]]) -> None:
    """Raise ``EngineError`` unless workers have the packages of this process; warn if only processors differ."""
    here = environment()
    for there in workers:
        differ = [key for key in here if there.get(key) != here[key]]
        if differ == ["processor"]:
            log.warning(
                "a worker has the processor %s, this process %s: the last bit of ratings may depend on it",
                there["processor"],
                here["processor"],
            )
        elif differ:
            differences = ", ".join(f"{key} {there.get(key, 'unknown')} (here {here[key]})" for key in differ)
            raise EngineError(
                f"a worker runs other code: {differences}; install the same ranklake and packages on every machine, "
                "or use one image for all"
            )
