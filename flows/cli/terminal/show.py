"""Tables of results for a terminal: rounded, aligned, coloured by title."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from rich.table import Table
from rich.text import Text

from ranklake.storage import Entry

from ...common.text import byte_size, cell, count
from ...common.times import utc
from ...maintenance.status import DatasetStatus, LakeStatus, RunStatus
from ...results.places import rounded_down
from .show_pairs import by_expected_place
from .tables import CONTEST, NAME, NUMBER, TEXT, WHOLE, new_table

if TYPE_CHECKING:
    import pandas as pd

    from ...frames.prediction import Prediction
    from ...results.places import PlaceOptions
    from ...results.player_names import PlayerHistory
    from ...results.rating_format import RatingFormat


def leaderboard_table(
    rows: pa.Table, n_players: int, form: RatingFormat, places: PlaceOptions, tiers: bool = False
) -> Table:
    """The first rows of a leaderboard of ``n_players``; without titles, the table has no title column.

    ``tiers``: draw a line between them; the rows are in their order.
    """
    titled = ("title",) if form.titles else ()
    sure = [places.label] if "place_high" in rows.column_names else []
    within = [name for name in ("component", *(["tier"] if tiers else [])) if name in rows.column_names]
    columns = dict.fromkeys((*within, "place", *sure, "rating"), NUMBER)
    columns |= {**dict.fromkeys(titled, WHOLE), "handle": NAME}
    of_season = _OF_SEASON if "season_rounds" in rows.column_names else ()
    columns |= dict.fromkeys((*of_season, "mu", "sigma", "rounds", "last", "highest", "percentile"), NUMBER)
    hide = ("percentile", "sigma", "mu", "highest", "last", *sure, "rounds", "title")
    caption = f"{rows.num_rows:,} of {count(n_players, 'player')}"
    caption += ", places within components" if "component" in within else ""
    table, last = new_table(columns, hide, caption=caption), None
    for row in rows.to_pylist():
        colour = form.style(row["rating"])
        numbers = [row[name] for name in within]
        if tiers and table.rows and numbers != last:
            table.add_section()
        last = numbers
        table.add_row(
            *map(_place, numbers),
            _place(row["place"]),
            *([_interval(row["place_high"], row["place_low"])] if sure else []),
            Text(form.rating(row["rating"]) + "?" * row["provisional"], colour),
            *(Text(cell(row[name] or ""), colour) for name in (*titled, "handle")),
            *(_season_cells(row, form) if of_season else ()),
            form.belief(row["mu"]),
            form.belief(row["sigma"]),
            f"{row['n_rounds']:,}",
            day(row["last_time_seconds"]),
            form.rating(row["max_rating"]),
            "" if row["provisional"] else f"{rounded_down(row['percentile']):.2f}",
        )
    return table


_OF_SEASON = ("in season", "start", "best", "change")


def _season_cells(row: dict[str, Any], form: RatingFormat) -> list[str]:
    """The cells of :data:`_OF_SEASON`."""
    start, best, change = (row[f"season_{name}"] for name in ("start_rating", "best", "change"))
    shown = ["" if value is None else form.rating(value) for value in (start, best)]
    return [f"{row['season_rounds']:,}", *shown, "" if change is None else form.change(change)]


def _place(place: int | None) -> str:
    return "" if place is None else f"{place:,}"


def _interval(high: int | None, low: int | None) -> str:
    """The places from the best to the worst; nothing for a provisional player."""
    return _place(high) if high == low else f"{high:,}-{low:,}"


def groups_table(rows: pa.Table, n_groups: int, form: RatingFormat) -> Table:
    """The first rows of a table of groups."""
    columns = {"place": NUMBER, "rating": NUMBER, "group": NAME, "players": NUMBER, "best": NAME, "best rating": NUMBER}
    table = new_table(columns, ("best rating", "players"), caption=f"{rows.num_rows:,} of {count(n_groups, 'group')}")
    for row in rows.to_pylist():
        table.add_row(
            f"{row['place']:,}",
            form.rating(row["rating"]),
            Text(cell(row["group"])),
            f"{row['n_players']:,}",
            Text(cell(row["best"]), form.style(row["best_rating"])),
            form.rating(row["best_rating"]),
        )
    return table


def all_time_table(rows: pa.Table, n_players: int, form: RatingFormat) -> Table:
    """The first rows of a leaderboard of all time of ``n_players``."""
    columns = {"place": NUMBER, "level": NUMBER, "handle": NAME, "mu": NUMBER, "sigma": NUMBER, "contest": CONTEST}
    columns |= {"day": NUMBER, "rounds": NUMBER}
    caption = f"{rows.num_rows:,} of {count(n_players, 'player')}"
    table = new_table(columns, ("rounds", "mu", "contest", "day", "sigma"), caption=caption)
    for row in rows.to_pylist():
        colour = form.style(row["level"])
        table.add_row(
            f"{row['place']:,}",
            Text(form.rating(row["level"]), colour),
            Text(cell(row["handle"]), colour),
            form.belief(row["smooth_mu"]),
            form.belief(row["smooth_sigma"]),
            Text(cell(row["name"] or row["contest_id"])),
            day(row["time_seconds"]),
            f"{row['n_rounds']:,}",
        )
    return table


def player_table(history: PlayerHistory, place: int | None, n_ranked: int) -> Table:
    """One player's rounds below a summary; ``place`` among ``n_ranked`` players, None of a provisional one."""
    form = history.format
    of_teams = history.rows.column("team").null_count < history.rows.num_rows
    further = [*(["team"] if of_teams else []), *(["opponent"] if "opponent" in history.rows.column_names else [])]
    columns = {"round": NUMBER, "day": NUMBER, "contest": CONTEST} | dict.fromkeys(further, NAME)
    scored = history.rows.column("points").null_count < history.rows.num_rows
    numbers = ("place", "of", *(["points"] if scored else []), "performance", "rating", "change", "mu", "sigma")
    columns |= dict.fromkeys(numbers, NUMBER)
    hide = ("sigma", "mu", "round", "of", "performance", "day", "team", "points", "change")
    table = new_table(columns, hide, title=_player_line(history, place, n_ranked))
    for row, change in zip(history.rows.to_pylist(), history.changes, strict=True):
        table.add_row(
            f"{row['round_index']:,}",
            day(row["time_seconds"]),
            Text(cell(row["name"] or row["contest_id"])),
            *(Text(cell(row[name] or "")) for name in further),
            _interval(row["lo"] + 1, row["hi"] + 1),
            "" if row["n_players"] is None else f"{row['n_players']:,}",
            *(["" if row["points"] is None else f"{row['points']:,.12g}"] if scored else []),
            "" if row["perf"] is None else form.rating(row["perf"]),
            Text(form.rating(row["rating"]), form.style(row["rating"])),
            "" if change is None else form.change(change),
            form.belief(row["mu"]),
            form.belief(row["sigma"]),
        )
    return table


