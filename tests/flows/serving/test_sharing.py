"""What browsers, crawlers and readers of feeds ask beside the pages: cards, feeds, maps, icons, and what pages say."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import unescape
from html.parser import HTMLParser
from io import BytesIO
from pathlib import Path
from urllib.parse import quote
from xml.etree import ElementTree

import pytest
from helpers.api import TestClient
from helpers.browser import chromium, new_page, served_files, served_pages
from helpers.builders import contest
from helpers.lakes import lake_of, rate_run
from helpers.names import STRANGE
from PIL import Image

from ranklake.flows.common.brand import Logo
from ranklake.flows.pages import feeds, sharing
from ranklake.flows.pages.feeds import MOST_ENTRIES
from ranklake.flows.pages.files import static_digest
from ranklake.flows.publication.publish import publish
from ranklake.flows.serving.app import create_app
from ranklake.flows.serving.state.served_runs import ServedRuns
from ranklake.storage import Lake

NAMES = [*STRANGE, '"><img src=x onerror=alert(1)>', "a\u202eb", "]]></title>", "羽生結弦", "ada"]
PUBLIC = "https://ratings.example/sub"
ATOM, MAP = "{http://www.w3.org/2005/Atom}", "{http://www.sitemaps.org/schemas/sitemap/0.9}"
LOGO = Logo(b'<svg xmlns="http://www.w3.org/2000/svg"><rect width="9" height="9"/></svg>')


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    lake = lake_of(
        tmp_path_factory.mktemp("shared") / "lake",
        [contest(name[:200], NAMES, name=name[:200], time_seconds=86_400 * (i + 1)) for i, name in enumerate(NAMES)],
    )
    rate_run(lake)
    publish(lake, "run", brand={"title": "<b>&", "description": 'a "b" </script>', "logo": LOGO})
    return lake


@pytest.fixture(scope="module")
def client(lake: Lake) -> Iterator[TestClient]:
    with TestClient(create_app(ServedRuns(lake), 0, PUBLIC), follow_redirects=False) as client:
        yield client


class Head(HTMLParser):
    """The properties of a page, its links by relation, and its data for search engines."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.meta: dict[str, str] = {}
        self.links: dict[str, str] = {}
        self.feed(html)
        (self.data,) = re.findall(r'<script type="application/ld\+json">(.*?)</script>', html) or [""]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        of = {key: value or "" for key, value in attrs}
        if tag == "meta" and (name := of.get("property") or of.get("name")):
            self.meta[name] = of["content"]
        if tag == "link":
            self.links.setdefault(of["rel"], of["href"])


def xml(client: TestClient, path: str) -> ElementTree.Element:
    answer = client.get(path)
    assert answer.status_code == 200, answer.text
    assert "xml" in answer.headers["content-type"]
    return ElementTree.fromstring(answer.content)


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_page__of_any_name_says_what_it_is(client: TestClient, name: str) -> None:
    for path in (f"/run/p/{quote(name, '')}", f"/run/c/{quote(name[:200], '')}"):
        html = client.get(path).text
        head = Head(html)
        assert head.links["canonical"] == head.meta["og:url"] == f"{PUBLIC}{path}"
        assert head.meta["og:image"] == f"{PUBLIC}{path}/card.png"
        assert head.meta["twitter:card"] == "summary_large_image"
        assert head.meta["description"] == head.meta["og:description"]
        assert head.meta["og:title"] in head.meta["description"]
        assert unescape(html.partition("<title>")[2].partition(" · ")[0]) == head.meta["og:title"]
        assert json.loads(head.data)["url"] == f"{PUBLIC}{path}"
        assert "<img src=x" not in html
        assert "\u202e" not in html


def test_page__without_a_public_address_has_no_absolute_one(lake: Lake) -> None:
    with TestClient(create_app(ServedRuns(lake), 0), headers={"host": "evil.example"}) as client:
        html = client.get("/run/p/ada").text
        head = Head(html)
        assert "evil.example" not in html
        assert "canonical" not in head.links
        assert "og:image" not in head.meta
        assert client.get("/sitemap.xml").status_code == 404
        assert "Sitemap" not in client.get("/robots.txt").text
        assert "evil.example" not in client.get("/run/feed.atom").text


