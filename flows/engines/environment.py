"""Properties that all machines must share for equal ratings: packages, kernels and, for the last bit, processors."""

from __future__ import annotations

import logging
import platform
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from .protocols import EngineError

PACKAGES = ("ranklake", "numpy", "numba", "distributed")
VECTORS = ("avx512f", "avx2", "sve", "neon")  # the widest decides how sums are cut

log = logging.getLogger("ranklake.cluster")


def environment() -> dict[str, str]:
    """The environment of this process: versions by package, digest of the kernels' sources, processor name."""
    from llvmlite import binding

    from ranklake.rating_kernels.core.cache_folder import sources_digest

    versions = {"python": ".".join(platform.python_version_tuple()[:2]), "kernels": sources_digest()}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = "not installed"
    return versions | {"processor": _chosen_processor() or binding.get_host_cpu_name()}


@cache
def machine() -> str:
    """The kind of this machine in words, as far as the last bit of ratings depends on it: processor and compiler."""
    from llvmlite import binding

    try:
        features = binding.get_host_cpu_features()
    except RuntimeError:  # unknown on this platform
        features = {}
    vectors = next((f" with {name}" for name in VECTORS if features.get(name)), "")
    processor = _chosen_processor() or f"{binding.get_host_cpu_name()}{vectors}"
    return f"{platform.machine()} {processor}, numba {version('numba')}, numpy {version('numpy')}"


def _chosen_processor() -> str:
    """The processor for which kernels are compiled in place of this one: ``NUMBA_CPU_NAME``."""
    import numba

    config: Any = numba.config
    return str(config.CPU_NAME or "")


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
