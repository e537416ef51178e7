"""Checks of a season before it is recorded: its name, its time, and the numbers and players of its reset."""

from __future__ import annotations

import math

import pyarrow.compute as pc

from ranklake.storage import Dataset, Event, LakeError
from ranklake.storage.datasets.tables.events import ACTIVE_SINCE, ALL, MEAN, MU_INIT, positions
from ranklake.storage.datasets.tables.games import GAMES_KIND
from ranklake.storage.names.hints import hint, near_names

from ..common.text import listed, quoted, visible
from ..common.times import FIRST_SECOND, LAST_SECOND, NoTimeError, parse_time, spelled
from .seasons import CURRENT, ends_of

NAME_LENGTH = 100  # characters of the name of a season


def season_event(
    name: str,
    time_seconds: int,
    *,
    reset: bool = True,
    centre: str | float = MU_INIT,
    keep: float = 1.0,
    widen: float = 0.0,
    forget: bool = False,
    restart_counts: bool = False,
    who: str = ALL,
) -> Event:
    """A season that begins at a time, UTC seconds, with its number still to be given.

    A reset that changes nothing is none. ``centre``: ``mu_init``, ``mean`` or rating points. ``keep``: factor on the
    distance from the centre. ``widen``: rating points. ``forget``: beliefs lose their histories.
    ``restart_counts``: rules that count a player's games count from then on. ``who``: ``all``, ``attribute=value`` or
    ``active_since=TIME``.

    Raises ValueError: a value is out of range; names the value and the range.
    """
    if not name.strip() or len(name) > NAME_LENGTH or visible(name) != name or name != name.strip():
        rule = f"1 to {NAME_LENGTH} printable characters without blanks at its ends"
        raise ValueError(f"the name of a season must be {rule}, got {quoted(name)}")
    if name == CURRENT:
        raise ValueError(f"the name of a season must not be {CURRENT!r}, which means the season of now")
    if not FIRST_SECOND <= time_seconds <= LAST_SECOND:
        raise ValueError(f"the time of a season must be of the years 1 to 2199, got {time_seconds} seconds")
    if not 0.0 <= keep <= 1.0:
        stretch = "; more than 1 would stretch the ratings" if keep > 1.0 else ""
        raise ValueError(f"keep must be from 0 to 1, got {keep!r}{stretch}")
    if not (widen >= 0.0 and math.isfinite(widen)):
        raise ValueError(f"widen must be a finite number >= 0 rating points, got {widen!r}")
    given, players = _centre(centre), _who(who)
    if not reset or (keep == 1.0 and widen == 0.0 and not (forget or restart_counts)):
        return Event(-1, time_seconds, "season", name)
    history = "forget" if forget else "keep"
    facts = given, float(keep), float(widen), history, restart_counts, players
    return Event(-1, time_seconds, "reset", name, *facts)  # type: ignore[arg-type]


def check_event(dataset: Dataset, event: Event) -> str:
    """Check an event against the data set that it is for; returns a warning, empty without one.

    Raises LakeError: another season has its name, its time is within a period of games, or nobody has the attribute of
    its players.
    """
    dataset.events().same(event)
    check_position(dataset, event)
    if (chosen := event.attribute) is not None:
        _check_attribute(dataset, *chosen)
    ends = ends_of(dataset)
    if len(ends) and not ends.any():
        return f"the contests of data set {dataset.name} have no times, so season {event.name} comes after all of them"
    if len(ends) and positions([event], ends) == [0]:
        nobody = "; its reset acts on nobody" if event.kind == "reset" else ""
        first = spelled(int(ends[0]))
        return f"season {event.name} begins before the first contest, which ended at {first}{nobody}"
    return ""


def check_position(dataset: Dataset, event: Event) -> None:
    """Raise ``LakeError`` if a period of games has games on both sides of an event."""
    ends = ends_of(dataset)
    (at,) = positions([event], ends)
    if dataset.kind != GAMES_KIND or at == len(ends):
        return
    games = [part.games for part in dataset.standings(at, at + 1) if part.games is not None]
    first = min((int(one.time_seconds.min()) for one in games if len(one.time_seconds)), default=event.time_seconds)
    if first < event.time_seconds:
        period = dataset.contests.column("contest_id")[at].as_py()
        raise LakeError(
            f"season {event.name} begins at {spelled(event.time_seconds)}, within period {period} of data set "
            f"{dataset.name}, which has games from {spelled(first)} to {spelled(int(ends[at]))}; choose a time between "
            "two periods, or ingest the games again with a shorter --period"
        )


def _centre(centre: str | float) -> str:
    """A centre as it is recorded."""
    if centre in (MU_INIT, MEAN):
        return str(centre)
    try:
        value = float(centre)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(f"centre must be {MU_INIT}, {MEAN} or a finite number of rating points, got {centre!r}")
    return repr(value)


def _who(who: str) -> str:
    """The players of an event as they are recorded."""
    name, equals, value = who.partition("=")
    if who == ALL:
        return who
    if not (equals and name and value):
        raise ValueError(f"who must be {ALL}, ATTRIBUTE=VALUE or {ACTIVE_SINCE}=DATE, got {quoted(who)}")
    if name != ACTIVE_SINCE:
        return who
    try:
        return f"{ACTIVE_SINCE}={parse_time(value)}"
    except NoTimeError as error:
        raise ValueError(f"who: {ACTIVE_SINCE} {error.rule}, got {quoted(value)}") from None


def _check_attribute(dataset: Dataset, name: str, value: str) -> None:
    table = dataset.attributes()
    names = table.column("attribute").unique().to_pylist()
    if name not in names:
        known = f"there are: {listed(sorted(names))}" if names else "`ranklake attributes` records them"
        raise LakeError(f"who: no player of data set {dataset.name} has an attribute {name!r}; {known}")
    values = table.filter(pc.equal(table.column("attribute"), name)).column("value").unique().to_pylist()
    if value not in values:
        few = f"; there are: {listed(sorted(values))}" if len(values) <= 10 else f"; there are {len(values)} others"
        near = hint(value, near_names(value, values)) or few
        raise LakeError(f"who: no player of data set {dataset.name} has {name}={value!r}{near}")