@pytest.mark.parametrize("name", NAMES[:3] + NAMES[-3:], ids=range(6))
def test_card__is_a_picture_of_the_size_that_others_show(client: TestClient, name: str) -> None:
    for path in (f"/run/p/{quote(name, '')}/card.png", f"/run/c/{quote(name[:200], '')}/card.png"):
        answer = client.get(path)
        assert answer.headers["content-type"] == "image/png"
        assert Image.open(BytesIO(answer.content)).size == (1200, 630)
        assert len(answer.content) < 100_000
        assert client.get(path, headers={"if-none-match": answer.headers["etag"]}).status_code == 304
    assert client.get("/run/p/none/card.png").status_code == 404
    assert client.get("/run/c/none/card.png").status_code == 404


def test_feeds__name_every_contest_and_every_round_of_a_player(client: TestClient) -> None:
    contests, rounds = xml(client, "/run/feed.atom"), xml(client, "/run/p/ada/feed.atom")
    assert len(contests.findall(f"{ATOM}entry")) == len(rounds.findall(f"{ATOM}entry")) == len(NAMES)
    assert {entry.findtext(f"{ATOM}updated") for entry in contests.iter(f"{ATOM}entry")} >= {"1970-01-02T00:00:00Z"}
    keys = [entry.findtext(f"{ATOM}id") for entry in contests.iter(f"{ATOM}entry")]
    assert len(set(keys)) == len(NAMES)
    for link in contests.iter(f"{ATOM}link"):
        path = link.attrib["href"].removeprefix(PUBLIC)
        assert client.get(path).status_code == 200
    for name in NAMES:
        assert xml(client, f"/run/p/{quote(name, '')}/feed.atom").findtext(f"{ATOM}title")


def test_map__has_every_page_and_robots_name_it(client: TestClient) -> None:
    (address,) = [one.text for one in xml(client, "/sitemap.xml").iter(f"{MAP}loc")]
    assert f"Sitemap: {PUBLIC}/sitemap.xml" in client.get("/robots.txt").text
    assert address is not None
    found = [str(one.text) for one in xml(client, address.removeprefix(PUBLIC)).iter(f"{MAP}loc")]
    assert len(found) == len(set(found)) == 3 + 2 * len(NAMES)
    for one in found:
        assert client.get(one.removeprefix(PUBLIC)).status_code == 200
    assert client.get("/run/sitemap-1.xml").status_code == 404


def test_lists__are_cut(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feeds, "MOST_ENTRIES", 2)
    monkeypatch.setattr("ranklake.flows.serving.shared_files.MOST_ADDRESSES", 9)
    monkeypatch.setattr(sharing, "LONGEST", 20)
    assert MOST_ENTRIES < feeds.MOST_ADDRESSES
    with TestClient(create_app(ServedRuns(lake), 0, PUBLIC)) as client:
        assert len(xml(client, "/run/feed.atom").findall(f"{ATOM}entry")) == 2
        maps = [str(one.text).removeprefix(PUBLIC) for one in xml(client, "/sitemap.xml").iter(f"{MAP}loc")]
        sizes = [len(list(xml(client, one).iter(f"{MAP}loc"))) for one in maps]
        assert (max(sizes), sum(sizes)) == (9, 3 + 2 * len(NAMES))
        assert len(Head(client.get("/run/p/ada").text).meta["description"]) == 20


def test_files__of_a_release_are_kept_for_ever_by_their_address(client: TestClient) -> None:
    page = client.get("/run").text
    address = f"/static/{static_digest()}/site.css"
    assert f'href="{address}"' in page
    assert client.get(address).headers["cache-control"].endswith("immutable")
    assert "immutable" not in client.get("/static/0123/site.css").headers["cache-control"]
    assert client.get(f"/static/{static_digest()}/none.css").status_code == 404


