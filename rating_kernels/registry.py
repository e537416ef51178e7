"""The rating systems by name; the module of a system is imported at its first use.

A command of one system then declares the kernels of this system only, which takes a third of the time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from importlib import import_module

from .core.system import System


class _Systems(MutableMapping[str, System]):
    """Systems by name. Those of ``modules``, by name, are the ``SYSTEM`` of a module in :mod:`.systems`."""

    def __init__(self, modules: Mapping[str, str]) -> None:
        self._systems: dict[str, System | str] = dict(modules)

    def __getitem__(self, name: str) -> System:
        system = self._systems[name]
        if isinstance(system, str):
            system = self._systems[name] = import_module(f".systems.{system}", __package__).SYSTEM
        return system

    def __setitem__(self, name: str, system: System) -> None:
        self._systems[name] = system

    def __delitem__(self, name: str) -> None:
        del self._systems[name]

    def __contains__(self, name: object) -> bool:
        return name in self._systems

    def __iter__(self) -> Iterator[str]:
        return iter(self._systems)

    def __len__(self) -> int:
        return len(self._systems)


SYSTEMS: MutableMapping[str, System] = _Systems(
    {
        "elo-mmr": "elo_mmr",
        "elo-mmx": "elo_mmx",
        "elo-mms": "elo_mms",
        "elo-r": "elo_r",
        "codeforces": "codeforces",
        "cf-general": "cf_general",
        "leetcode": "sites.leetcode",
        "atcoder": "sites.atcoder",
        "topcoder": "topcoder",
        "elo-srm": "elo_srm",
        "elo": "elo",
        "fide": "federations.fide",
        "glicko": "glicko",
        "glicko2": "glicko2",
        "glicko-allpairs": "glicko_allpairs",
        "trueskill": "trueskill",
        "bar": "bar",
        "bt": "static.bt",
    }
)


def of_contests() -> list[str]:
    """Names of the systems that rate contests of any size; the others rate games of periods only."""
    return [name for name, system in SYSTEMS.items() if not system.periods]
