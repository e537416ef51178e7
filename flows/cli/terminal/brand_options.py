"""Options of how a run presents itself to readers: its title, description, logo and words."""

from __future__ import annotations

from typing import Any

import click

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
