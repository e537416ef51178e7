"""Pages from templates: every text from outside is escaped, and the policy of content allows all that they use."""

from __future__ import annotations

import dataclasses
import math
import re
import tomllib
from functools import partial
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from ranklake.flows.answers.contests import Winner
from ranklake.flows.answers.distribution import distribution
from ranklake.flows.pages import links as links_of_pages
from ranklake.flows.pages.colours import CONTRAST, DARK, LIGHT, blend, contrast, title_styles, with_contrast
from ranklake.flows.pages.files import package_files
from ranklake.flows.pages.graph import clamped, history_graph, longest_gap, whole_span
from ranklake.flows.pages.histogram import histogram_graph
from ranklake.flows.pages.links import Links, ServerLinks, SiteLinks, day, short
from ranklake.flows.pages.pictures import badge, graph
from ranklake.flows.pages.render import POLICY, RunFacts, Templates
from ranklake.flows.pages.rows import standing_rows
from ranklake.flows.pages.views import contests as contests_page
from ranklake.flows.pages.views import leaderboard as leaderboard_page
from ranklake.flows.pages.views.problems.lists import problem_rows
from ranklake.flows.pages.views.problems.one import problem as one_problem
from ranklake.flows.results.rating_format import RatingFormat
from ranklake.flows.results.titles import CODEFORCES, NONE, Title, Titles

HOSTILE = [
    "<script>alert(1)</script>",
    "\"'><img src=x onerror=alert(1)>",
    "' onmouseover='alert(1)",
    "javascript:alert(1)",
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "a\u202egnp.exe",
    "line\nbreak\rand\ttab\x00\x1b[31m",
    "\u2028\u2029\u200b\ufeff",
    "&lt;b&gt;&#0;",
    "x" * 10_000,
    "{{ 7 * 7 }}{% raw %}",
]
LINKS: list[Links] = [SiteLinks("contests/1.html", "v/000001/", "static/a/"), ServerLinks("", "run")]
SAFE_TAGS = {"ol",
    "html", "head", "base", "meta", "title", "link", "script", "body", "a", "header", "svg", "path", "span", "nav",
    "form", "input", "ul", "li", "main", "h1", "h2", "p", "dl", "div", "dt", "dd", "abbr", "figure", "figcaption",
    "g", "rect", "text", "circle", "table", "thead", "tbody", "tr", "th", "td", "small", "footer", "noscript",
    "label", "button", "textarea", "code", "b", "select", "option", "datalist", "sup", "section",
    "details", "summary", "img",
}  # fmt: skip


