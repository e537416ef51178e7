"""Colours of titles as classes of a style sheet, with enough contrast on a light and on a dark page.

Contrast is that of the Web Content Accessibility Guidelines 2.2: 4.5 for text of normal size.
"""

from __future__ import annotations

from ..results.titles import Titles

CONTRAST = 4.5
GRAPHIC = 3.0  # contrast of a line
LIGHT, DARK = "#f3f4f6", "#1d2129"  # the least favourable background of each theme; site.css has both
_ON_LIGHT, _ON_DARK = ("#1a1e24", "#1f5fbf"), ("#e7eaef", "#86b4ff")  # the text and the first line of each theme
_FIRST_DEPTH, _NEXT_DEPTH, _LEAST_DEPTH = 0.15, 0.07, 0.03
_STEPS = 64  # from a colour to black or white
_BLACK, _WHITE = (0, 0, 0), (255, 255, 255)

RGB = tuple[int, int, int]


def title_class(step: int) -> str:
    """The class of a title, given its number; ``t`` without a title."""
    return f"t t{step}" if step >= 0 else "t"


def title_styles(titles: Titles) -> str:
    """A style sheet: for each title the custom property ``--title``, its own colour as ``--band``, and the ``--depth``.

    Neighbours of one colour have bands of different depth.
    """
    rules, depth = [], 0
    for i, title in enumerate(titles.ladder):
        depth = depth + 1 if i and titles.ladder[i - 1].colour == title.colour else 0
        band = f"--band:{title.colour};--depth:{_depth(title.colour, depth):.2f}"
        rules.append(f".t{i}{{--title:{with_contrast(title.colour, LIGHT)};{band}}}")
    dark = [f".t{i}{{--title:{with_contrast(title.colour, DARK)}}}" for i, title in enumerate(titles.ladder)]
    return "\n".join([*rules, "@media (prefers-color-scheme:dark){", *dark, "}", ""])


def _depth(colour: str, step: int) -> float:
    """The opacity of a band that is the ``step``-th of its colour: names and lines on it keep their contrast."""
    depth = min(_FIRST_DEPTH + step * _NEXT_DEPTH, 0.5)
    while depth > _LEAST_DEPTH and not all(
        contrast(text, band := blend(colour, background, depth)) >= CONTRAST and contrast(line, band) >= GRAPHIC
        for background, text, line in ((LIGHT, *_ON_LIGHT), (DARK, *_ON_DARK))
    ):
        depth -= 0.01
    return depth


def blend(colour: str, background: str, opacity: float) -> str:
    """What is seen of a colour of some opacity on a background."""
    return _hex(tuple(round(b + (a - b) * opacity) for a, b in zip(_parse(colour), _parse(background), strict=True)))


def with_contrast(colour: str, background: str) -> str:
    """The colour nearest to ``colour`` on the way to black or white that has the contrast of text."""
    start, back = _parse(colour), _parse(background)
    end = _BLACK if _luminance(back) > 0.5 else _WHITE
    for step in range(_STEPS + 1):
        mixed = tuple(round(a + (b - a) * step / _STEPS) for a, b in zip(start, end, strict=True))
        if contrast(shade := _hex(mixed), background) >= CONTRAST:
            return shade
    return _hex(end)


def contrast(one: str, other: str) -> float:
    """The contrast of two colours ``#rrggbb``, from 1 to 21."""
    low, high = sorted((_luminance(_parse(one)), _luminance(_parse(other))))
    return (high + 0.05) / (low + 0.05)


def _parse(colour: str) -> RGB:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def _hex(colour: tuple[int, ...]) -> str:
    return "#{:02x}{:02x}{:02x}".format(*colour)


def _luminance(colour: RGB) -> float:
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in (c / 255 for c in colour)
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
