"""What must be alike on all machines for the same bits: packages, kernels, and, for the last bit, the processor."""

from __future__ import annotations

import logging
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version

from .protocols import EngineError

__all__ = ["about", "compare"]

PACKAGES = ("ranklake", "numpy", "numba", "distributed")

log = logging.getLogger("ranklake.cluster")


def about() -> dict[str, str]:
    """Of this process: versions by package, a digest of the kernels' sources, and the processor's name."""
    from llvmlite import binding

    from ranklake.rating_kernels.core.sources import sources_digest

    told = {"python": ".".join(platform.python_version_tuple()[:2]), "kernels": sources_digest()}
    for package in PACKAGES:
        try:
            told[package] = version(package)
        except PackageNotFoundError:
            told[package] = "not installed"
    return told | {"processor": binding.get_host_cpu_name()}


def compare(workers: Sequence[Mapping[str, str]]) -> None:
    """Raise ``EngineError`` unless workers run what this process runs; warn where only processors differ."""
    here = about()
    for there in workers:
        differ = [key for key in here if there.get(key) != here[key]]
        if differ == ["processor"]:
            log.warning(
                "a worker's processor is a %s, this one a %s: who computes a rating may show in its last bit",
                there["processor"],
                here["processor"],
            )
        elif differ:
            told = ", ".join(f"{key} {there.get(key, 'unknown')} (here {here[key]})" for key in differ)
            raise EngineError(
                f"a worker runs other code: {told}; install the same ranklake and packages on every machine, "
                "or use one image for all"
            )
