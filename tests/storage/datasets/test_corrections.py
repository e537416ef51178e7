from pathlib import Path

import numpy as np
import pytest
from helpers.builders import Killed, WatchedLake, content, contest, expected, field, ingest, tree
from helpers.storage_twin import FIRST, Twin, changes
from helpers.strategies import repeatable
from hypothesis import given
from hypothesis import strategies as st

from ranklake.storage import Dataset, Lake, LakeError, MissingError
from ranklake.storage.datasets.tables.aliases import Alias, canonical
from ranklake.storage.lake.limits import Limits

GAMES = [
    contest("1", ["ann", "bob", "cy", "dan"], ties=2, time_seconds=10),
    contest("2", ["bob", "old", "eve"], time_seconds=20),
    contest("3", ["old", "ann"], time_seconds=30),
]


@pytest.fixture
def games(lake):
    """A lake with ``GAMES``."""
    ingest(lake, GAMES)
    return lake


def change(lake, method, *how, **more):
    with Dataset.ingest(lake, "games") as body:
        getattr(body, method)(*how, **more)
    return body


def order(lake):
    return Dataset.open(lake, "games").contests.column("contest_id").to_pylist()


def standings(lake, contest_id):
    return next(row[-1] for row in content(lake) if row[0] == contest_id)


def digests(lake):
    table = Dataset.open(lake, "games").contests
    return dict(zip(table.column("contest_id").to_pylist(), table.column("content_digest").to_pylist(), strict=True))


# Anything, in any order


@pytest.mark.slow
@repeatable(80)
@given(st.sampled_from([1, 5, 2000]), st.sampled_from([1, 8, 1000]), st.data())
def test_changes__in_any_order_give_the_data_set_of_a_source_without_mistakes(
    tmp_path_factory, file_rows, stretch_rows, data
):
    limits = Limits(file_rows=file_rows, view_rows=stretch_rows, gathered_rows=10, single_reads=1)
    lake, twin = Lake.open(tmp_path_factory.mktemp("any") / "lake", create=True, limits=limits), Twin()
    for number in range(data.draw(st.integers(2, 12)) + 1):
        before = tree_of(lake)
        if not twin.change(lake, data.draw(changes(twin) if number else FIRST)):
            assert tree_of(lake) == before
    wanted = twin.contests()
    assert content(lake) == expected(wanted)
    table = Dataset.open(lake, "games").contests
    assert table.column("content_digest").to_pylist() == [one.content_digest for one in wanted]
    assert table.column("n_players").to_pylist() == [len(one) for one in wanted]
    start = data.draw(st.integers(0, len(wanted)))
    stop = data.draw(st.integers(start, len(wanted)))
    assert standings_of(lake, start, stop) == [one.handles.to_pylist() for one in wanted[start:stop]]


def tree_of(lake):
    return tree(Path(lake.url))


def standings_of(lake, start, stop):
    """Handles of each contest of a range."""
    dataset = Dataset.open(lake, "games")
    handles = dataset.handles().to_pylist()
    return [
        [handles[player] for player in part.player[part.offsets[i] : part.offsets[i + 1]]]
        for part in dataset.standings(start, stop)
        for i in range(len(part))
    ]


# Order and membership


def test_ingest__a_late_contest_gets_its_place_in_the_source(games):
    late = contest("2b", ["cy", "dan"], time_seconds=25)
    ingest(games, [*GAMES[:2], late, GAMES[2]])
    assert order(games) == ["1", "2", "2b", "3"]
    ingest(games, [contest("x", ["ann"]), contest("y", ["bob"])])  # of another source: at the end
    assert order(games) == ["1", "2", "2b", "3", "x", "y"]
    with Dataset.ingest(games, "games") as body:
        for one in (GAMES[2], late, GAMES[0], GAMES[1]):
            body.add(one)
    assert order(games) == ["3", "2b", "1", "2", "x", "y"]
    assert (body.moved, body.removed) == (2, [])


