"""HTML pages of a run from templates, for the static site and for the server.

Every text from outside is escaped twice over: control and direction characters become visible
(:func:`ranklake.flows.common.text.visible`), then HTML is escaped. No page has a script or a style inside, so that
the policy :data:`POLICY` holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

from ..common.brand import UNBRANDED, Brand
from ..common.extras import need
from ..common.text import capital, percent, visible, with_article
from ..results.places import rounded_down
from ..results.rating_format import RatingFormat
from .colours import title_class
from .files import static_digest
from .flags import flag
from .graph import history_graph
from .histogram import histogram_graph
from .links import Links, chance, day, short
from .places import place_text
from .rows import board_rows, game_rows, preview_rows, standing_rows
from .sharing import sharing

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "manifest-src 'self'; base-uri 'self'; form-action 'self'"
)


@dataclass(frozen=True, slots=True)
class RunFacts:
    """The run that a page is about; with its ``system`` and its ``dataset`` by name.

    ``last_time_seconds``: end of the last contest, UTC; 0 if unknown.
    ``attributes``: the attributes of the players, which make groups.
    ``components``: a line about players who never met; empty if there is one component, or if it is not known.
    ``places``: a line about the intervals of places and the provisional players; empty without both.
    ``n_provisional``: number of provisional players, who have no place.
    ``n_problems``: number of problems with difficulties; without any no page has a link to them.
    ``has_performance``: whether its system has performances; without them no page has a column of them.
    ``static``: whether the ratings explain all games at once: then no page draws them over time.
    ``brand``: how the run presents itself.
    ``names``, ``countries``: display name and country by handle, of the players who have one.
    """

    name: str
    system: str
    dataset: str
    n_players: int
    n_rounds: int
    last_time_seconds: int
    format: RatingFormat
    attributes: tuple[str, ...] = ()
    components: str = ""
    places: str = ""
    n_provisional: int = 0
    brand: Brand = UNBRANDED
    names: Mapping[str, str] = field(default_factory=dict)
    countries: Mapping[str, str] = field(default_factory=dict)
    has_performance: bool = True
    n_problems: int = 0
    static: bool = False

    @property
    def title(self) -> str:
        """The title of the pages."""
        return self.brand.title or self.name

    def name_of(self, handle: str) -> str:
        """The name that readers see of a player, or of any text in the place of a handle; shortened."""
        return short(self.names.get(handle, handle))

    @property
    def n_ranked(self) -> int:
        """Number of players with a place."""
        return self.n_players - self.n_provisional


class Templates:
    """The templates of this package; raises MissingExtraError: the package jinja2 is not installed."""

    @staticmethod
    @cache
    def shared() -> Templates:
        """The templates, compiled once in a process."""
        return Templates()

    def __init__(self) -> None:
        jinja2 = need("jinja2", "serve", "the pages of a run")
        self._markup = need("markupsafe", "serve", "the pages of a run").Markup
        self._environment = jinja2.Environment(
            autoescape=True,
            finalize=_finalize,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            loader=jinja2.FunctionLoader(_template),
        )
        self._environment.filters |= {"day": day, "count": _count, "short": short, "share": _share, "chance": chance}
        self._environment.filters |= {"percent": percent, "capital": capital, "with_article": with_article}
        self._environment.filters |= {"flag": flag, "percentage": _percentage, "place": place_text}
        self._environment.filters["verbatim"] = self._markup.escape
        self._environment.globals |= {"POLICY": POLICY, "ASSETS": static_digest()}

    def render(self, template: str, run: RunFacts, links: Links, /, **context: Any) -> str:
        """A page as HTML; the beginning of each template lists what it reads from ``context``."""
        form, markup = run.format, self._markup
        step = form.titles.step
        names = [*(short(title.name) for title in form.titles.ladder), ""]  # -1 is the last
        page: str = self._environment.get_template(f"{template}.html").render(
            here=template,
            run=run,
            links=links,
            rating=form.rating,
            change=form.change,
            tier=lambda rating: title_class(step(rating)),
            title_of=lambda rating: names[step(rating)],
            board_rows=lambda board, player="", titled=True, linked=True: markup(
                board_rows(board, form, links, player, run.names, titled, linked)
            ),
            standing_rows=lambda rows: markup(standing_rows(rows, form, links, run.names)),
            game_rows=lambda rows: markup(game_rows(rows, form, links, run.names)),
            preview_rows=lambda rows: markup(preview_rows(rows, form, links, run.names)),
            name_of=run.name_of,
            share=sharing(template, run, links, context),
            draw_history=lambda of: history_graph(
                of["players"], form, of["view"], of["span"], of["run"].get("seasons", ())
            ),
            draw_histogram=lambda bins, marks=(), log=False: histogram_graph(bins, form, marks, log),
            **context,
        )
        return page

    def plain(self, template: str, **context: Any) -> str:
        """A page about no run."""
        page: str = self._environment.get_template(f"{template}.html").render(**context)
        return page

    def picture(self, template: str, style: str, **context: Any) -> str:
        """A file of SVG with its own style sheet, which has no text from outside."""
        made: str = self._environment.get_template(f"{template}.svg").render(style=self._markup(style), **context)
        return made


def _count(value: int) -> str:
    return f"{value:,}"


def _share(value: float) -> str:
    """A share in percent, rounded down: 100 % would be everybody."""
    return f"{rounded_down(100.0 * value):.2f} %"


def _percentage(value: float | None) -> str:
    """A percentage, rounded down; a dash if there is none."""
    return "–" if value is None else f"{rounded_down(value):.2f} %"


def _finalize(value: Any) -> Any:
    """A value for a page; characters that would reorder or hide the text around them are escaped."""
    return visible(value) if type(value) is str else value


def _template(name: str) -> str:
    return resources.files(__package__).joinpath("templates", name).read_text("utf-8")
