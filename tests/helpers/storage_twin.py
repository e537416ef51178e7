"""A data set and its corrections once more, in slow plain Python: what the lake must hold after any of its changes."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import strategies as st

from ranklake.storage import Contest, Dataset, Lake, LakeError

HANDLES, IDS, TIMES = "abcdefg", "01234", (10, 20, 30)


class Refused(Exception):
    """The lake must refuse this and stay as it was."""


class Twin:
    """Contests in rated order as their sources gave them, (time, tie groups best first), and what was corrected."""

    def __init__(self) -> None:
        self.order: list[str] = []
        self.source: dict[str, tuple[int, list[list[str]]]] = {}
        self.out: dict[str, list[str]] = {}
        self.aliases: dict[str, tuple[str, int | None]] = {}

    def contests(self) -> list[Contest]:
        """The data set as one source would give it that made no mistake."""
        return [_contest(one, self.source[one][0], self._effective(one)) for one in self.order]

    def change(self, lake: Lake, change: tuple[str, Any], name: str = "games") -> bool:
        """Do the same here and in the lake; both must refuse what makes no sense. Returns whether it was done."""
        what, how = change
        before = copy.deepcopy(vars(self))
        try:
            getattr(self, f"_{what}")(*how)
            for one in self.order:
                self._check(one)
        except Refused:
            vars(self).update(before)
            with pytest.raises((LakeError, ValueError)):
                _IN_LAKE[what](lake, name, *how)
            return False
        _IN_LAKE[what](lake, name, *how)
        return True

    # Each change, one contest at a time

    def _ingest(self, contests: list[tuple[str, int, list[list[str]]]], order: str, mirror: bool) -> None:
        ids = [one for one, _, _ in contests]
        known = [one for one in ids if one in self.order]
        if mirror and not ids:
            raise Refused
        if mirror:
            self.order = [one for one in self.order if one in ids]
        slots = sorted(self.order.index(one) for one in known)
        for slot, one in zip(slots, known, strict=True):
            self.order[slot] = one
        before = None
        for one in ids:
            if one not in known:
                if before is not None:
                    self.order.insert(self.order.index(before) + 1, one)
                elif known:
                    self.order.insert(self.order.index(known[0]), one)
                else:
                    self.order.append(one)
            if before is not None or one in known or not known:
                before = one
        self.source |= {one: (time, groups) for one, time, groups in contests}
        if order == "time":
            self.order.sort(key=lambda one: self.source[one][0])

    def _remove(self, one: str) -> None:
        if one not in self.order:
            raise Refused
        self.order.remove(one)

    def _disqualify(self, one: str, handle: str) -> None:
        if one not in self.order:
            raise Refused
        if handle not in self.out.get(one, []):
            time, groups = self.source[one]
            names = [name for group in groups for name in group]
            if handle not in names and self._name(handle, time) not in [self._name(name, time) for name in names]:
                raise Refused
            self.out.setdefault(one, []).append(handle)

    def _reinstate(self, one: str, handle: str) -> None:
        if handle not in self.out.get(one, []):
            raise Refused
        self.out[one].remove(handle)

    def _alias(self, old: str, new: str, since: int | None) -> None:
        self.aliases[old] = (new, since)
        path = [old]
        while path[-1] in self.aliases and path.count(path[-1]) == 1:
            path.append(self.aliases[path[-1]][0])
        if path[-1] == old and (len(path) == 2 or any(self.aliases[name][1] is None for name in path)):
            raise Refused

    def _unalias(self, old: str) -> None:
        if old not in self.aliases:
            raise Refused
        del self.aliases[old]

    # What counts

    def _name(self, handle: str, time: int) -> str:
        new, since = self.aliases.get(handle, (handle, 0))
        if handle not in self.aliases or (since is not None and time >= since):
            return handle
        return self._name(new, time if since is None else since)

    def _effective(self, one: str) -> list[list[str]]:
        time, groups = self.source[one]
        names = [name for group in groups for name in group]
        gone = set()
        for handle in self.out.get(one, []):
            same = [name for name in names if self._name(name, time) == self._name(handle, time)]
            gone |= {handle} if handle in names else set(same)
        left = [[self._name(name, time) for name in group if name not in gone] for group in groups]
        return [group for group in left if group]

    def _check(self, one: str) -> None:
        names = [name for group in self._effective(one) for name in group]
        if not names or len(set(names)) < len(names):
            raise Refused


def _contest(one: str, time: int, groups: list[list[str]]) -> Contest:
    sizes = np.array([len(group) for group in groups])
    ends = np.cumsum(sizes)
    lo, hi = (np.repeat(place, sizes).astype(np.int32) for place in (ends - sizes, ends - 1))
    handles = pa.array([name for group in groups for name in group], pa.string())
    return Contest(one, f"Contest {one}", "", time, handles, lo, hi)


# The same in the lake


def _ingest(lake: Lake, name: str, contests: list[Any], order: Any, mirror: bool) -> None:
    with Dataset.ingest(lake, name, order=order, mirror=mirror) as body:
        for one in contests:
            body.add(_contest(*one))


def _method(method: str) -> Callable[..., None]:
    def change(lake: Lake, name: str, *how: Any) -> None:
        with Dataset.ingest(lake, name) as body:
            getattr(body, method)(*how)

    return change


_IN_LAKE: dict[str, Callable[..., None]] = {
    "ingest": _ingest,
    **{method: _method(method) for method in ("remove", "disqualify", "reinstate", "alias", "unalias")},
}


@st.composite
def _contests(draw: st.DrawFn) -> tuple[str, int, list[list[str]]]:
    names = draw(st.lists(st.sampled_from(HANDLES), min_size=1, max_size=4, unique=True))
    tied = draw(st.lists(st.booleans(), min_size=len(names), max_size=len(names)))
    groups: list[list[str]] = []
    for name, with_last in zip(names, tied, strict=True):
        if groups and with_last:
            groups[-1].append(name)
        else:
            groups.append([name])
    return draw(st.sampled_from(IDS)), draw(st.sampled_from(TIMES)), groups


_handle = st.sampled_from(HANDLES)
_since = st.sampled_from([None, 15, 25])
_sources = st.lists(_contests(), max_size=3, unique_by=lambda one: one[0])

#: The first change of a data set.
FIRST = st.permutations(IDS).flatmap(
    lambda ids: st.tuples(*(_contests().map(lambda one, i=i: (i, *one[1:])) for i in ids)).map(
        lambda some: ("ingest", (list(some), "source", False))
    )
)


def changes(twin: Twin) -> st.SearchStrategy[tuple[str, Any]]:
    """What may come next: mostly what makes sense."""
    participated = [(one, name) for one in twin.order for group in twin.source[one][1] for name in group]
    out = [(one, handle) for one, handles in twin.out.items() for handle in handles]
    kinds: dict[str, st.SearchStrategy[Any]] = {
        "ingest": st.tuples(
            _sources, st.sampled_from(["source", "source", "time"]), st.sampled_from([False] * 3 + [True])
        ),
        "remove": st.tuples(st.sampled_from(IDS)),
        "disqualify": st.tuples(st.sampled_from(IDS), _handle),
        "alias": st.tuples(_handle, _handle, _since),
    }
    kinds |= {"disqualify": st.sampled_from(participated) | kinds["disqualify"]} if participated else {}
    kinds |= {"reinstate": st.sampled_from(out)} if out else {}
    kinds |= {"unalias": st.tuples(st.sampled_from(sorted(twin.aliases)))} if twin.aliases else {}
    usual = ["disqualify", "alias", "ingest", "alias", "disqualify"]
    return st.sampled_from([*usual, *kinds]).flatmap(lambda kind: st.tuples(st.just(kind), kinds[kind]))