def test_ingest__in_order_of_time_is_a_stable_sort_of_the_whole_data_set(games):
    ingest(games, [contest("late", ["ann"], time_seconds=5), contest("same", ["bob"], time_seconds=20)])
    assert order(games) == ["1", "2", "3", "late", "same"]
    with Dataset.ingest(games, "games", order="time") as body:
        body.add(contest("new", ["cy"], time_seconds=15))
    assert order(games) == ["late", "1", "new", "2", "same", "3"]
    watched = WatchedLake(games)
    with Dataset.ingest(watched, "games", order="time") as body:
        body.add(GAMES[0])
    assert (watched.writes, body.moved) == ([], 0)


def test_mirror__makes_the_data_set_equal_to_the_source_and_keeps_what_it_cannot_read(games):
    with Dataset.ingest(games, "games", mirror=True) as body:
        for one in (GAMES[2], contest("4", ["zoe"]), GAMES[0]):
            body.add(one)
    assert order(games) == ["3", "4", "1"]
    assert body.removed == ["2"]
    entry = Dataset.open(games, "games").log().entries[0]
    assert (entry.kind, entry.contest_id, entry.why) == ("remove", "2", "mirror")
    with Dataset.ingest(games, "games", mirror=True) as body:
        body.add(GAMES[0])
        body.keep("3")
    assert order(games) == ["3", "1"]


def test_mirror__of_nothing_is_refused(games, tmp_path):
    before = tree(tmp_path / "lake")
    with (
        pytest.raises(ValueError, match="the source has no contests: a mirror of it would remove all 3 from"),
        Dataset.ingest(games, "games", mirror=True),
    ):
        pass
    assert tree(tmp_path / "lake") == before


def test_remove__removes_contests_and_a_source_adds_them_again(games):
    change(games, "remove", "2", why="a test contest")
    assert content(games) == expected([GAMES[0], GAMES[2]])
    assert ingest(games, GAMES) == ["unchanged", "new", "unchanged"]
    assert content(games) == expected(GAMES)
    entry = Dataset.open(games, "games").log().entries[0]
    assert (entry.kind, entry.contest_id, entry.why) == ("remove", "2", "a test contest")
    assert "@" in entry.who
    for one in "123":
        change(games, "remove", one)
    assert content(games) == []
    ingest(games, GAMES)
    assert content(games) == expected(GAMES)


def test_remove__an_unknown_contest_is_refused(games):
    with pytest.raises(MissingError, match="no contest '9' in data set games"):
        change(games, "remove", "9")
    ingest(games, [contest("Final", ["x", "y"])])
    with pytest.raises(MissingError, match="no contest 'final' in data set games; there is 'Final'"):
        change(games, "remove", "final")


@pytest.mark.slow
def test_standings__in_another_order_than_the_files_read_each_file_once(tmp_path, monkeypatch):
    lake = Lake.open(tmp_path, create=True, limits=Limits(file_rows=40))
    games = [contest(str(i), field("p", 2 + i % 3, i % 50), time_seconds=i * 7919 % 1000) for i in range(1000)]
    ingest(lake, games)
    with Dataset.ingest(lake, "games", order="time"):
        pass
    dataset, read = Dataset.open(lake, "games"), []
    original = lake.read_bytes
    monkeypatch.setattr(lake, "read_bytes", lambda path: read.append(path) or original(path))
    assert len(list(dataset.standings())) == 1
    assert len(read) == len(set(read)) == len(lake.list("games/standings"))
    assert content(lake) == expected(sorted(games, key=lambda one: one.time_seconds))


# Disqualifications


