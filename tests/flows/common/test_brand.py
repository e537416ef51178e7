"""How a run presents itself: what is accepted of files and options, and what is stored."""

from __future__ import annotations

from pathlib import Path

import pytest

from ranklake.flows.common.brand import MOST_LOGO, MOST_PIXELS, Brand, Logo, read_brand, read_logo

SVG = b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><rect width="9" height="9" fill="red"/></svg>'
PNG = b"\x89PNG\r\n\x1a\n" + b"\x00\x00\x00\rIHDR" + (9).to_bytes(4, "big") * 2 + b"\x08\x02\x00\x00\x00"


def wrapped(text: str) -> bytes:
    return f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:x="http://www.w3.org/1999/xlink">{text}</svg>'.encode()


def test_brand__is_stored_with_its_logo_and_read_again() -> None:
    brand = Brand("A & B", player="driver", players="drivers", logo=Logo(SVG))
    assert Brand.from_json(brand.to_json()) == brand
    assert brand.to_json().keys() == {"title", "player", "players", "logo"}
    assert (Brand().to_json(), Brand.from_json({})) == ({}, Brand())
    assert brand.facts()["logo"] == "image/svg+xml"
    assert [brand.count_players(n) for n in (1, 0, 2000)] == ["1 driver", "0 drivers", "2,000 drivers"]
    assert [brand.count_contests(n) for n in (1, 2)] == ["1 contest", "2 contests"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("brand.toml", 'title = "Formula"\ncontest = "race"\nlogo = "mark.svg"\n'),
        ("brand.json", '{"title": "Formula", "contest": "race", "logo": "mark.svg"}'),
    ],
)
def test_file__names_a_logo_beside_it(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text, "utf-8")
    (tmp_path / "mark.svg").write_bytes(SVG)
    assert read_brand(str(tmp_path / name)) == {"title": "Formula", "contest": "race", "logo": Logo(SVG)}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "brand.json: "),
        ("[]", "must be an object with some of title, description"),
        ('{"colour": "red"}', "there is no 'colour', only title, description"),
        ('{"title": "a\\u202eb"}', "title must be one line of visible characters"),
        ('{"title": "' + "a" * 81 + '"}', "title must have at most 80 characters, got 81"),
        ('{"player": " "}', "player must not be empty"),
        ('{"description": 3}', "description must be a text, got 3"),
        ('{"logo": "none.svg"}', "there is no file"),
    ],
)
def test_file__refuses_what_no_page_could_show(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "brand.json").write_text(text, "utf-8")
    with pytest.raises(ValueError, match=r"brand\.json") as found:
        read_brand(str(tmp_path / "brand.json"))
    assert message in str(found.value)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (wrapped("<script>alert(1)</script>"), "without scripts, got the element script"),
        (wrapped('<rect onload="alert(1)"/>'), "without scripts, got the attribute 'onload'"),
        (wrapped("<foreignObject/>"), "without scripts, got the element foreignobject"),
        (wrapped('<a x:href="javascript:alert(1)"/>'), "loads nothing, got the address 'javascript:alert(1)'"),
        (wrapped('<image href="https://elsewhere.example/a.png"/>'), "loads nothing"),
        (b'<!DOCTYPE svg [<!ENTITY a "b">]>' + SVG, "no document type and no entities"),
        ('<!DOCTYPE svg [<!ENTITY a "b">]><svg/>'.encode("utf-16"), "logo must be SVG or PNG"),
        (b'<?xml version="1.0" encoding="utf-7"?>' + SVG, "the encoding must be UTF-8"),
        (b"<html/>", "got XML with the root 'html'"),
        (b"GIF89a", "logo must be SVG or PNG"),
        (
            PNG.replace((9).to_bytes(4, "big"), (MOST_PIXELS + 1).to_bytes(4, "big")),
            "PNG of at most 2048 x 2048 pixels",
        ),
        (SVG + b" " * MOST_LOGO, "at most 65,536 bytes"),
    ],
)
def test_logo__refuses_what_runs_or_loads_something(data: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "logo").write_bytes(data)
    with pytest.raises(ValueError, match="logo") as found:
        read_logo(str(tmp_path / "logo"))
    assert message in str(found.value)


def test_logo__has_a_name_of_its_content() -> None:
    assert (Logo(PNG).kind, Logo(PNG).media_type) == ("png", "image/png")
    assert Logo(SVG).name != Logo(SVG + b" ").name
