"""What a page says of itself to search engines and to sites that show a link to it: description, picture, data.

Absolute addresses need the public address of the server or the site, which an operator names: the header ``Host`` of
a request is what any client writes, and an answer that repeats it would be kept for others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..common.text import capital
from .feeds import contest_text
from .links import Links, day, short

LONGEST = 300  # characters of a description
FIRST = 3  # players that the description of a contest names
_SCHEMA = "https://schema.org"


@dataclass(frozen=True, slots=True)
class Sharing:
    """What a page says of itself.

    ``address``: of the page, absolute; empty if it has no lasting one, or the public address is not known.
    ``image``: address of its picture, absolute; empty as above.
    ``card``: whether the picture is a card of the page. ``kind``: of Open Graph.
    ``feed``: address of its feed relative to the page; empty without one.
    ``data``: for search engines, as JSON-LD; empty without.
    """

    description: str
    address: str = ""
    image: str = ""
    card: bool = False
    kind: str = "website"
    feed: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)


def sharing(template: str, run: Any, links: Links, context: Mapping[str, Any]) -> Sharing:
    """What the page of a template says of itself, given its ``RunFacts`` and what the template reads."""
    if template == "player" and (player := context.get("player") or context.get("about")):
        return _of_player(run, links, player)
    if template == "contest" and context.get("contest"):
        return _of_contest(run, links, context["contest"], _participants(run, context))
    if template == "period":
        period = context["period"]
        about = contest_text(run.brand, period["n_players"], n_games=period["n_games"])
        return _of_contest(run, links, period, about)
    if template == "problem" and context["problem"]:
        return _of_problem(run, links, context["problem"])
    address = links.absolute(links.lasting(template)) if _is_lasting(template, context) else ""
    feed = links.feed() if template in ("leaderboard", "contests") else ""
    return Sharing(_of_run(run), address, links.picture_of_run(), feed=feed)


def _is_lasting(template: str, context: Mapping[str, Any]) -> bool:
    """Whether the page is not one of a part: a page of a list, a group, players compared."""
    chosen = any(context.get("chosen", {}).values()) or bool(context.get("heading"))
    return (
        template not in ("error", "preview", "compare", "player", "contest", "period", "problem", "player_problems")
        and not context.get("start")
        and not chosen
    )


def _of_run(run: Any) -> str:
    if run.brand.description:
        return str(run.brand.description)
    what = f"Ratings of {run.n_players:,} {run.brand.players}" if run.n_players else f"Ratings of {run.brand.players}"
    after = f" after {run.n_rounds:,} {run.brand.contests}" if run.n_rounds else ""
    until = f", until {day(run.last_time_seconds)}" if run.last_time_seconds else ""
    return f"{what}{after}{until}: {short(run.title)}."


def _of_player(run: Any, links: Links, player: Mapping[str, Any]) -> Sharing:
    handle, rating = player["handle"], player["rating"]
    name, ladder, step = run.name_of(handle), run.format.titles.ladder, run.format.titles.step(rating)
    title = f", {short(ladder[step].name)}" if step >= 0 else ""
    place = (
        "" if player.get("place") is None else f", place {player['place']:,} of {run.n_ranked:,} {run.brand.players}"
    )
    text = (
        f"{name}: rating {run.format.rating(rating)}{title}{place}; highest {run.format.rating(player['max_rating'])}."
    )
    rounds = f" {player['n_rounds']:,} {run.brand.contests}" if player.get("n_rounds") else ""
    last = f"{rounds}, the last one on {day(player.get('last_time_seconds'))}." if rounds else ""
    person = {"@type": "Person", "name": name, "identifier": short(handle)}
    address = links.absolute(links.lasting_player(handle))
    data = {"@context": _SCHEMA, "@type": "ProfilePage", "mainEntity": person, **({"url": address} if address else {})}
    shown = _picture(links, links.card_of_player(handle))
    return Sharing(_cut(text + last), address, *shown, "profile", links.feed_of_player(handle), data)


def _participants(run: Any, context: Mapping[str, Any]) -> str:
    """The number of participants of a contest, and the first ones; of teams the first ones are unknown."""
    rows = context.get("rows", {})
    first = [] if "team" in rows else rows.get("handle", [])[:FIRST]
    return contest_text(run.brand, context["contest"]["n_players"], [run.name_of(handle) for handle in first])


def _of_contest(run: Any, links: Links, contest: Mapping[str, Any], about: str) -> Sharing:
    name, seconds = short(contest["name"]), contest.get("time_seconds") or 0
    date = f", {day(seconds)}" if seconds else ""
    address = links.absolute(links.lasting_contest(contest["contest_id"]))
    event = {"@context": _SCHEMA, "@type": "Event", "name": name, "description": capital(run.brand.contest)}
    event |= ({"endDate": date[2:]} if date[2:3].isdigit() else {}) | ({"url": address} if address else {})
    shown = _picture(links, links.card_of_contest(contest["contest_id"]))
    return Sharing(_cut(f"{name}{date}: {about}"), address, *shown, "article", data=event)


def _of_problem(run: Any, links: Links, problem: Mapping[str, Any]) -> Sharing:
    difficulty = problem["difficulty"]
    level = "" if difficulty is None else f"difficulty {run.format.rating(difficulty)}, "
    about = f"{short(problem['name'])}: {level}solved by {problem['solved']:,.6g} of {problem['counted']:,.6g}."
    address = links.absolute(links.lasting_problem(problem["problem"]))
    return Sharing(_cut(about), address, links.picture_of_run(), kind="article")


def _picture(links: Links, card: str) -> tuple[str, bool]:
    """The picture of a page, which is that of the run if it has no card, and whether it is a card."""
    return card or links.picture_of_run(), bool(card)


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