def test_disqualify__later_players_move_up_and_ties_stay_ties(games):
    change(games, "disqualify", "1", "ann", why="cheated")
    assert standings(games, "1") == [("bob", 0, 0), ("cy", 1, 2), ("dan", 1, 2)]
    row = Dataset.open(games, "games").contests.to_pylist()[0]
    assert (row["n_players"], row["n_rows"], row["source_digest"]) == (3, 4, GAMES[0].content_digest)
    assert row["content_digest"] == contest_without(GAMES[0], "ann").content_digest
    entry = Dataset.open(games, "games").log().disqualified["1"]["ann"]
    assert (entry.why, entry.kind) == ("cheated", "disqualify")
    before = tree_of(games)
    with Dataset.ingest(games, "games") as body:
        assert not body.disqualify("1", "ann")  # once more
    assert tree_of(games) == before


def contest_without(one, *handles):
    """The contest as a source without these players gives it."""
    left = [h for h in one.handles.to_pylist() if h not in handles]
    lo = {h: place for h, place in zip(one.handles.to_pylist(), one.lo.tolist(), strict=True) if h in left}
    low = [sum(lo[other] < lo[h] for other in left) for h in left]
    high = [sum(lo[other] <= lo[h] for other in left) - 1 for h in left]
    made = contest(one.contest_id, left, time_seconds=one.time_seconds)
    return type(made)(
        made.contest_id, made.name, "", made.time_seconds, made.handles, *(np.array(p, np.int32) for p in (low, high))
    )


def test_disqualify__stays_in_force_after_corrections_by_the_source(games):
    change(games, "disqualify", "1", "ann")
    before = digests(games)
    assert ingest(games, GAMES) == ["unchanged"] * 3
    assert digests(games) == before
    corrected = contest("1", ["zoe", "ann", "bob"], time_seconds=10)
    assert ingest(games, [corrected]) == ["corrected"]
    assert standings(games, "1") == [("zoe", 0, 0), ("bob", 1, 1)]
    without = contest("1", ["zoe", "bob"], time_seconds=10)
    before = digests(games)
    assert ingest(games, [without]) == [
        "corrected"
    ]  # the source made the same correction: nothing has to be rated again
    assert digests(games) == before
    assert "ann" in Dataset.open(games, "games").log().disqualified["1"]
    ingest(games, [corrected])
    assert standings(games, "1") == [("zoe", 0, 0), ("bob", 1, 1)]
    change(games, "remove", "1")
    ingest(games, [corrected])
    assert standings(games, "1") == [("zoe", 0, 0), ("bob", 1, 1)]


def test_reinstate__restores_the_contest(games):
    before = digests(games)
    change(games, "disqualify", "1", "ann")
    change(games, "disqualify", "1", "dan")
    change(games, "reinstate", "1", "ann", why="it was not him")
    assert standings(games, "1") == [("ann", 0, 1), ("bob", 0, 1), ("cy", 2, 2)]
    change(games, "reinstate", "1", "dan")
    assert digests(games) == before
    assert content(games) == expected(GAMES)
    kinds = [entry.kind for entry in Dataset.open(games, "games").log().entries]
    assert kinds == ["disqualify", "disqualify", "reinstate", "reinstate"]


@pytest.mark.parametrize(
    ("method", "how", "message"),
    [
        ("disqualify", ("9", "ann"), "no contest '9' in data set games"),
        ("disqualify", ("1", "zoe"), "contest 1: no player 'zoe' took part"),
        ("disqualify", ("1", "ANN "), "contest 1: no player 'ANN ' took part; there is 'ann'"),
        ("reinstate", ("1", "ann"), "contest 1 of games: no disqualification of 'ann'; the contest has none"),
        ("reinstate", ("2", "ann"), "contest 2 of games: no disqualification of 'ann'; there are: 'bob'"),
        ("alias", ("ann", "ann"), "an alias needs two names, got 'ann' twice"),
        (
            "alias",
            ("ann", "bob"),
            "contest 1: 'ann' and 'bob' both took part, and by their aliases are one player, 'bob'",
        ),
        ("unalias", ("ann",), "'ann' has no alias in data set games"),
    ],
)
def test_changes__that_are_invalid_are_refused_and_change_no_file(games, tmp_path, method, how, message):
    change(games, "disqualify", "2", "bob")
    before = tree(tmp_path / "lake")
    with pytest.raises((LakeError, ValueError), match=message):
        change(games, method, *how)
    assert tree(tmp_path / "lake") == before