def test_logo_and_icons__are_files_of_their_kind(client: TestClient) -> None:
    head = Head(client.get("/run").text)
    logo = client.get(head.links["icon"])
    assert (logo.content, logo.headers["content-type"]) == (LOGO.data, "image/svg+xml")
    assert "sandbox" in logo.headers["content-security-policy"]
    about = client.get(head.links["manifest"]).json()
    assert about["name"] == "<b>&"
    assert [client.get(icon["src"]).status_code for icon in about["icons"]] == [200, 200, 200]
    for path, size in (("/favicon.ico", 32), ("/apple-touch-icon.png", 180), (head.links["apple-touch-icon"], 180)):
        assert Image.open(BytesIO(client.get(path).content)).width == size


@pytest.mark.slow
def test_site__has_pages_cards_feed_and_map_for_programs(lake: Lake, tmp_path: Path) -> None:
    from ranklake.flows.site.publish import publish_site
    from ranklake.flows.site.shared import Shared

    publish_site(lake, "run", str(tmp_path / "site"), shared=Shared(f"{PUBLIC}/", 4))
    site, pages = tmp_path / "site", list((tmp_path / "site/p").iterdir())
    assert len(pages) == 4
    titles = set()
    for page in pages:
        html = page.read_text("utf-8")
        head = Head(html)
        titles.add(head.meta["og:title"])
        assert head.meta["og:title"] in head.meta["description"]
        assert head.links["canonical"] == f"{PUBLIC}/p/{page.name}"
        card = site / head.meta["og:image"].removeprefix(f"{PUBLIC}/")
        assert Image.open(BytesIO(card.read_bytes())).size == (1200, 630)
    assert len(titles) == 4
    found = [str(one.text) for one in ElementTree.parse(site / "sitemap.xml").iter(f"{MAP}loc")]
    assert {f"{PUBLIC}/p/{page.name}" for page in pages} < set(found)
    assert all((site / one.removeprefix(f"{PUBLIC}/")).exists() for one in found)
    assert len(ElementTree.parse(site / "feed.atom").findall(f"{ATOM}entry")) == len(NAMES)
    assert f'<base href="{PUBLIC}/">' in (site / "404.html").read_text("utf-8")
    assert json.loads(next(site.glob("static/*/manifest.webmanifest")).read_text("utf-8"))["name"] == "run"
    publish_site(lake, "run", str(site), shared=Shared(f"{PUBLIC}/", 2), brand={"title": "Another"})
    assert {page.name for page in pages} == {page.name for page in (site / "p").iterdir()}  # pages stay


@pytest.mark.slow
def test_print__has_the_columns_that_a_phone_hides(lake: Lake) -> None:
    errors: list[str] = []
    with chromium() as browser, served_pages(lake) as address:
        page = new_page(browser, address, errors, viewport={"width": 390, "height": 800})
        page.goto(f"{address}/run")
        columns = page.locator("table.board thead th")
        on_screen = sum(columns.nth(i).is_visible() for i in range(columns.count()))
        page.emulate_media(media="print")
        assert on_screen < sum(columns.nth(i).is_visible() for i in range(columns.count())) == columns.count()
        assert not page.locator("form.search").is_visible()
    assert errors == []


@pytest.mark.slow
def test_site__player_has_title_and_description_by_script_and_on_a_page_of_its_own(lake: Lake, tmp_path: Path) -> None:
    from ranklake.flows.site.publish import publish_site
    from ranklake.flows.site.shared import Shared

    publish_site(lake, "run", str(tmp_path / "site"), shared=Shared("", 3), brand={"title": "Cups"})
    errors: list[str] = []
    own = sorted(f"p/{page.name}" for page in (tmp_path / "site/p").iterdir())
    with chromium() as browser, served_files(tmp_path / "site") as address:
        page = new_page(browser, address, errors)
        for path in ("player.html?h=ada", own[0]):
            page.goto(f"{address}{path}")
            page.wait_for_selector("tbody tr")
            name = page.locator("h1").inner_text()
            assert page.title() == f"{name} · Cups"
            assert str(page.locator("meta[name=description]").get_attribute("content")).startswith(f"{name}: rating ")
    assert errors == []