class Page(HTMLParser):
    """The tags, attributes and texts of a page."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def facts(name: str = "run", titles: Titles = CODEFORCES) -> RunFacts:
    return RunFacts(name, "elo-mmr", "games", 3, 2, 1_600_000_000, RatingFormat(titles, 0))


def player(handle: str, rating: float = 1500.0, **attributes: str) -> dict[str, Any]:
    return {"handle": handle, "place": 1, "rating": rating, "mu": 1600.0, "sigma": 100.0, "max_rating": 1500.0,
            "last_time_seconds": 1_600_000_000, "n_rounds": 2, "percentile": 50.0, "missing": None,
            "n_ranked": 5_000, "change": 30.0, "change_year": None, "inactive": False, "caution": "",
            "peak": {"rating": 1500.0, "contest_id": handle, "name": handle, "time_seconds": 1_500_000_000},
            "next_title": {"name": handle, "minimum": 1600.0, "points": 100.0}, "attributes": attributes}  # fmt: skip


def paged(page: int = 0, n_pages: int = 1) -> dict[str, Any]:
    """A page of a table of a player, or of a comparison."""
    return {"page": page, "n_pages": n_pages, "pages": lambda number: f"/ratings/run?page={number}"}


def history(handle: str, *columns: list[Any]) -> dict[str, Any]:
    """The history of a player: times, ratings, mu, sigma and performances."""
    return {"handle": handle, **dict(zip(("times", "rating", "mu", "sigma", "perf"), columns, strict=True))}


def graph_of(*players: dict[str, Any]) -> dict[str, Any]:
    """The graph of some players, whole, as the pages read it."""
    span = whole_span([time for one in players for time in one["times"]])
    return {"run": {}, "players": list(players), "view": "rating", "span": span, "views": {}, "period": ""}


def pages(name: str, links: Links, run: RunFacts | None = None) -> dict[str, str]:
    """Every page with a name from outside wherever there is one."""
    run, templates = run or facts(name), Templates.shared()
    series = history(name, [0, 86_400 * 900], [1400.0, 1500.0], [1500.0, 1600.0], [100.0, 90.0], [1450.0, None])
    played = {"contest_id": name, "name": name, "time_seconds": 1_600_000_000, "place": 1, "n_players": 2}
    rounds = [played | {"perf": None, "mu": 1600.0, "sigma": 100.0, "rating": 1500.0, "change": None,
                        "team": name}]  # fmt: skip
    board = {"place": [1], "handle": [name], "rating": [1500], "sigma": [100], "n_rounds": [2], "max_rating": [1500],
             "last_time_seconds": [0]}  # fmt: skip
    rows = {"place": [1, 2], "handle": [name, "b"], "perf": [None, 1500], "rating": [1500, 1400], "change": [None, -9]}
    about: dict[str, Any] = {
        "contest_id": name,
        "name": name,
        "url": name,
        "time_seconds": None,
        "n_players": 2,
        "n_rows": 2,
    }
    pair = {"handle": name, "against": name, "wins": 1, "losses": 0, "draws": 1, "chance": 0.5,
            "difference": 9.0, "deviation": 90.0, "skill_chance": 0.54,
            "win": 0.4, "draw": 0.2, "loss": 0.4}  # fmt: skip
    bins = distribution(np.array([1400.0, 1500.0]))
    titles = [{"name": name, "minimum": None, "class": "t t0", "n": 2, "below": 0.0}]
    listed = [
        {"name": name, "time_seconds": 0, "n_players": 2, "address": links.contest(name), "winner": winner}
        for winner in (Winner((name,), None, 2), Winner((name,), name, 1), None)
    ]
    contests = {
        "years": [(1970, 2, links.contests(0), True), (1969, 1, links.contests(1), False)],
        "sections": [(1970, listed)], "page": 0, "n_pages": 2, "pages": links.contests, "total": 3,
        "form": {"q": name, "year": 1970} if isinstance(links, ServerLinks) else None, "games": False,
    }  # fmt: skip
    form = {"handle": name, "handle2": name, "active": "1y", "year": 1970, "spans": [("1y", "a year")], "years": [1970]}
    shown = {
        "bins": bins, "titles": titles, "marks": [player(name)] * 2, "log": True,
        "notes": [{"text": name, "near": [name], "year": None}, {"text": name, "near": [], "year": 1970}],
        "form": form if isinstance(links, ServerLinks) else None,
        "title_link": (lambda title: links.leaderboard(0, title=title)) if isinstance(links, ServerLinks) else None,
    }  # fmt: skip
    games = {"games": 20, "nu": 0.7, "advantage": 30.0, "advantage_error": 9.0}
    both = {"players": [player(name)] * 2, "pairs": [pair], "apart": name, "history": graph_of(series, series),
            "asked": name, "unknown": [{"requested": name, "near": [name]}]}  # fmt: skip
    cell = {"chance": 0.6, "wins": 1, "losses": 0, "draws": 1}
    common = played | {"cells": [{"place": 1, "change": -3.0}, {"score": "½", "change": None}]}
    both |= {"matrix": [[None, cell], [cell, None]], "contests": [common], "total": 300, **paged(1, 3)}
    both["without"] = {name: links.page("compare")}
    one = {"player": player(name, **{name: name}), "rounds": rounds, "history": graph_of(series), **paged(1, 3)}
    changes = {
        "place": [1, None], "handle": [name, "b"], "perf": [1500.0, None], "rating_before": [1400.0, 1300.0],
        "rating": [1500.0, None], "change": [100.0, None], "expected_place": [1.2, None], "next_title": [name, None],
        "next_title_place": [1, None], "next_title_chance": [0.5, None],
    }  # fmt: skip
    teams, beside = (
        {"team": [name, None]},
        {"steps": ((name, links.contest(name)), None), "address": lambda number, q="": links.contest(name)},
    )
    counts = dict.fromkeys(("n_pages", "n_found", "n_all", "n_rows"), 2)
    form = {"standings": "a\nb", "entrants": "", "teams": True, "rows": changes, "error": name, "notes": [name],
            "q": name, "page": 1, "first": 0, "result": "0", "long": True, "address": beside["address"],
            **counts}  # fmt: skip
    server = {}
    if isinstance(links, ServerLinks):
        error = {"title": "Not found", "detail": name, "near": [(name, links.player(name))]}
        server = {
            "preview": templates.render("preview", run, links, **form),
            "preview of teams": templates.render("preview", run, links, **form | {"rows": changes | teams}),
            "error": templates.render("error", run, links, within=True, **error),
        }
    some: dict[str, Any] = {}
    if isinstance(links, ServerLinks):
        some = {"chosen": {"group": name, "active": "1y"}, "choices": {"groups": [name], "active": [("1y", "a year")]}}
    group = {"place": 1, "value": name, "rating": 1500.0, "n_players": 2, "best": name, "best_rating": 1500.0}
    section = {"name": name, "n": 2, "rows": [group | {"address": links.group(name, name)}]}
    board |= {"country": [name], "place_high": [1], "place_low": [2], "missing": ["2 more rounds"]}
    page = leaderboard_page.board(board, page=0, n_pages=2, total=2, heading=name, **some)
    of_problems = problem_pages(name, templates, run, links)
    return server | of_problems | {
        "leaderboard": templates.render("leaderboard", run, links, **page),
        "groups": templates.render("groups", run, links, sections=[section]),
        "player": templates.render("player", run, links, **one),
        "compare": templates.render("compare", run, links, **both, skills=True, games=games),
        "contests": templates.render("contests", run, links, **contests),
        "contest": templates.render("contest", run, links, **contests_page.standings(about, rows, 2, **beside)),
        "contest of teams": templates.render("contest", run, links, **contests_page.standings(
            about, rows | teams, 2, q=name[:1], data=links.static("rows.json"), **beside)),
        "distribution": templates.render("distribution", run, links, **shown),
    }  # fmt: skip


def problem_pages(name: str, templates: Templates, run: RunFacts, links: Links) -> dict[str, str]:
    """The pages of problems, on the server and on the site."""
    bands = [{"low": 1500.0, "high": 1600.0, "counted": 9.0, "solved": 3.0, "share": 1 / 3}]
    found = {
        "problem": name, "name": f"{name} ", "contest": name, "contests": 1, "difficulty": 1700.0, "deviation": 50.0,
        "counted": 9.0, "solved": 3.0, "share": 1 / 3, "bound": "above", "rating_80": 1940.8, "first_solved": 60.0,
        "first_solver": name, "url": name, "tags": [name], "scale": 400.0, "bands": bands, "contest_ids": [name],
    }  # fmt: skip
    rows = problem_rows([found | {"chance": 0.8, "unsolved": False}], links.problem, {name: name})
    of_list = {"rows": rows, "total": 1, "all": 2, "page": 1, "n_pages": 3, "pages": links.problems}
    form = dict.fromkeys(("contest", "tag", "q", "order", "min", "max"), name)
    further = {"form": form, "orders": [], "tags": [name], "tagged": True, "contest_name": name, "chosen": form}
    made = {"problems": templates.render("problems", run, links, **of_list, **further)}
    contests = [(name, links.contest(name), 0)]
    run, beside = dataclasses.replace(run, n_problems=2), {"place": [1], "handle": [name], "rating": [1], "change": [9]}
    about = {"contest_id": name, "name": name, "url": name, "time_seconds": None, "n_players": 1}
    address = lambda number, q="": links.contest(name)  # noqa: E731
    shown = contests_page.standings(about, beside, 1, problems=rows, address=address)
    made["contest with problems"] = templates.render("contest", run, links, **shown)
    made["problem"] = templates.render("problem", run, links, **one_problem(found, contests, run.format))
    if isinstance(links, ServerLinks):
        pages = partial(links.player_problems, name, chance="0.8")
        own = {"handle": name, "form": {"chance": name, "width": name, "unsolved": True}, "chance": 0.8, "width": 0.05}
        made["player_problems"] = templates.render("player_problems", run, links, **of_list | own | {"pages": pages})
    return made


@pytest.mark.quick("*-0", "*-1", "*-2", "*-3")
@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize("links", LINKS, ids=["site", "server"])
def test_pages__no_name_becomes_markup_or_an_address(name: str, links: Links) -> None:
    for html in pages(name, links).values():
        assert not re.search(r"[\x00-\x09\x0b-\x1f\u200b-\u200f\u2028-\u202e\ufeff]", html)
        page = Page(html)
        assert {tag for tag, _ in page.tags} <= SAFE_TAGS
        for tag, attributes in page.tags:
            assert not any(key.startswith("on") or key == "style" for key in attributes)
            assert not (attributes.get("href") or "").strip().lower().startswith(("javascript", "data", "//"))
            assert tag != "script" or attributes.get("type") in ("module", "application/json", "application/ld+json")
        assert html.count("<script") == sum(tag == "script" for tag, _ in page.tags)


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_pages__of_no_run_show_names_as_texts(name: str) -> None:
    templates, links = Templates.shared(), ServerLinks("", name)
    error = {"title": "Not found", "detail": name, "near": [(name, links.home)], "within": False}
    last = {"name": name, "time_seconds": 0, "address": links.contest(name), "winner": Winner((name,), name, 2)}
    cards = [
        {"run": facts(name), "links": links, "leaders": [{"handle": name, "rating": 1500.0}], "active": "a year",
         "last": contest}
        for contest in (last, last | {"winner": Winner((name,), None, 3)}, None)
    ]  # fmt: skip
    for template, context in (("error", error), ("runs", {"cards": cards})):
        page = Page(html := templates.plain(template, root="", **context))
        assert not re.search(r"[\x00-\x09\x0b-\x1f\u200b-\u200f\u2028-\u202e\ufeff]", html)
        assert {tag for tag, _ in page.tags} <= SAFE_TAGS
        assert all((found["href"] or "").startswith(("/", "#")) for tag, found in page.tags if tag == "a")


@pytest.mark.quick("0", "1", "2")
@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_titles__of_any_name_are_texts(name: str) -> None:
    titles = Titles("mine", (Title(name, -math.inf, "#123456"), Title("high", 1450.0, "#fedcba")))
    for links in LINKS:
        for html in pages("ada", links, facts(titles=titles)).values():
            assert {tag for tag, _ in Page(html).tags} <= SAFE_TAGS
            assert "x" * 200 not in html


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_pictures__of_any_name_are_wellformed_and_have_no_markup_of_it(name: str) -> None:
    series = history(name, [0, 86_400], [1400.0, 1500.0], [1500.0, 1600.0], [100.0, 90.0], [1450.0, None])
    titles = Titles("mine", (Title(name[:100].strip() or "x", -math.inf, "#123456"),))
    for text in (graph(graph_of(series), facts(name, titles)), badge(name, 1500.0, facts(name, titles))):
        picture = ElementTree.fromstring(text)
        assert {one.tag.rpartition("}")[2] for one in picture.iter()} <= SAFE_TAGS | {"style"}
        assert not any(key.startswith("on") for one in picture.iter() for key in one.attrib)
        assert len(text) < 20_000


@pytest.mark.parametrize("links", LINKS, ids=["site", "server"])
def test_pages__show_the_interval_of_a_place_and_mark_provisional_ratings(links: Links) -> None:
    places = "(9-17) are the places"
    run = dataclasses.replace(facts(), n_players=1_300, places=places, n_provisional=100)
    board = {"place": [12, None], "handle": ["ada", "bob"], "rating": [1500, 1400], "sigma": [50, 300],
             "n_rounds": [9, 3], "max_rating": [1500, 1400], "last_time_seconds": [0, 0], "place_high": [9, None],
             "place_low": [1_700, None], "missing": [None, "2 more rounds"], "mu": [1550, 1600],
             "recent": [[1490, 1500], [1400]]}  # fmt: skip

    def text(template: str, **context: Any) -> str:
        return " ".join("".join(Page(Templates.shared().render(template, run, links, **context)).texts).split())

    shown = text("leaderboard", **leaderboard_page.board(board, heading="FI", total=2))
    assert places in shown
    assert "12 (9-1700)adaspecialist1500+101550 ± 509" in shown
    assert "–bobspecialist1400?–1600 ± 3003" in shown
    shown = text("leaderboard", **leaderboard_page.board(board | {"of_all": [12, None], "place": [3, None]}, total=2))
    assert "3adaspecialist1500" in shown
    assert "150012 (9-1700)" in shown.replace("–", "")
    assert "among all 1,200 ranked players" in shown
    html = Templates.shared().render("leaderboard", run, links, **leaderboard_page.board(board))
    assert html.count('<abbr title="provisional: 2 more rounds">?</abbr>') == html.count("provisional") == 1
    graph = history("ada", [0], [1400.0], [1500.0], [100.0], [None])
    ranked = player("ada") | {"place": 1_200, "place_high": 9, "place_low": 1_700}
    provisional = player("bob") | {"place": None, "percentile": None, "missing": "2 more rounds"}
    pages = [text("player", player=one, rounds=[], history=graph_of(graph), **paged()) for one in (ranked, provisional)]
    assert "Rating1500 Last change+30 2020-09-13 In a year– no rating before Place1,200 (9-1,700) of 5,000 " in pages[0]
    assert "Better than50.00 % of the others Highest1500 2017-07-14 Next title100 to ada" in pages[0]
    assert "Rating1500? provisional: 2 more rounds" in pages[1]
    assert "Place– Better than–" in pages[1]
    both = text(
        "compare",
        players=[ranked, provisional],
        without={"ada": "", "bob": ""},
        matrix=[],
        contests=[],
        total=0,
        **paged(),
        pairs=[],
        apart="",
        skills=False,
        games=None,
        history=graph_of(graph),
        asked="",
        unknown=[],
    )
    assert "ada1,200 (9-1,700)1500" in both
    assert "bob–1500?" in both


def test_badge__texts_have_contrast() -> None:
    for title in CODEFORCES.ladder:
        text = badge("ada", max(title.minimum, 0.0), facts())
        (colour,) = re.findall(r'<path [^>]*fill="(#[0-9a-f]{6})"', text)
        assert contrast(colour, "#ffffff") >= CONTRAST
    assert contrast("#3d434d", "#ffffff") >= CONTRAST


def test_policy__forbids_scripts_in_pages_and_other_hosts() -> None:
    assert "unsafe" not in POLICY
    assert POLICY.startswith("default-src 'none'; script-src 'self'; style-src 'self';")


def test_pages__use_nothing_that_their_policy_forbids() -> None:
    for name, html in pages("ada", LINKS[0]).items():
        page = Page(html)
        assert [found["content"] for _, found in page.tags if "http-equiv" in found] == [POLICY]
        for tag, attributes in page.tags:
            if tag == "script" and attributes.get("type") == "module":
                assert attributes["src"] in {f"static/a/{file}" for file in package_files("static")}
            for key in ("href", "src", "action"):
                assert "://" not in (attributes.get(key) or ""), name
        assert "<style" not in html


def test_pages__are_relative_to_the_page_or_below_the_root_of_the_server() -> None:
    for html in pages("ada", ServerLinks("/ratings", "run")).values():
        addresses = [
            attributes[key] or ""
            for _, attributes in Page(html).tags
            for key in ("href", "src", "action")
            if key in attributes
        ]
        assert all(address.startswith(("/ratings/", "#")) or address == "ada" for address in addresses)


def test_rows__of_a_system_without_performances_have_no_column_of_them() -> None:
    rows = {"place": [1, 2], "handle": ["ada", "bob"], "rating": [1500, 1400], "change": [None, -9], "team": ["x", "x"]}
    form = RatingFormat(NONE, 0)
    with_some, without = (standing_rows(one, form, LINKS[0]) for one in (rows | {"perf": [1600, 1300]}, rows))
    assert [text.count("<td>") for text in (with_some, without)] == [13, 11]
    assert [re.findall("colspan=(.)", text) for text in (with_some, without)] == [["5"], ["4"]]


def test_contest__links_only_to_web_addresses() -> None:
    templates, rows = Templates.shared(), {name: [] for name in ("place", "handle", "perf", "rating", "change")}
    for url, linked in (("https://a.example/1", True), ("javascript:alert(1)", False), (None, False)):
        about = {"contest_id": "1", "name": "One", "url": url, "time_seconds": 0, "n_players": 0}
        html = templates.render("contest", facts(), LINKS[0], **contests_page.standings(about, rows, 0))
        assert ("contest page" in html) is linked


@pytest.mark.bound("ranklake.flows.pages.links.LONGEST_NAME")
def test_short__cuts_long_names_and_shows_controls() -> None:
    assert short("ada") == "ada"
    assert len(short("x" * 10_000)) == len(short("\u202e" * 10_000)) == 80
    assert short("a\u202eb") == r"a\u202eb"


def test_day__is_a_date_or_a_dash() -> None:
    assert links_of_pages._day.cache_parameters()["maxsize"] == links_of_pages.MOST_DAYS
    assert [day(value) for value in (None, 0, 1_600_000_000, -86_400, 10**15)] == [
        "–", "–", "2020-09-13", "1969-12-31", "–"]  # fmt: skip


@pytest.mark.parametrize("background", [LIGHT, DARK])
@pytest.mark.parametrize("colour", [*(title.colour for title in CODEFORCES.ladder), "#ffff00", "#000000", "#ffffff"])
def test_title_colours__have_the_contrast_of_text(colour: str, background: str) -> None:
    assert contrast(with_contrast(colour, background), background) >= CONTRAST


def test_contrast__is_that_of_the_guidelines() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)  # a known example


def test_styles__have_both_backgrounds() -> None:
    css = package_files("static")["site.css"].decode()
    assert f"--surface:{LIGHT}" in css
    assert f"--surface:{DARK}" in css
    assert title_styles(NONE).count("{") == 1


def test_graph__has_bands_and_both_edges_of_the_belief() -> None:
    series = history("ada", [0, 10**8], [1500.0, 1700.0], [1600.0, 1700.0], [50.0, 20.0], [1900.0, math.nan])
    graph = history_graph([series], RatingFormat(CODEFORCES, 0))
    assert [band["name"] for band in graph["bands"]] == ["specialist", "expert", "candidate master"]
    assert graph["belief"].count("L") == 3
    assert len(graph["dots"]) == 1
    assert [text["text"] for text in graph["along"]] == ["1970-07", "1971", "1971-07", "1972", "1972-07", "1973"]
    assert all(graph["top"] <= y <= graph["bottom"] for _, y in graph["points"])
    assert history_graph([series], RatingFormat(NONE, 0))["bands"] == []


def test_graph__of_a_system_without_an_uncertainty_has_no_belief() -> None:
    series = history("ada", [0, 10**7], *[[1500.0, 1700.0]] * 2, [0.0, 0.0], [None, None])
    graph = history_graph([series], RatingFormat(NONE, 0))
    assert (graph["belief"], [sign["class"] for sign in graph["legend"]]) == ("", ["line"])


def test_graph__of_ratings_keeps_its_scale_beside_far_performances() -> None:
    """A member of a team of fifty can show any number: its dot is at the edge."""
    times, beliefs = [0, 10**8], ([1500.0, 1700.0], [1600.0, 1700.0], [50.0, 20.0])
    near, far = (history_graph([history("ada", times, *beliefs, [p, -p])], RatingFormat(NONE, 0)) for p in (3e3, 3e9))
    assert [dot[1] for dot in far["dots"]] == pytest.approx([far["top"], far["bottom"]], abs=25)
    assert far["points"][0][1] - far["points"][1][1] > 0.8 * (near["points"][0][1] - near["points"][1][1]) > 8


def test_graph__names_the_bands_that_have_room() -> None:
    narrow = Titles(
        "narrow", (Title("wide", -math.inf, "#123456"), *(Title(f"{i}", 1500.0 + i, "#fedcba") for i in range(9)))
    )
    series = history("ada", [0, 10**8], [1400.0, 1700.0], [1400.0, 1700.0], [50.0, 20.0], [None, None])
    bands = history_graph([series], RatingFormat(narrow, 0))["bands"]
    assert [band["name"] for band in bands if band["named"]] == ["wide", "8"]


def test_graph__begins_of_months_are_marked_in_a_short_history() -> None:
    times = [1_577_836_800 + 86_400 * day for day in (10, 200)]  # of 2020
    series = history("ada", times, [1500.0, 1700.0], [1600.0, 1700.0], [50.0, 20.0], [None, None])
    texts = [mark["text"] for mark in history_graph([series], RatingFormat(NONE, 0))["along"]]
    assert texts == [f"2020-{month:02}" for month in range(2, 8)]


def test_graph__dashes_gaps_longer_than_a_year_and_four_usual_ones() -> None:
    day, year = 86_400, 366 * 86_400
    monthly = [30 * day * i for i in range(6)]
    assert longest_gap(monthly) == pytest.approx(365.25 * day)
    assert longest_gap([year * i for i in range(6)]) == 4 * year
    times = [*monthly, monthly[-1] + year, monthly[-1] + year + day]
    series = history("ada", times, *([1500.0 + i for i in range(8)],) * 2, [50.0] * 8, [None] * 8)
    graph = history_graph([series], RatingFormat(NONE, 0))
    assert graph["pauses"][0].count("M") == graph["pauses"][0].count("L") == 1
    assert graph["lines"][0].count("M") == 2
    assert [entry["text"] for entry in graph["legend"]] == ["rating", "μ ± 2σ", "pause"]


def test_graph__marks_seasons_and_breaks_lines_at_resets() -> None:
    day = 86_400
    times = [10 * day * i for i in range(1, 7)]
    series = history("ada", times, [1500.0 + i for i in range(6)], [1500.0] * 6, [50.0] * 6, [1500.0] * 6)
    begins = (5 * day, "before", True), (times[1], "a", False), (times[2], "<b>", True), (times[4] + 1, "c", True)
    seasons = [dict(zip(("time", "name", "reset"), one, strict=True)) for one in begins]
    plain = history_graph([series], RatingFormat(NONE, 0))
    graph = history_graph([series], RatingFormat(NONE, 0), seasons=seasons)
    assert (plain["seasons"], plain["lines"][0].count("M")) == ([], 1)
    assert [mark["name"] for mark in graph["seasons"]] == ["a", "<b>", "c"]  # the first one is before the span
    assert [mark["x"] for mark in graph["seasons"][:2]] == [graph["points"][1][0], graph["points"][2][0]]
    # rounds 0 and 1; 2, 3 and 4; 5 alone, whose belief is a short piece
    assert [part.count("L") for part in graph["lines"][0].split("M")[1:]] == [1, 2]
    assert graph["belief"].count("Z") == 3
    assert len(graph["points"]) == 6
    assert history_graph([series, series], RatingFormat(NONE, 0), seasons=seasons)["labels"][0]["end"][0] == max(
        x for x, _ in history_graph([series], RatingFormat(NONE, 0))["points"]
    ) - (plain["right"] - history_graph([series, series], RatingFormat(NONE, 0))["right"])
    page = Templates.shared().picture("embedded", "", label="", heading="", graph=graph)
    assert "<b>" not in page
    assert "&lt;b&gt;" in page


def test_graph__flags_the_peak_of_all_rounds_where_it_is_shown() -> None:
    times = [1_577_836_800 + 86_400 * 100 * i for i in range(4)]
    series = history("ada", times, [1500.0, 1900.0, 1900.0, 1600.0], [1600.0] * 4, [50.0] * 4, [None] * 4)
    whole = history_graph([series], RatingFormat(NONE, 0))
    assert whole["peak"]["text"] == "1900 · 2020-04-10"
    assert whole["peak"]["y"] - whole["top"] >= 30
    later = history_graph([series], RatingFormat(NONE, 0), span=(times[2], times[3]))
    assert later["peak"] is None
    assert later["mean"] != ""  # mu is not the rating
    assert "1900 on 2020-04-10" in later["label"]


def test_graph__of_a_span_has_lines_to_its_edges() -> None:
    series = history("ada", [0, 10**8], [1500.0, 1700.0], [1600.0, 1700.0], [50.0, 20.0], [None, None])
    graph = history_graph([series], RatingFormat(NONE, 0), span=(4 * 10**7, 6 * 10**7))
    assert graph["points"] == []
    assert (graph["lines"][0] + graph["pauses"][0]).count("L") == 1
    assert clamped((-5, 5), (0, 10**9)) == (0, 7 * 86_400)
    assert clamped((0, 10**12), (0, 10**9)) == (0, 10**9)


def test_graph__labels_of_many_players_stay_apart() -> None:
    players = [history(f"{i}", [0, 10**8], [1500.0, 1700.0], [0.0] * 2, [0.0] * 2, [None] * 2) for i in range(20)]
    graph = history_graph(players, RatingFormat(NONE, 0))
    heights = [label["y"] for label in graph["labels"]]
    assert min(b - a for a, b in pairwise(heights)) >= 14.9
    assert graph["top"] <= heights[0] < heights[-1] <= graph["bottom"]


@pytest.mark.parametrize("background", [LIGHT, DARK])
def test_bands__leave_contrast_to_names_and_lines(background: str) -> None:
    text, line = ("#1a1e24", "#1f5fbf") if background == LIGHT else ("#e7eaef", "#86b4ff")
    colours = [*(title.colour for title in CODEFORCES.ladder), *("#ffff00", "#000000", "#ffffff") * 3]
    ladder = tuple(Title(str(i), 100.0 * i, colour) for i, colour in enumerate([c for c in colours for _ in range(6)]))
    for rule in re.findall(r"--band:(#\w+);--depth:([\d.]+)", title_styles(Titles("many", ladder))):
        band = blend(rule[0], background, float(rule[1]))
        assert contrast(text, band) >= CONTRAST
        assert contrast(line, band) >= 3  # of graphics


def test_styles__of_neighbours_with_one_colour_differ() -> None:
    styles = title_styles(CODEFORCES).partition("@media")[0].splitlines()
    assert len({line.partition("--band")[2] for line in styles}) == len(CODEFORCES.ladder)


def test_format__changes_are_differences_of_the_shown_ratings() -> None:
    form = RatingFormat(CODEFORCES, 0)
    rows = {"place": [1], "handle": ["ada"], "perf": [1e50], "rating": [1501.6], "change": [1.2]}
    about = {"contest_id": "1", "name": "One", "url": None, "time_seconds": 0}
    html = Templates.shared().render("contest", facts(), LINKS[0], **contests_page.standings(about, rows, 1))
    assert "<td>1e+50<td>1500<td>1502<td><span class=up>+2</span>" in html
    assert (form.rating(-2.5e12), form.change(2.5e12), form.difference(1500.4, 1501.6)) == ("-2.5e+12", "+2.5e+12", 2)


def test_graph__of_one_round_and_of_none_is_drawn() -> None:
    one = history("ada", [0], [1500.0], [1500.0], [0.0], [None])
    none = history("bob", [], [], [], [], [])
    for series in ([one], [none], [one, none]):
        assert "NaN" not in str(history_graph(series, RatingFormat(CODEFORCES, 0)))


def test_histogram__has_a_bar_for_every_bin() -> None:
    bins = distribution(np.random.default_rng(7).normal(1500, 300, 5_000))
    graph = histogram_graph(bins, RatingFormat(NONE, 0))
    assert len(graph["bars"]) == len(bins.counts)
    assert [tick["text"] for tick in graph["ticks"]] == [str(value) for value in range(400, 2601, 200)]
    assert [level["text"] for level in graph["levels"]] == ["100", "200", "300"]
    log = histogram_graph(bins, RatingFormat(NONE, 0), log=True)
    assert [level["text"] for level in log["levels"]] == ["1", "10", "100"]
    assert log["levels"][0]["y"] < log["base"]


def test_titles__of_a_file_colour_the_pages() -> None:
    titles = Titles("mine", (Title("low", -math.inf, "#123456"), Title("high", 1450.0, "#fedcba")))
    html = pages("ada", LINKS[0], facts(titles=titles))["leaderboard"]
    assert "<tbody class=t1><tr><td>1 <small>(1-2)</small><td>" in html


def test_package__has_its_templates_and_static_files() -> None:
    root = Path(__file__).parents[3]
    setup = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]
    folder = root / "flows" / "pages"
    installed = {file for pattern in setup["package-data"]["ranklake.flows.pages"] for file in folder.glob(pattern)}
    assert installed == {file for name in ("templates", "static") for file in (folder / name).iterdir()}
    assert {"site.css", "graph.js", "base.html"} <= {file.name for file in installed}


def test_scripts__import_what_others_export() -> None:
    files = {name: data.decode() for name, data in package_files("static").items() if name.endswith(".js")}
    exported = {
        name: set(re.findall(r"^export (?:async )?(?:function\*? |const |let |class )(\w+)", text, re.M))
        | {
            one.rpartition(":")[2].strip()
            for some in re.findall(r"^export (?:const )?{([^}]*)}", text, re.M)
            for one in some.split(",")
        }
        for name, text in files.items()
    }
    for name, text in files.items():
        for some, source in re.findall(r'^import {([^}]*)} from "\./([^"]*)";', text, re.M):
            wanted = {one.partition(" as ")[0].strip() for one in some.split(",")}
            assert wanted <= exported[source], f"{name} imports from {source}"