def test_disqualify__of_the_last_player_is_refused(games):
    change(games, "disqualify", "3", "ann")
    with pytest.raises(LakeError, match=r"contest 3: none of its players would be left; remove the whole contest"):
        change(games, "disqualify", "3", "old")
    with pytest.raises(LakeError, match=r"contest 3: none of its players would be left"):
        ingest(games, [contest("3", ["ann"], time_seconds=30)])
    assert standings(games, "3") == [("old", 0, 0)]


# Aliases


def test_alias__gives_one_player_the_history_of_both_names(games):
    before = digests(games)
    body = change(games, "alias", "old", "zed")
    assert body.recomputed == 2
    assert [row[0] for row in standings(games, "3")] == ["zed", "ann"]
    assert {one for one, digest in digests(games).items() if digest != before[one]} == {"2", "3"}
    ingest(games, [contest("4", ["zed", "ann"])])
    ingest(games, [contest("5", ["old", "ann"])])
    dataset = Dataset.open(games, "games")
    players = [part.player[part.offsets[i]] for part in dataset.standings(2) for i in range(len(part))]
    assert len(set(players)) == 1
    change(games, "unalias", "old")
    assert {one: digest for one, digest in digests(games).items() if one in before} == before
    assert [row[0] for row in standings(games, "5")] == ["old", "ann"]


def test_recomputed__counts_changed_contests_that_no_source_added(games):
    with Dataset.ingest(games, "games") as body:
        body.add(contest("4", ["old", "eve"], time_seconds=40))
        body.alias("old", "zed")
        body.disqualify("1", "dan")
    assert body.recomputed == 3  # contests 1, 2 and 3
    assert change(games, "alias", "nobody", "somebody").recomputed == 0


def test_alias__since_a_time_leaves_the_old_name_to_its_next_player_and_chains_resolve(games):
    change(games, "alias", "old", "zed", 25)
    assert [row[0] for row in standings(games, "2")] == ["bob", "zed", "eve"]
    assert [row[0] for row in standings(games, "3")] == ["old", "ann"]
    for old, new in (("old", "older"), ("zed", "zoe"), ("older", "zed")):  # in any order of recording
        change(games, "alias", old, new)
    assert standings(games, "3")[0][0] == "zoe"


def test_alias__swapped_names_and_names_taken_back_resolve_to_their_player():
    swapped = {"a": Alias("b", 10), "b": Alias("a", 10)}
    assert [canonical(swapped, name, time) for name, time in [("a", 5), ("b", 5), ("a", 10), ("b", 10)]] == list("baab")
    back = {"a": Alias("b", 10), "b": Alias("a", 20)}
    assert [canonical(back, name, time) for name, time in [("a", 5), ("b", 15), ("a", 25)]] == list("aaa")
    aliases = {"a": Alias("b", 20), "b": Alias("c", 10)}  # b belonged to another player until 10
    assert [canonical(aliases, name, time) for name, time in [("a", 5), ("b", 5), ("b", 15)]] == list("bcb")


@pytest.mark.parametrize("since", [[None, None, None], [5, None, 9]])
def test_alias__cycles_are_refused_unless_all_aliases_have_times(games, since):
    change(games, "alias", "x", "y", since[0])
    change(games, "alias", "y", "z", since[1])
    with pytest.raises(ValueError, match=r"^'z' -> 'x' -> 'y' -> 'z' is a cycle; undo one of them"):
        change(games, "alias", "z", "x", since[2])
    change(games, "unalias", "y")
    change(games, "alias", "z", "x", since[2])


