import pytest

from ranklake.storage.lake import layout

LONG = "x" * layout.MAX_NAME


@pytest.mark.parametrize("name", ["cf", "codeforces-2024", "a.b_c-D9", "_x", "-x", "0", LONG])
def test_names__one_safe_path_component_is_valid(name):
    assert layout.check_dataset_name(name) == layout.check_run_name(name) == name


@pytest.mark.parametrize(
    "name", ["", ".", "..", ".hidden", "a/b", "a\\b", "a b", "a\n", "naïve", LONG + "x", "a:b", "~", "a\0", "%41"]
)
def test_names__error_of_any_other_name_has_the_rule(name):
    for check in (layout.check_dataset_name, layout.check_run_name):
        with pytest.raises(ValueError, match=r"1 to 100 of the letters.*got"):
            check(name)


@pytest.mark.parametrize("name", ["raw", "runs", "published", "Runs", "RAW"])
def test_names__a_data_set_is_not_called_like_a_part_of_the_lake(name):
    with pytest.raises(ValueError, match="must not be called"):
        layout.contests_file(name)
    assert layout.check_run_name(name) == name


def test_paths__are_those_of_the_design():
    assert layout.contests_file("cf") == "cf/contests/contests.parquet"
    assert layout.dataset_file("cf", "standings", "ab.parquet") == "cf/standings/ab.parquet"
    assert layout.dataset_file("cf", "players", "000000-ab.parquet") == "cf/players/000000-ab.parquet"
    assert layout.run_file("r") == "runs/r/run.json"
    assert layout.rounds_folder("r") == "runs/r/rounds"


def test_numbers__are_read_back_from_their_names_and_other_names_have_none():
    for number in (0, 412, 999_999, 1_000_000, 123_456_789):
        for suffix in ("", ".json", ".parquet"):
            assert layout.number_of(layout.numbered(number, suffix), suffix) == number
    others = "412.json", "0000412.json", "000412", "000412.parquet", "x00412.json", "000412.json.tmp", "00041٢.json", ""
    assert [layout.number_of(other, ".json") for other in others] == [None] * 8
    with pytest.raises(ValueError, match="from 0, got -1"):
        layout.numbered(-1)


@pytest.mark.parametrize("key", ["../../etc/passwd", "a/b", "..", "", "A", "nul\x00", "x" * 10_000, "\ud800", "ünï"])
def test_layout__any_key_of_a_site_is_one_safe_name(key):
    path = layout.raw_file("site", "round", key)
    folder, _, name = path.rpartition("/")
    assert folder == "raw/site/round"
    assert name.isascii()
    assert name.isprintable()
    assert len(name) < 100
    assert not set(name) & set("/\\:")
    assert not name.startswith(".")


def test_layout__keys_that_differ_have_names_that_differ_on_any_disk():
    keys = ["a", "A", "a.", "a-b", "a b", "a_b", "a.0", "917", "917.1", "ADAHHiMX", "adahhimx"]
    assert len({layout.raw_file("site", "round", key).lower() for key in keys}) == len(keys)
    assert layout.raw_file("site", "round", "917", 2) == "raw/site/round/917.2.zst"


@pytest.mark.parametrize("key", ["con", "CON", "nul!", "com1", "lpt9"])
def test_layout__keys_that_are_devices_on_windows_have_names_of_files(key):
    path = layout.raw_file("site", "round", key)
    assert path.rpartition("/")[2].startswith("x-")
    assert path != layout.raw_file_before("site", "round", key)
    assert path not in {layout.raw_file("site", "round", other) for other in ("x-con", "x-com1", "x-lpt9", key + "x")}
    for other in ("917", "con1", "console", "A", "round-con", "comet"):  # all other keys keep their names
        assert layout.raw_file("site", "round", other) == layout.raw_file_before("site", "round", other)


def test_names__that_some_disk_cannot_have_are_refused():
    for name in ("con", "Nul", "COM1.games", "lpt9.", "games.", "aux..x"):
        assert layout.portability_problem(name)
    for name in ("console", "com10", "a.con", "games.v2", "_con", "nul-"):
        assert layout.portability_problem(name) == ""


def test_kind__is_that_of_the_first_folder():
    folders = ("raw/cf", "runs/r", "searches/s", "cf", "cf/runs")
    assert list(map(layout.kind_of, folders)) == ["source", "run", "search", "data set", "data set"]
