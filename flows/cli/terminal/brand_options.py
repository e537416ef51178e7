"""Options of how a run presents itself to readers: its title, description, logo and words."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import click

from ...common.text import visible
from .options import Options, gathered

_BRAND: Options = (
    click.option("--brand", "file", metavar="FILE", help="A file, .toml or .json, with some of title, description, "
                 "logo (a file beside it), player, players, contest and contests (the words for these); `none` removes "
                 "what is stored."),
    click.option("--title", metavar="TEXT", help="The title of the pages, in place of the name of the run."),
    click.option("--description", metavar="TEXT", help="A sentence or two about the ratings, for readers and for "
                 "search engines."),
    click.option("--logo", metavar="FILE", help="A picture beside the title: SVG without scripts, or PNG, of at most "
                 "64 kB."),
)  # fmt: skip


def _brand(file: str | None, title: str | None, description: str | None, logo: str | None) -> dict[str, Any] | None:
    from ...common.brand import UNBRANDED, Brand, read_brand, read_logo

    given = {"title": title, "description": description, "logo": None if logo is None else read_logo(logo)}
    single = {name: value for name, value in given.items() if value is not None}
    removed = {name: getattr(UNBRANDED, name) for name in Brand.__slots__} if file == "none" else {}
    chosen = removed | ({} if file in (None, "none") else read_brand(file)) | single
    try:
        Brand(**chosen)
    except ValueError as error:
        raise ValueError(f"--{error}") from None
    return chosen or None


# the choices for ``Brand`` that were given, as one argument ``brand``; None without any
brand_options = gathered("brand", _BRAND, _brand)


def _public_url(context: click.Context, parameter: click.Parameter, url: str) -> str:
    """The address without a slash at its end."""
    if not url:
        return ""
    parts = urlsplit(url)
    plain = url.isascii() and visible(url) == url and not set(url) & set(" \"'<>\\^`{|}")
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment or not plain:
        raise click.BadParameter(f"must be an address as https://ratings.example/path, got {url!r}")
    if parts.username is not None or parts.password is not None:
        raise click.BadParameter("must have no user and no password: readers see it")
    return url.rstrip("/")


public_url_option = click.option(
    "--public-url", default="", metavar="URL", callback=_public_url, help="Address at which readers find the pages, as "
    "https://ratings.example; canonical links, pictures beside shared links and the map of the site need it.",
)  # fmt: skip
shared_option = click.option(
    "--shared", type=click.IntRange(0, 20_000), metavar="N", help="With --site: the best N players have a page of "
    "their own that programs without scripts read, and, with --public-url, these and the newest N contests a picture.  "
    "[default: 100]",
)  # fmt: skip