def test_alias__of_two_names_in_one_contest_is_refused_in_any_order(games):
    change(games, "alias", "old", "zed")
    with pytest.raises(LakeError, match="contest 4: 'zed' and 'old' both took part"):
        ingest(games, [contest("4", ["zed", "ann", "old"])])
    change(games, "unalias", "old")
    ingest(games, [contest("4", ["zed", "ann", "old"])])
    with pytest.raises(LakeError, match=r"contest 4: 'zed' and 'old' both took part, .* disqualify one of them first"):
        change(games, "alias", "old", "zed")
    change(games, "disqualify", "4", "old")
    change(games, "alias", "old", "zed")
    assert [row[0] for row in standings(games, "4")] == ["zed", "ann"]
    with pytest.raises(LakeError, match="contest 4: 'zed' and 'old' both took part"):
        change(games, "reinstate", "4", "old")


def test_alias__a_disqualification_applies_to_the_new_name_from_the_source(games):
    change(games, "disqualify", "2", "old")
    change(games, "alias", "old", "zed")
    ingest(games, [contest("2", ["bob", "zed", "eve"], time_seconds=20)])
    assert [row[0] for row in standings(games, "2")] == ["bob", "eve"]


def test_alias__can_be_added_with_the_contests_of_a_source(games):
    with Dataset.ingest(games, "games") as body:
        body.add(contest("4", ["zed", "ann"]))
        assert body.alias("old", "zed", 1_000)
        assert not body.alias("old", "zed", 1_000)
        body.add(contest("5", ["old", "ann"]))
    assert [row[0] for row in standings(games, "5")] == ["zed", "ann"]
    assert standings(games, "3")[0][0] == "zed"


def test_corrections__reading_costs_nothing_when_there_are_none(games, monkeypatch):
    change(games, "disqualify", "1", "ann")
    change(games, "reinstate", "1", "ann")
    change(games, "alias", "old", "zed")
    change(games, "unalias", "old")
    monkeypatch.setattr("ranklake.storage.datasets.corrections.Corrections.apply", None)
    monkeypatch.setattr("ranklake.storage.datasets.dataset.read_handles", None)
    assert sum(len(part) for part in Dataset.open(games, "games").standings()) == 3


def test_corrections__an_open_reader_can_read_after_one_more_commit(games):
    change(games, "alias", "old", "zed")
    opened = Dataset.open(games, "games")
    change(games, "unalias", "old")
    assert [len(part) for part in opened.standings()] == [3]
    assert opened.handles()[int(next(opened.standings(2)).player[0])].as_py() == "zed"


# Stops


CORRECTIONS = [("disqualify", "1", "ann"), ("alias", "old", "zed", 25), ("remove", "2")]


def correct(lake):
    with Dataset.ingest(lake, "games") as body:
        for method, *how in CORRECTIONS:
            getattr(body, method)(*how)


@pytest.mark.quick("1-*")
@pytest.mark.parametrize("done", [False, True])
@pytest.mark.parametrize("number", range(3))  # a part of the player index, the log, the table of contests
def test_corrections__stopped_at_any_write_are_made_in_full_or_not_at_all(games, number, done):
    before = content(games)
    if not done:
        files, watched = tree_of(games), WatchedLake(games, fail_at=number)
        with pytest.raises(LakeError, match="disk full"):
            correct(watched)
        assert len(watched.writes) == number + 1
        assert tree_of(games) == files
    with pytest.raises(Killed):
        correct(WatchedLake(games, fail_at=number, done=done, error=Killed()))
    committed = done and number == 2
    assert (content(games) == before) != committed
    if not committed:
        correct(games)
    ingest(games, [contest("sweeps", ["ann"])])
    ingest(games, [contest("twice", ["ann"])])
    assert len(games.list("games/log")) == 1
    assert len(games.list("games/players")) == 1
    assert digests(games)["1"] == contest_without(GAMES[0], "ann").content_digest
    assert [row[0] for row in standings(games, "1")] == ["bob", "cy", "dan"]
    assert order(games) == ["1", "3", "sweeps", "twice"]
    path = f"games/log/{games.list('games/log')[0]}"
    games.delete(path)
    with pytest.raises(MissingError, match=path):
        list(Dataset.open(games, "games").standings())