def _player_line(history: PlayerHistory, place: int | None, n_ranked: int) -> Text:
    """One player in a line: rating, title, place among ``n_ranked`` players, the peak, and the last change."""
    form, ratings = history.format, history.rows.column("rating").to_pylist()
    parts = [form.rating(ratings[-1])]
    if (step := form.titles.step(ratings[-1])) >= 0:
        parts[0] += f" {cell(form.titles.ladder[step].name)}"
    parts.append("provisional" if place is None else f"place {place:,} of {n_ranked:,}")
    best = max(range(len(ratings)), key=ratings.__getitem__)
    when = day(history.rows.column("time_seconds")[best].as_py())
    parts.append(f"peak {form.rating(ratings[best])}" + f" on {when}" * bool(when))
    if len(ratings) > 1:
        parts.append(f"{form.change(history.changes[-1] or 0.0)} in the last of {count(len(ratings), 'round')}")
    return Text(f"{cell(history.handle)}: {', '.join(parts)}")


def entrants_table(prediction: Prediction) -> Table:
    """The entrants of a future round by expected place."""
    rows, form = by_expected_place(prediction), prediction.format
    columns = {"expected place": NUMBER, "rating": NUMBER, "handle": NAME}
    columns |= dict.fromkeys(("mu", "sigma", "rounds"), NUMBER)
    table = new_table(columns, ("sigma", "mu", "rounds"), caption=count(len(rows), "entrant"))
    for row in rows.to_dict("records"):
        table.add_row(
            f"{row['expected_place']:,.1f}",
            form.rating(row["rating"]),
            Text(cell(str(row["player"]))),
            form.belief(row["mu"]),
            form.belief(row["sigma"]),
            f"{row['n_rounds']:,}",
        )
    return table


