"""Cards: pictures of a player and of a contest, PNG, that other sites show beside a link. Drawn without a browser.

The fonts are those of the machine: DejaVu, which matplotlib brings, else Noto and other installed ones, else the Latin
one of Pillow. A name that no font has is replaced by the handle; characters of a handle that none has are escaped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from ..common.extras import need
from ..common.text import capital, visible
from .colours import LIGHT, with_contrast
from .links import day, short
from .render import RunFacts

if TYPE_CHECKING:
    from PIL.ImageFont import FreeTypeFont

WIDTH, HEIGHT = 1200, 630  # pixels, as other sites show them in full
FIRST_ROWS = 3  # of a contest on its card
_PAGE, _TEXT, _SOFT, _LINE, _ACCENT = "#ffffff", "#1a1e24", "#5a6270", "#dfe2e7", "#1f5fbf"
_UP, _DOWN = "#16703c", "#b3261e"
_LEFT, _RIGHT, _STRIP = 72, WIDTH - 72, 16
_TOP, _BOTTOM = 372, 578  # of the curve
_N_POINTS = 528  # of the curve: one for two pixels
_LEVEL, _COLOURS = 6, 64  # of the compression
_FONTS = {  # by weight, in order of preference
    True: ("DejaVuSans-Bold.ttf", "NotoSans-Bold.ttf", "NotoSansCJK-Bold.ttc", "unifont.otf"),
    False: ("DejaVuSans.ttf", "NotoSans-Regular.ttf", "NotoSansCJK-Regular.ttc", "DroidSansFallbackFull.ttf",
            "unifont.otf"),
}  # fmt: skip
_TEXTS_KEPT, _FONTS_KEPT, _GLYPHS_KEPT = 4096, 256, 1 << 15  # in memory
_NO_GLYPH = "\uffff"  # drawn as the glyph of missing characters


@dataclass(frozen=True, slots=True)
class PlayerCard:
    """A player as a card shows them: the ratings are those after each round, oldest first."""

    handle: str
    rating: float
    max_rating: float
    place: int | None
    provisional: bool
    ratings: Sequence[float]


@dataclass(frozen=True, slots=True)
class ContestCard:
    """A contest as a card shows it.

    ``first``: place, handle, rating and change (None for newcomers) of each row. ``n_games``: of a period of games.
    """

    name: str
    time_seconds: int
    n_players: int
    first: Sequence[tuple[int | None, str, float | None, float | None]]
    n_games: int | None = None


def player_card(player: PlayerCard, run: RunFacts) -> bytes:
    """The card of a player as a file: name, rating, title, place, and the curve of the ratings.

    Raises ``MissingExtraError``: the package pillow is not installed.
    """
    card, colour = _Card(run), _colour(run, player.rating)
    card.strip(colour)
    card.name(_drawable(run.name_of(player.handle), short(player.handle)), 148)
    step, ladder = run.format.titles.step(player.rating), run.format.titles.ladder
    right = card.text((_LEFT, 324), run.format.rating(player.rating) + "?" * player.provisional, 84, colour, bold=True)
    if step >= 0:
        card.text((right + 28, 324), capital(short(ladder[step].name)), 36, colour, most=_RIGHT - right - 28)
    place = "provisional, without a place" if player.place is None else f"place {player.place:,} of {run.n_ranked:,}"
    highest = f"highest {run.format.rating(player.max_rating)}"
    handle = [] if run.name_of(player.handle) == short(player.handle) else [_drawable(short(player.handle))]
    country = [short(run.countries[player.handle])] if player.handle in run.countries else []
    card.text((_LEFT, 206), " · ".join([*handle, *country, place, highest]), 30, _SOFT, most=_RIGHT - _LEFT)
    card.curve(player.ratings, colour)
    return card.png()


def contest_card(contest: ContestCard, run: RunFacts) -> bytes:
    """The card of a contest as a file: name, date, number of participants and the first three. Raises as above."""
    card = _Card(run)
    card.strip(_ACCENT)
    card.name(_drawable(short(contest.name)), 148)
    date = [day(contest.time_seconds)] if contest.time_seconds else []
    counts = run.brand.count_in_contest(contest.n_players, contest.n_games)
    card.text((_LEFT, 206), " · ".join([*date, counts]), 30, _SOFT)
    for row, (place, handle, rating, change) in enumerate(contest.first[:FIRST_ROWS]):
        y, colour = 300 + row * 104, _SOFT if rating is None else _colour(run, rating)
        card.rule(y - 56)
        card.text((_LEFT, y + 16), "–" if place is None else str(place), 44, _SOFT, bold=True, most=110)
        card.text((_LEFT + 120, y + 16), _drawable(run.name_of(handle), short(handle)), 44, colour, bold=True, most=560)
        if rating is not None:
            card.text((_RIGHT - 150, y + 16), run.format.rating(rating), 40, colour, anchor="rs")
            shown = "new" if change is None else run.format.change(change)
            card.text((_RIGHT, y + 16), shown, 36, _SOFT if not change else _UP if change > 0 else _DOWN, anchor="rs")
    return card.png()


class _Card:
    """A picture with the title of the run; texts are placed by their baseline."""

    def __init__(self, run: RunFacts) -> None:
        need("PIL", "serve", "cards of players and contests")
        from PIL import Image, ImageDraw

        self._image = Image.new("RGB", (WIDTH, HEIGHT), _PAGE)
        self._draw = ImageDraw.Draw(self._image)
        self.text((_LEFT, 62), _drawable(short(run.title)), 28, _SOFT, bold=True, most=_RIGHT - _LEFT)

    def strip(self, colour: str) -> None:
        self._draw.rectangle((0, 0, _STRIP, HEIGHT), fill=colour)

    def rule(self, y: int) -> None:
        self._draw.line((_LEFT, y, _RIGHT, y), fill=_LINE, width=2)

    def name(self, text: str, baseline: int) -> None:
        """A name as large as it fits; a longer one is cut."""
        sizes = (72, 60, 48, 38)
        size = next((size for size in sizes if _font(text, size, True).getlength(text) <= _RIGHT - _LEFT), sizes[-1])
        self.text((_LEFT, baseline), text, size, _TEXT, bold=True, most=_RIGHT - _LEFT)

    def text(
        self, at: tuple[float, float], text: str, size: int, colour: str, *, bold: bool = False, most: float = WIDTH,
        anchor: str = "ls",
    ) -> float:  # fmt: skip
        """Draw a text of at most ``most`` pixels, a longer one with an ellipsis; returns where it ends."""
        font = _font(text, size, bold)
        while font.getlength(text) > most and len(text) > 1:
            text = text[: max(1, min(len(text) - 2, int(len(text) * most / font.getlength(text))))].rstrip() + "…"
        self._draw.text(at, text, colour, font, anchor)
        return at[0] + font.getlength(text)

    def curve(self, ratings: Sequence[float], colour: str) -> None:
        """The ratings from round to round, with the last one as a dot."""
        from PIL import Image, ImageDraw

        step = max(1, -(-len(ratings) // _N_POINTS))
        shown = [*ratings[:-1:step], ratings[-1]] if len(ratings) else []
        if len(shown) < 2:
            return
        low, high = min(shown), max(shown)
        width, height = _RIGHT - _LEFT, _BOTTOM - _TOP
        across, up = width / (len(shown) - 1), (height - 16) / ((high - low) or 1.0)
        points = [(2 * i * across, 2 * (height - 8 - (value - low) * up)) for i, value in enumerate(shown)]
        mask = Image.new("L", (2 * width + 32, 2 * height), 0)  # at twice the size, for smooth edges
        draw = ImageDraw.Draw(mask)
        draw.polygon([*points, (points[-1][0], 2 * height), (0, 2 * height)], fill=28)
        draw.line(points, fill=255, width=9, joint="curve")
        x, y = points[-1]
        draw.ellipse((x - 15, y - 15, x + 15, y + 15), fill=255)
        small = mask.reduce(2)
        self._image.paste(colour, (_LEFT, _TOP), small)

    def png(self) -> bytes:
        from PIL.Image import Dither, Quantize

        sink = BytesIO()
        few = self._image.quantize(_COLOURS, Quantize.FASTOCTREE, dither=Dither.NONE)  # half the time, half the size
        few.save(sink, "PNG", compress_level=_LEVEL)
        return sink.getvalue()


def _colour(run: RunFacts, rating: float) -> str:
    """The colour of a rating: that of its title, with the contrast of text."""
    step = run.format.titles.step(rating)
    return with_contrast(run.format.titles.ladder[step].colour, LIGHT) if step >= 0 else _ACCENT


def _drawable(text: str, other: str = "") -> str:
    """A text that a font has in full, else the ``other`` one; missing characters of the last are escaped."""
    for one in (text, other):
        if one and _font_of(one, False) is not None:
            return one
    last, known = other or text, _Glyphs()
    return visible(last, known)


class _Glyphs:
    """The characters of the first font."""

    def __contains__(self, character: object) -> bool:
        return isinstance(character, str) and _has(_files(False)[0], character)


def _font(text: str, size: int, bold: bool) -> FreeTypeFont:
    """A font with all characters of a text, else the first one."""
    file = _font_of(text, bold)
    return _opened(_files(bold)[0] if file is None else file, size)


@lru_cache(_TEXTS_KEPT)
def _font_of(text: str, bold: bool) -> str | None:
    """The first font with all characters of a text; None without one."""
    return next((file for file in _files(bold) if all(_has(file, character) for character in text)), None)


@cache
def _files(bold: bool) -> tuple[str, ...]:
    """The fonts that are installed, in order of preference; an empty name is the one of Pillow."""
    found = [file for name in _FONTS[bold] if (file := _file(name))]
    return (*found, "")


def _file(name: str) -> str:
    """The file of a font; empty if it is not installed."""
    from PIL import ImageFont

    spec = find_spec("matplotlib")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        if (own := Path(folder) / "mpl-data" / "fonts" / "ttf" / name).is_file():
            return str(own)
    try:
        return str(ImageFont.truetype(name, 12).path)
    except OSError:
        return ""


@lru_cache(_FONTS_KEPT)
def _opened(file: str, size: int) -> FreeTypeFont:
    from PIL import ImageFont

    if file:
        return ImageFont.truetype(file, size)
    font = ImageFont.load_default(size)
    assert isinstance(font, ImageFont.FreeTypeFont)
    return font


@lru_cache(_GLYPHS_KEPT)
def _has(file: str, character: str) -> bool:
    """Whether a font has a glyph; a space has none and needs none."""
    if character.isspace():
        return True
    font = _opened(file, 20)
    return bytes(font.getmask(character)) != bytes(font.getmask(_NO_GLYPH))
