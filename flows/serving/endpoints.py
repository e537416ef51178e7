"""The endpoints about one run: their parameters and their answers. They know no HTTP."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from ranklake.storage import MissingError
from ranklake.storage.names.hints import hint

from ..answers.handles import MOST_SEARCHED, NoPlayerError
from ..answers.leaderboard import BOTH_WAYS, Group, Page
from ..answers.problems.published import PROBLEM_ORDERS, NoProblemError, PublishedProblems
from ..answers.run import PublishedRun
from ..common.configuration.settings import check_uncertainty, find_system
from ..common.times import spelled, year_start
from ..events.seasons import CURRENT, Season
from ..http.server.parameters import Parameter
from ..http.server.problems import Problem
from ..results.places import RULES, PlaceOptions
from ..results.ranks import PROVISIONAL
from .messages.responses import FORMATS, ManyRows

MOST_HANDLES = 200
MOST_COMPARED = 20
MOST_ROWS = 1_000

Values = Mapping[str, Any]


class Moved(Exception):
    """The player has another handle now, or the contest another id: ``name``."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An endpoint about one run.

    ``path``: below ``/api/v1/runs/{run}``; at most one variable.
    ``answer``: the result for a run and the values of all parameters: a JSON value or :class:`ManyRows`.
    ``quick``: whether it takes less time than the way to a thread and back.
    ``long``: parameters with which the answer is a long computation, see :class:`Workers`.
    """

    path: str
    summary: str
    parameters: tuple[Parameter, ...]
    answer: Callable[[PublishedRun, Values], Any]
    quick: bool = False
    long: tuple[str, ...] = ()

    def is_long(self, values: Values) -> bool:
        """Whether the answer is a long computation."""
        return any(values[name] is not None for name in self.long)

    @property
    def variable(self) -> str:
        """The variable in the path; empty if there is none."""
        return self.path.partition("{")[2].partition("}")[0]


_START = Parameter("start", "integer", "Rows to skip.", 0, 0, 1e9)
_FORMAT = Parameter("format", "text", "Format of the answer.", "json", choices=FORMATS)
_ACTIVE = Parameter("active_since", "time", "Only players with a contest since then.", short=True)
_SINCE = Parameter("since", "time", "Only contests since then.", short=True)
_SEASON = Parameter("season", "text", "Only this season, by its name, or the current one.", None, 1, 100)
_UNTIL = Parameter("until", "time", "Only contests before then.", short=True)

_PLACES = (
    Parameter("provisional", "text", "Show provisional players, show only them, or hide them.", "show",
              choices=PROVISIONAL),
    Parameter("interval", "number", "Probability that a skill is within its bounds, for the intervals of places; by "
              "default that of the publish, as the others.", None, 0, 1, between=True),
    Parameter("places", "text", "Rule of the intervals of places.", None, choices=RULES),
    Parameter("min_rounds", "integer", "Players with fewer rounds are provisional.", None, 0, 2**31 - 1),
    Parameter("max_sigma", "number", "Players with a larger sigma are provisional.", None, 0, 1e10, between=True),
)  # fmt: skip
_TAGS_NAMED = 20  # in an error
_OF_PLACES = ("interval", "places", "min_rounds", "max_sigma")  # with another value, all places are computed again


def _limit(default: int) -> Parameter:
    return Parameter("limit", "integer", "Number of rows at most.", default, 1, MOST_ROWS)


def _handles(most: int) -> Parameter:
    return Parameter("handles", "handles", "Handles with commas between them.", None, 1, most, required=True)


def _leaderboard(run: PublishedRun, values: Values) -> ManyRows:
    if values["title"] is not None:
        check_title(run, values["title"])
    group = None if values["group"] is None else group_of(run, values["group"])
    names = ("start", "limit", "order", "active_since", "title", "at", "active", "provisional")
    shown = {name: values[name] for name in names}
    season, placement = season_of(run, values["season"]), values["placement"]
    for name, refused in (("season", "at"), ("season", "min_rounds")) if season is not None else ():
        if values[refused] is not None:
            raise Problem.of_parameter(name, values[name], f"takes no {refused}: its state is that at its end")
    if season is None and placement is not None:
        raise Problem.of_parameter("placement", str(placement), "needs a season, whose contests it counts")
    of_season: dict[str, Any] = {} if season is None else {"season": season, "placement": placement or 1}
    return _page(run, run.leaderboard(**shown, **of_season, group=group, places=_places(run, values)), values)


def season_of(run: PublishedRun, name: str | None) -> Season | None:
    """The season of a name, or the current one; None without a name. Raises Problem: there is none."""
    if name is None:
        return None
    try:
        return run.season(name)
    except MissingError:
        names = [CURRENT, *(one.name for one in run.seasons)]
        rule = f"must be one of {', '.join(names)}" if run.seasons else "is not possible: the run has no seasons"
        raise Problem.of_parameter("season", name, rule) from None


def _seasons(run: PublishedRun, values: Values) -> ManyRows:
    return ManyRows(run.seasons_table, {})


def check_title(run: PublishedRun, name: str) -> None:
    """Raises Problem: the run has no such title."""
    titles = [title.name for title in run.titles.ladder]
    if name not in titles:
        rule = f"must be one of {', '.join(titles)}" if titles else "is not possible: the run has no titles"
        raise Problem.of_parameter("title", name, rule)


def _places(run: PublishedRun, values: Values) -> PlaceOptions | None:
    """The options of places of a request, those that are missing as published; None without any. Raises Problem."""
    given = {name: values[name] for name in _OF_PLACES if values[name] is not None}
    for name in given if not run.has_intervals else ():
        if name != "min_rounds":
            try:
                check_uncertainty(find_system(run.manifest.system), name)
            except ValueError as error:
                raise Problem.of_parameter(name, str(given[name]), str(error).removeprefix(f"{name} ")) from None
    if not given:
        return None
    return run.places.changed(**{"rule" if name == "places" else name: value for name, value in given.items()})


def group_of(run: PublishedRun, text: str) -> Group:
    """The attribute and the value of ``ATTRIBUTE:VALUE``; of attributes that fit, the longest. Raises Problem."""
    for name in sorted(run.attributes, key=len, reverse=True):
        if text.startswith(f"{name}:"):
            return name, text[len(name) + 1 :]
    raise Problem.of_parameter("group", text, f"must be ATTRIBUTE:VALUE{_attributes(run)}")


def _groups(run: PublishedRun, values: Values) -> ManyRows:
    attribute = values["attribute"]
    if attribute is not None and attribute not in run.attributes:
        raise Problem.of_parameter("attribute", attribute, f"must be an attribute{_attributes(run)}")
    page = run.groups(values["start"], values["limit"], attribute)
    return _page(run, replace(page, rows=run.with_names(page.rows, "best", "best_name")), values)


def _attributes(run: PublishedRun) -> str:
    return f" ({', '.join(run.attributes)})" if run.attributes else ", but the players have none"


def _history(run: PublishedRun, values: Values) -> ManyRows:
    handle = _current(run, values["handle"])
    return ManyRows(run.history(handle, values["since"], season_of(run, values["season"])), {"handle": handle})


def _player(run: PublishedRun, values: Values) -> Any:
    player = run.player(_current(run, values["handle"]), _places(run, values))
    if not _is_shown(player, values["provisional"]):
        what = "is provisional" if player["provisional"] else "is not provisional"
        raise Problem(404, f"player {values['handle'][:200]!r} {what}, and provisional is {values['provisional']}")
    return player


def _between(run: PublishedRun, values: Values) -> Any:
    handle, since, until = _current(run, values["handle"]), values["since"], values["until"]
    if since >= until:
        raise Problem.of_parameter("until", spelled(until), f"must be later than since, which is {spelled(since)}")
    try:
        return run.between(handle, since, until)
    except ValueError as error:
        raise Problem(400, f"since: {error}", parameter="since", value=spelled(since), rule=str(error)) from error
    except MissingError as error:
        raise Problem(404, str(error)) from error


def _players(run: PublishedRun, values: Values) -> Any:
    handles = run.handles.listed(values["handles"])
    return many_players(run, handles, _places(run, values), values["provisional"])


def many_players(
    run: PublishedRun, handles: list[str], places: PlaceOptions | None = None, provisional: str = "show"
) -> Any:
    """Several players; an entry of ``missing`` for each handle without one, the first ones with similar handles."""
    players: list[dict[str, Any]] = []
    missing: list[dict[str, Any]] = []
    for handle in dict.fromkeys(handles):
        try:
            player = run.player(handle, places)
            if _is_shown(player, provisional):
                players.append({"requested": handle, **player})
        except NoPlayerError as error:
            missing.append({"requested": handle, "near": error.near if len(missing) < MOST_SEARCHED else []})
    return {"players": players, "missing": missing}


def _is_shown(player: Mapping[str, Any], provisional: str) -> bool:
    return provisional == "show" or player["provisional"] == (provisional == "only")


def _compare(run: PublishedRun, values: Values) -> Any:
    value = values["chances_of"]
    try:
        run.games_to_come(value)
    except ValueError as error:
        raise Problem.of_parameter("chances_of", value, f"is not possible: {error}") from error
    handles = run.handles.listed(values["handles"])
    found = run.compare(handles, value, values["neutral"] == "true")
    if not found["players"]:
        raise Problem.no_player(
            found["unknown"][0]["requested"], found["unknown"][0]["near"], run.name, run.brand.player
        )
    return found


def _distribution(run: PublishedRun, values: Values) -> Any:
    try:
        at = None if values["year"] is None else year_start(values["year"] + 1) - 1
        season = season_of(run, values["season"])
        if season is not None and at is not None:
            raise Problem.of_parameter("season", values["season"], "takes no year: its state is that at its end")
        return run.distribution(values["width"], values["active_since"], values["handle"], at, season)
    except ValueError as error:
        raise Problem.of_parameter("width", str(values["width"]), str(error)) from error


def _count(run: PublishedRun, values: Values) -> Any:
    return {"min": values["min"], "max": values["max"], "count": run.count(values["min"], values["max"])}


def _contests(run: PublishedRun, values: Values) -> ManyRows:
    names = ("start", "limit", "q", "since", "until")
    return _page(run, run.contests(**{name: values[name] for name in names}), values)


def _contest(run: PublishedRun, values: Values) -> ManyRows:
    try:
        facts, page = run.contest(values["contest_id"], values["start"], values["limit"])
    except KeyError:
        raise no_contest(run, values["contest_id"]) from None
    rows = _page(run, page, values)
    return ManyRows(rows.table, {**facts, **rows.facts})


def no_contest(run: PublishedRun, contest_id: str) -> Problem:
    """An id that no contest of a run has; ``near`` are similar ones. Raises Moved: one has it in another case."""
    if (other := run.contest_alike(contest_id)) is not None:
        raise Moved(other)
    found = run.contests(0, 5, contest_id[:100]).rows.column("contest_id").to_pylist()
    hint = f"; near it are {', '.join(map(repr, found))}" if found else ""
    return Problem(404, f"no {run.brand.contest} {contest_id[:200]!r} in run {run.name}", hint, near=found)


def problems_of(run: PublishedRun) -> PublishedProblems:
    """The problems of a run; raises Problem: it has none."""
    if run.problems is None:
        remedy = f"`ranklake ingest results` adds them to data set {run.manifest.dataset}, then publish the run again"
        raise Problem(404, f"run {run.name} is published without results of problems; {remedy}")
    return run.problems


def chosen_problems(run: PublishedRun, values: Values) -> Page:
    """A page of problems; raises Problem: the run has none, or there is no such contest or tag."""
    found, contest, tag = problems_of(run), values["contest"], values["tag"]
    if contest is not None and not found.has_contest(contest):
        near, shown = found.near_contests(contest), contest[:200]
        rule = f"must be the id of a {run.brand.contest} with problems"
        facts = {"parameter": "contest", "value": shown, "rule": rule, "near": near}
        raise Problem(400, f"contest {rule}, got {shown!r}", hint(contest, near), **facts)
    if tag is not None and tag not in found.tags:
        few = ", ".join(found.tags[:_TAGS_NAMED]) + (", ..." if len(found.tags) > _TAGS_NAMED else "")
        raise Problem.of_parameter(
            "tag", tag, f"must be a tag ({few})" if few else "is not possible: there are no tags"
        )
    further = {name: values[name] for name in ("start", "limit", "order", "q")}
    return run.problem_page(contest=contest, low=values["min"], high=values["max"], tag=tag, **further)


def _problems(run: PublishedRun, values: Values) -> ManyRows:
    page = chosen_problems(run, values)
    return _page(run, page, values, {"scale": problems_of(run).scale})


def one_problem(run: PublishedRun, problem: str) -> dict[str, Any]:
    """A problem; raises Problem: there is none with this id."""
    try:
        return problems_of(run).problem(problem)
    except NoProblemError as error:
        rule = f"no problem {problem[:200]!r} in run {run.name}"
        raise Problem(404, rule, hint(problem, error.near), near=error.near) from None


def _problems_for(run: PublishedRun, values: Values) -> ManyRows:
    problems_of(run)
    handle = _current(run, values["handle"])
    shown = {name: values[name] for name in ("chance", "width", "start", "limit")}
    page = run.problems_for(handle, unsolved=values["unsolved"] == "true", **shown)
    return _page(run, page, values, {"handle": handle})


def _search(run: PublishedRun, values: Values) -> ManyRows:
    return ManyRows(run.with_names(run.search(values["q"], values["limit"])), {"q": values["q"]})


def _page(run: PublishedRun, page: Page, values: Values, about: Values = MappingProxyType({})) -> ManyRows:
    facts = {**about, "total": page.total, "start": values["start"], "next": page.next}
    return ManyRows(run.with_names(page.rows), facts)


def _current(run: PublishedRun, handle: str) -> str:
    """The handle, if it is the current one; raises Moved: the player has another handle now."""
    current = run.handles.handle(run.handles.row(handle))
    if current != handle:
        raise Moved(current)
    return handle


ENDPOINTS = (
    Endpoint("", "The run: system, hyperparameters, titles, rounds, version.", (), lambda run, values: run.facts),
    Endpoint("/leaderboard", "Players, best first.", (
        _START, _limit(100),
        Parameter("order", "text", "Order of the rows, descending; after a - ascending.", "rating", choices=BOTH_WAYS),
        _ACTIVE, Parameter("title", "text", "Only players with this title.", None, 1, 100),
        Parameter("at", "time", "Ratings of this time, with the uncertainty of the days since then."),
        Parameter("active", "age", "Only players with a contest in this time before `at`, or before the last contest."),
        Parameter("group", "text", "Only players with a value of an attribute, as `country:PL`.", None, 1, 1000),
        Parameter("season", "text", "The players of this season, or of the `current` one: the state at its end.",
                  None, 1, 100),
        Parameter("placement", "integer", "Contests of the season that a player needs for a place, 1 by default.",
                  None, 1, 2**31 - 1),
        *_PLACES, _FORMAT,
    ), _leaderboard, long=("at", "season", *_OF_PLACES)),
    Endpoint("/seasons", "The seasons, in order.", (_FORMAT,), _seasons),
    Endpoint("/groups", "Groups of players with the same value of an attribute, best first.", (
        Parameter("attribute", "text", "Only the groups of this attribute.", None, 1, 1000),
        _START, _limit(100), _FORMAT,
    ), _groups),
    Endpoint("/players/{handle}/history", "One row per rated round of a player.", (_SINCE, _SEASON, _FORMAT),
             _history),
    Endpoint("/players/{handle}/between", "The difference of a player's skill between two dates, of smoothed skills.", (
        Parameter("since", "time", "The earlier date.", required=True, short=True),
        Parameter("until", "time", "The later date.", required=True, short=True),
    ), _between),
    Endpoint("/players/{handle}/problems", "Problems that a player solves with a chance, hardest first.", (
        Parameter("chance", "number", "The chance.", 0.8, 0, 1, between=True),
        Parameter("width", "number", "Greatest difference from it.", 0.05, 0, 1),
        Parameter("unsolved", "text", "Only problems that the player has not solved in full.", "false",
                  choices=("false", "true")),
        _START, _limit(100), _FORMAT,
    ), _problems_for),
    Endpoint("/players/{handle}", "One player: place, percentile, rating, attributes, first and last contest.", _PLACES,
             _player, quick=True, long=_OF_PLACES),
    Endpoint("/players", "Several players.", (_handles(MOST_HANDLES), *_PLACES),
             _players, long=("handles",)),
    Endpoint("/compare", "Common contests of several players; score, chance and difference of each pair.", (
        _handles(MOST_COMPARED),
        Parameter("neutral", "text", "Games on neutral ground. If not, each pair is there with either player as the "
                  "first one, who has the advantage that the run has learnt.", "true", choices=("true", "false")),
        Parameter("chances_of", "text", "Draws and advantage of games with this value of the column by which the run "
                  "learns; by default of all games.", None, 1, 1000),
    ), _compare, long=("handles",)),
    Endpoint("/teamrate", "The rating of a team of players.", (_handles(MOST_HANDLES),),
             lambda run, values: run.team_rating(run.handles.listed(values["handles"]))),
    Endpoint("/distribution", "Distribution of the ratings: bins and quantiles.", (
        Parameter("width", "number", "Width of a bin, rating points; by default a round number.", None, 1e-6, 1e6),
        Parameter("year", "integer", "Ratings at the end of a year, UTC.", None, 1, 9998), _ACTIVE,
        Parameter("handle", "text", "A player whose percentile is wanted.", None, 1, 1000), _SEASON,
    ), _distribution, long=("year", "season")),
    Endpoint("/count", "Number of players with a rating from `min` to below `max`.", (
        Parameter("min", "number", "Lowest rating.", None, -1e12, 1e12),
        Parameter("max", "number", "Ratings below this one.", None, -1e12, 1e12),
    ), _count),
    Endpoint("/contests", "Contests, latest first.", (
        Parameter("q", "text", "Part of the name or id.", "", 0, 100), _SINCE, _UNTIL, _START, _limit(100), _FORMAT,
    ), _contests),
    Endpoint("/contests/{contest_id}", "Standings of a contest with the change of each rating.", (
        _START,
        Parameter("limit", "integer", "Number of rows at most; by default all, of a period of games 1,000.", None, 1,
                  MOST_ROWS),
        _FORMAT,
    ), _contest),
    Endpoint("/problems", "Problems with their difficulties, of which results are known.", (
        Parameter("contest", "text", "Only problems of the contest with this id.", None, 1, 1000),
        Parameter("min", "number", "Lowest difficulty.", None, -1e12, 1e12),
        Parameter("max", "number", "Difficulties below this one.", None, -1e12, 1e12),
        Parameter("tag", "text", "Only problems with this tag.", None, 1, 1000),
        Parameter("q", "text", "Part of the name or id.", "", 0, 100), _START, _limit(100),
        Parameter("order", "text", "Order of the rows, descending; after a - ascending.", "difficulty",
                  choices=(*PROBLEM_ORDERS, *(f"-{order}" for order in PROBLEM_ORDERS))),
        _FORMAT,
    ), _problems),
    Endpoint("/problems/{problem}", "One problem: difficulty, chance by skill, solves by rating.", (),
             lambda run, values: one_problem(run, values["problem"])),
    Endpoint("/search", "Players by a part of the handle, without case and accents; if none has it, similar ones.", (
        Parameter("q", "text", "Part of a handle.", None, 1, 100, required=True),
        Parameter("limit", "integer", "Number of rows at most.", 10, 1, 100), _FORMAT,
    ), _search, long=("q",)),
)  # fmt: skip