def outcomes_table(handle: str, rows: pd.DataFrame, n_players: int, form: RatingFormat) -> Table:
    """A player's rating after each place."""
    columns = dict.fromkeys(("place", "rating", "change", "mu", "sigma"), NUMBER)
    table = new_table(columns, ("sigma", "mu"), title=Text(cell(handle)), caption=f"a round of {n_players:,}")
    for row in rows.to_dict("records"):
        table.add_row(
            f"{row['place']:,}",
            form.rating(row["rating"]),
            form.change(row["change"]),
            form.belief(row["mu"]),
            form.belief(row["sigma"]),
        )
    return table


def log_table(title: str, entries: list[tuple[Entry, str]]) -> Table:
    """Corrections, each with its state."""
    columns = {"when": WHOLE, "what": WHOLE, "contest": CONTEST, "player": NAME, "new name": NAME}
    of_seasons = any(entry.season is not None for entry, _ in entries)
    columns |= ({"season": NAME} if of_seasons else {}) | {"since": WHOLE}
    columns |= {"who": NAME, "why": TEXT, "state": TEXT}
    table = new_table(columns, ("who", "since", "why", "when"), title=Text(title))
    for entry, state in entries:
        texts = (entry.contest_id, entry.handle, entry.new_handle, *((entry.season,) if of_seasons else ()))
        table.add_row(
            day(entry.time_seconds),
            entry.kind,
            *(Text("" if text is None else cell(text)) for text in texts),
            day(entry.since_seconds),
            *(Text(cell(text)) for text in (entry.who, entry.why, state)),
        )
    return table


def runs_tables(status: LakeStatus) -> Iterator[Table]:
    """The data sets of a lake, then its runs."""
    columns = {"data set": NAME, "state": TEXT}
    columns |= dict.fromkeys(("contests", "participations", "players", "last", "files", "size"), NUMBER)
    table = new_table(columns, ("files", "last", "size", "players", "participations"), title="data sets")
    for dataset in status.datasets:
        table.add_row(
            dataset.dataset,
            _with_writer(dataset),
            *(_number(count) for count in (dataset.contests, dataset.participations, dataset.players)),
            day(dataset.last_time_seconds),
            _number(dataset.files),
            byte_size(dataset.size_bytes),
        )
    yield table
    columns = {"run": NAME, "data set": NAME, "system": NAME, "state": TEXT, "rounds": NUMBER}
    columns |= {"participations": NUMBER, "last contest": CONTEST}
    columns |= {**dict.fromkeys(("day", "segments", "snapshots"), NUMBER), "smoothing": WHOLE, "size": NUMBER}
    hide = ("snapshots", "segments", "smoothing", "last contest", "participations", "data set", "day", "size", "system")
    table = new_table(columns, hide, title="runs")
    for run in status.runs:
        table.add_row(
            run.run,
            run.dataset,
            run.system,
            _with_writer(run),
            *(_number(count) for count in (run.rounds, run.participations)),
            Text(cell(run.last_contest or "")),
            day(run.last_time_seconds),
            *(_number(count) for count in (run.segments, run.snapshots)),
            run.smoothing or "",
            byte_size(run.size_bytes),
        )
    yield table


def _with_writer(what: DatasetStatus | RunStatus) -> Text:
    """A state, and the current writer."""
    if what.writer is None:
        return Text(cell(what.state))
    age = what.heartbeat_age_seconds  # None for a lease that cannot be read
    last = "" if age is None else f", last heartbeat {age:.0f} s ago"
    return Text(cell(f"{what.state}; {what.writer}{last}"))


def _number(count: int | None) -> str:
    return "" if count is None else f"{count:,}"


def day(time_seconds: int | None) -> str:
    if not time_seconds:  # 0 is unknown
        return ""
    try:
        return utc(time_seconds).date().isoformat()
    except OverflowError:  # a time outside the calendar is shown as a number
        return str(time_seconds)
