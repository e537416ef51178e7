"""A name that nobody has, and that is nearly or almost the name of a player, at every door."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from helpers.commands import Command
from helpers.lakes import contest, lake_of, rate_run

import ranklake
from ranklake.flows.answers.handles import NoPlayerError
from ranklake.flows.answers.run import open_published
from ranklake.flows.publication.publish import publish
from ranklake.storage import Dataset, Lake
from ranklake.storage.names.folding import are_alike
from ranklake.storage.names.lists import join_handles

PLAYERS = ("tourist", "Petr", "jos\u00e9", "ann lee")


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """Petr was called old_petr."""
    contests = [contest(str(i), *PLAYERS, time_seconds=86_400 * i) for i in (1, 2)]
    lake = lake_of(tmp_path_factory.mktemp("names") / "lake", contests)
    with Dataset.ingest(lake, "games") as changing:
        changing.alias("old_petr", "Petr")
    rate_run(lake)
    publish(lake, "run")
    return lake


@pytest.fixture
def ratings() -> ranklake.Ratings:
    return ranklake.Ratings.rate(pd.DataFrame({"contest": "1", "player": PLAYERS, "rank": [1, 2, 3, 4]}))


NEAR = {
    "turist": "; did you mean 'tourist'?",
    "Tourist": "; there is 'tourist'",
    "jose\u0301": "; there is 'jos\u00e9' in another Unicode form",
    "ann  lee": "; there is 'ann lee'",
    "ann\u200b lee": "; there is 'ann lee'",
    "Old_Petr": "; there is 'old_petr'",
}


@pytest.mark.parametrize("name", NEAR)
@pytest.mark.parametrize(
    "words",
    [
        ("player", "NAME", "--run", "run"),
        ("predict", "NAME", "Petr", "--run", "run"),
        ("predict", "NAME+Petr", "tourist", "--run", "run"),
        ("explain", "NAME", "1", "--run", "run"),
        ("teamrate", "NAME", "Petr", "--run", "run"),
    ],
    ids=["player", "predict", "team", "explain", "teamrate"],
)
def test_command__names_who_is_near(invoke: Command, lake: Lake, words: tuple[str, ...], name: str) -> None:
    said = invoke.refuses(*(word.replace("NAME", name) for word in words), "--lake", lake.url)
    assert said.partition(" in data set")[0] == f"no player {name!r}".replace("\u200b", "\\u200b")
    assert said.endswith(NEAR[name])


@pytest.mark.parametrize("kind", ["files", "games"])
def test_ingest__names_new_players_who_are_nearly_others(invoke: Command, tmp_path: Path, kind: str) -> None:
    head = "contest,player,rank" if kind == "files" else "white,black,result,date"
    first, second = ("1,ann,1\n1,bob,2", "2,Ann,1\n2,bob,2") if kind == "files" else (
        "ann,bob,1-0,2024-01-01", "Ann,bob,1-0,2024-01-02",
    )  # fmt: skip
    answers = []
    for rows in first, second, second:
        (tmp_path / "table.csv").write_text(f"{head}\n{rows}\n", "utf-8")
        answers.append(invoke("ingest", kind, tmp_path / "table.csv", "--dataset", "d", "--lake", tmp_path / "lake"))
    assert [answer.code for answer in answers] == [0, 0, 0]
    assert ["nearly equal to others: 'Ann' beside 'ann'; `ranklake alias`" in answer.err for answer in answers] == [
        False, True, False,
    ]  # fmt: skip


@pytest.mark.parametrize("name", [name for name in NEAR if name not in ("Old_Petr", "turist")])
def test_published_run__has_a_player_under_a_nearly_equal_name(lake: Lake, name: str) -> None:
    run = open_published(lake, "run")
    (found,) = (one for one in PLAYERS if are_alike(one, name))
    assert run.player(name) == run.player(found)
    assert run.compare([name, "Petr"]) == run.compare([found, "Petr"])
    assert run.search(name)["handle"].to_pylist()[:1] == [found]


def test_published_run__names_who_is_near(lake: Lake) -> None:
    run = open_published(lake, "run")
    for ask in (run.player, run.history):
        with pytest.raises(NoPlayerError) as error:
            ask("turist")
        assert str(error.value) == f"no player 'turist'{NEAR['turist']}"
    assert run.search("turist")["handle"].to_pylist()[:1] == error.value.near[:1]


def test_compare__leaves_out_unknown_players_and_names_who_is_near(
    invoke: Command, lake: Lake, ratings: ranklake.Ratings
) -> None:
    names = ("turist", "Petr", "nobody", "ann lee")
    said = invoke("compare", *names, "--run", "run", "--lake", lake.url, "--format", "json")
    found, published = json.loads(said.out), open_published(lake, "run").compare(list(names))
    unknown = [{"requested": "turist", "near": ["tourist"]}, {"requested": "nobody", "near": []}]
    assert found["unknown"] == published["unknown"] == unknown
    assert [one["handle"] for one in found["players"]] == [one["handle"] for one in published["players"]]
    assert len(found["pairs"]) == 1
    assert said.err == (
        "no player 'turist' in run run; did you mean 'tourist'?; the others are compared\n"
        "no player 'nobody' in run run; the others are compared\n"
    )
    alone = invoke.refuses("compare", "turist", "Petr", "--run", "run", "--lake", lake.url)
    assert alone.endswith(NEAR["turist"])
    with pytest.warns(UserWarning, match=r"no rating of 'turist' \(did you mean 'tourist'\?\), 'nobody': left out"):
        pairs = ratings.compare(list(names))
    assert pairs[["player", "against"]].to_numpy().tolist() == [["Petr", "ann lee"]]
    with pytest.raises(ValueError, match="no player 'turist'; did you mean 'tourist'"):
        ratings.compare(["turist", "Petr"])


def test_lists_of_handles__may_have_commas_in_quotation_marks(lake: Lake) -> None:
    handles = open_published(lake, "run").handles
    for texts, wanted in (
        (["Petr,turist, ann lee"], ["Petr", "turist", "ann lee"]),
        (['"Smith, Anna",Petr'], ["Smith, Anna", "Petr"]),
        (['"a ""b"", c" , Petr,,Petr'], ['a "b", c', "Petr"]),
        (['"half, Petr'], ['"half', "Petr"]),
        (["a,b", "Petr"], ["a,b", "Petr"]),
        ([","], []),
    ):
        assert handles.listed(texts) == wanted
        assert handles.listed([join_handles(wanted)]) == wanted


def test_api__and_pages_name_who_is_near(lake: Lake) -> None:
    pytest.importorskip("starlette")
    from helpers.api import client_of

    with client_of(lake) as client:
        problem = client.get("/api/v1/runs/run/players/turist").json()
        assert problem["near"] == ["tourist"]
        assert problem["detail"] == "no player 'turist' in run run; did you mean 'tourist'?"
        found = client.get("/api/v1/runs/run/search", params={"q": "turist"}).json()
        assert [row["handle"] for row in found["rows"]] == ["tourist"]
        page = client.get("/run/p/turist", headers={"accept": "text/html"})
        assert page.status_code == 404
        assert 'href="/run/p/tourist"' in page.text
        assert client.get("/run", params={"q": "turist"}).headers["location"].endswith("/p/tourist")
        body = {"standings": [["Tourist", 1], ["Petr", 2]]}
        answer = client.post("/api/v1/runs/run/preview", content=json.dumps(body)).json()
        line = "no player 'Tourist' in run run; there is 'tourist', and 'Tourist' is a newcomer"
        assert answer["notes"] == [line]
        form = client.post("/run/preview", content="standings=Tourist%0APetr", headers={"accept": "text/html"})
        assert "there is &#39;tourist&#39;" in form.text


@pytest.mark.bound("ranklake.flows.preview.newcomers.MOST_NEAR", "ranklake.flows.preview.newcomers._MOST_LINES")
def test_preview__marks_newcomers_and_names_who_is_near(
    invoke: Command, lake: Lake, ratings: ranklake.Ratings, tmp_path: Path
) -> None:
    """The same by every door: a newcomer has no rating before and no change."""
    names = ["turist", "Petr", "a stranger", "old_petr2", *(f"tourist{i}" for i in range(30))]
    frame = pd.DataFrame({"player": names, "rank": range(1, len(names) + 1)})
    frame.to_csv(tmp_path / "s.csv", index=False)
    there = (tmp_path / "s.csv", "--run", "run", "--lake", lake.url)
    said = invoke("preview", *there, "--format", "json")
    found = json.loads(said.out)
    with pytest.warns(UserWarning, match="; did you mean 'tourist'|more newcomers"):
        by_ratings = ratings.preview(frame)
    with pytest.warns(UserWarning, match="in run run; did you mean|more newcomers"):
        by_run = ranklake.preview(ranklake.Lake.open(lake.url).run("run"), frame)
    for rows in (found, by_ratings.to_dict("records"), by_run.to_dict("records")):
        assert [row["known"] for row in rows] == [False, True, *[False] * 32]
        assert [pd.isna(row["rating_before"]) and pd.isna(row["change"]) for row in rows] == [
            not row["known"] for row in rows
        ]
        assert [list(row["near"]) for row in rows[:3]] == [["tourist"], [], []]
        assert [len(row["near"]) for row in rows[4:]] == [1] * 17 + [0] * 13
    assert said.err.count("\n") == 6
    assert said.err.endswith("more newcomers have names similar to those of players\n")
    rows = invoke("preview", *there, "--format", "csv").out.splitlines()
    assert rows[1].endswith(',false,"tourist"') or rows[1].endswith(",false,tourist")
    assert "new" in invoke("preview", *there).out


def test_new_names__that_are_nearly_old_ones_are_said(invoke: Command, lake: Lake, tmp_path: Path) -> None:
    (tmp_path / "next.csv").write_text("player,rank\nTourist,1\nPetr,2\nnew,3\n", encoding="utf-8")
    said = invoke("preview", tmp_path / "next.csv", "--run", "run", "--lake", lake.url)
    assert said.code == 0
    assert said.err == "no player 'Tourist' in run run; there is 'tourist', and 'Tourist' is a newcomer\n"
    (tmp_path / "countries.csv").write_text("handle,country\nPETR,RU\ntourist,BY\nnew,PL\n", encoding="utf-8")
    own = lake_of(tmp_path / "own", [contest("1", *PLAYERS)])
    said = invoke("attributes", tmp_path / "countries.csv", "--dataset", "games", "--lake", own.url)
    assert said.err == "no player 'PETR' in data set games; there is 'Petr'\n"
    there = ("--dataset", "games", "--lake", own.url)
    unknown = "no player 'TOURIST' in data set games; there is 'tourist'"
    assert invoke.refuses("alias", "TOURIST", "gennady", *there) == unknown
    assert invoke.refuses("alias", "stranger", "gennady", *there) == "no player 'stranger' in data set games"
    assert invoke("alias", "Petr", "TOURIST", *there).err == f"{unknown}\n"
    assert invoke.refuses("unalias", "PETR", *there) == "'PETR' has no alias in data set games; there is 'Petr'"
    said = invoke.refuses("amend", "1", "--remove", "turist", "--dataset", "games", "--lake", own.url)
    assert said == "contest 1: no player 'turist' took part; did you mean 'tourist'?"


def test_notebook__names_unknown_players(ratings: ranklake.Ratings, lake: Lake) -> None:
    said = r"no rating of 'Tourist' \(there is 'tourist'\), 'stranger': a newcomer in the prediction"
    with pytest.warns(UserWarning, match=said):
        ratings.predict(["Tourist", "Petr", "stranger"])
    with pytest.warns(UserWarning, match=r"no rating of 'turist' \(did you mean 'tourist'\?\): a newcomer"):
        ranklake.predict({"tourist": 2000.0, "Petr": 1900.0}, ["turist", "Petr"])
    with pytest.warns(UserWarning, match=r"among has players without a rating: 'turist' \(did you mean 'tourist'\?\)"):
        assert ratings.leaderboard(among=["turist", "Petr"])["player"].tolist() == ["Petr"]
    with pytest.raises(ValueError, match="there is no player 'Tourist'; there is 'tourist'"):
        ratings.player("Tourist")
    standings = pd.DataFrame({"player": ["Tourist", "Petr"], "rank": [1, 2]})
    for beliefs in (ratings, ranklake.Lake(lake.url).run("run")):
        with pytest.warns(UserWarning, match="there is 'tourist', and 'Tourist' is a newcomer"):
            ranklake.preview(beliefs, standings)
