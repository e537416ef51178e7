"""PGN by its import format: tags anywhere, opaque comments, any block size; what is left out is counted and named."""

from __future__ import annotations

import bz2
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from helpers.games import read_games

from ranklake.flows.sources.base import SourceError
from ranklake.flows.sources.files.inputs import Input
from ranklake.flows.sources.games.batch import GamesReport
from ranklake.flows.sources.games.options import GamesOptions
from ranklake.flows.sources.games.pgn import MAX_TAGS, read_pgn
from ranklake.flows.sources.games.pgn_lines import PgnLines, scan_line

DAY = 86_400

PGN = r"""[Event "Rated Blitz game"]
[White "ann"]
[Black "bob"]
[Result "1-0"]
[UTCDate "1970.01.11"]
[UTCTime "00:00:05"]

1. e4 { [%eval 0.2]
[%clk 0:03:00] } e5 1-0

[Event "Casual"]
[White "bob"]
[Black "c \"at\" a\\b"]
[Result "1/2-1/2"]
[Date "1970.01.12"]

1/2-1/2

[Event "Other"]
[White "?"]
[Black "bob"]
[Result "1-0"]
[Date "1970.01.12"]

[Event "Other"]
[White "ann"]
[Black "bob"]
[Result "0-1"]
[Date "1970.??.??"]

0-1

[Event "Last"]
[White "dan"]
[Black "bob"]
[Result "*"]
[UTCDate "1970.01.12"]
[UTCTime "10:00:00"]
*"""

ANN = '[White "ann"]\n[Black "bob"]\n[Date "1970.01.11"]\n[Result "1-0"]\n'
CAT = '[White "cat"]\n[Black "dan"]\n[Date "1970.01.12"]\n[Result "0-1"]\n\n1. d4 0-1\n'
GAMES = [("1970-01-11", [("ann", "bob", 1.0, 10 * DAY)]), ("1970-01-12", [("cat", "dan", 0.0, 11 * DAY)])]


def read(tmp_path: Path, text: str | bytes, **options: object) -> tuple[list[tuple[str, list[tuple]]], GamesReport]:
    path = tmp_path / "games.pgn"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_games(path, **options)


@pytest.mark.parametrize("name", ["games.pgn", "games.pgn.zst", "games.pgn.bz2"])
def test_pgn__has_the_tags_of_games(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    data = PGN.replace("\n", "\r\n").encode()
    if name.endswith("zst"):  # two frames, as parallel compressors write them
        data = b"".join(pa.compress(part, "zstd", asbytes=True) for part in (data[:150], data[150:]))
    path.write_bytes(bz2.compress(data) if name.endswith("bz2") else data)
    found, report = read_games(path)
    assert found == [
        ("1970-01-11", [("ann", "bob", 1.0, 10 * DAY + 5)]),
        ("1970-01-12", [("bob", 'c "at" a\\b', 0.5, 11 * DAY)]),
    ]
    assert report.lines() == [
        f"left out: 1 game, unfinished (first: {name}, line 33)",
        f"left out: 1 game, with an unknown player (first: {name}, line 19)",
        f"left out: 1 game, without a full date (first: {name}, line 25)",
    ]


@pytest.mark.parametrize("block_bytes", [120, 200, 333])
def test_pgn__is_read_alike_in_blocks_of_any_size(tmp_path: Path, block_bytes: int) -> None:
    path = tmp_path / "games.pgn"
    path.write_text(PGN)
    reports = [GamesReport(), GamesReport()]
    whole, parts = (
        pa.concat_tables(read_pgn(Input(path, path.name, "pgn"), GamesOptions(), report, size))
        for report, size in zip(reports, (2**20, block_bytes), strict=True)
    )
    assert whole.num_rows == 2
    assert parts.to_pylist() == whole.to_pylist()
    assert reports[0] == reports[1]


@pytest.mark.parametrize(
    "text",
    [
        ANN + "\n1. e4 1-0\n" + CAT,
        "\ufeff" + ANN + "\n1. e4 1-0\n\n\n\n" + CAT[:-1],
        ANN + "1-0 " + CAT,  # a tag after the result, in its line
        ANN.replace("[", "  [") + "\n\t1. e4 1-0\n" + CAT,
        ANN.replace("\n", " ") + "\n1-0\n" + CAT,
        "\n\n".join(ANN.splitlines()) + "\n\n1-0\n" + CAT,
        "".join(sorted(ANN.splitlines(True))) + "\n1-0\n" + CAT,
        ANN.replace("[Date", "; by hand { not a comment\n[Date") + "1-0\n" + CAT,
        ANN.replace("[Date", "{ one\n[White \"eve\"] ; }[Date") + "1-0\n" + CAT,
        ANN.replace("[Date", "%escape [White \"eve\"] {\n[Date") + "1-0\n" + CAT,
        ANN.replace("[Date", "[Event \"a {b} ; c\"]\n[Date") + "1-0\n" + CAT,
        ANN + "\n1. e4 { from:\n[Date \"2020.01.01\"]\n[White \"eve\"]\n\n1. d4 } e5 1-0\n" + CAT,
        ANN + "\n1. e4 {[Event \"x\"]} (1. d4 {; } d5) ; 1... {\n e5 $1 1-0\n" + CAT,
        ANN + "\n{ nothing was played }\n" + CAT.replace("[White", "1-0\n[White"),
        ANN + CAT,  # neither moves nor a result: White again begins a game
        ANN + "\n{ [%clk 0:03:00] }\n" + CAT,
        ANN.replace("]", "  ] ").replace("[", "[ ") + "1-0\n" + CAT,
        ANN.replace("[Date", "[Event \"the \"big\" one\"] [Date") + "1-0\n" + CAT,
        ANN.replace("1970.01.11", "1970-01-11").replace("1-0", "1 : 0") + "1-0\n" + CAT,
        ANN + "[UTCDate \"????.??.??\"]\n[UTCTime \"12:00:00\"]\n1-0\n" + CAT,
        ANN + "[UTCDate \"1970.01.11\"]\n[UTCTime \"??:??:??\"]\n1-0\n" + CAT,
    ],
)  # fmt: skip
def test_games__are_found_in_every_form_of_the_standard(tmp_path: Path, text: str) -> None:
    for line_end in ("\n", "\r\n"):
        found, report = read(tmp_path, text.replace("\n", line_end))
        assert found == GAMES
        assert (report.games, report.left_out) == (2, {})


@pytest.mark.parametrize(
    ("old", "new", "note"),
    [
        ("[Date", "[WhiteElo 1500]\n[Date", "1 damaged tag not read (first: games.pgn, line 3: '[WhiteElo 1500]')"),
        ("[Date", "[Site \"x\n[Date", "1 damaged tag not read (first: games.pgn, line 3: '[Site \"x')"),
        ("[Date", "Site \"x\"]\n[Date", "1 damaged tag not read (first: games.pgn, line 3: 'Site \"x\"]')"),
        ("1-0\n", "1-0 {\n[Site \"x\"]\n}\n", "1 tag in comments, read as text (first: games.pgn, line 6)"),
        ("0-1\n", "0-1\n{ to the end\n", "1 comment without an end (first: games.pgn, line 12)"),
        ("[Black", "[White \"ann\"]\n[Black",
         "1 tag that a game has twice; the last one counts (first: games.pgn, line 2)"),
        ("[Date \"1970.01.11\"]", "[UTCDate \"1970.01.11\"]\n[UTCTime \"25:00\"]",
         "1 UTCTime that is no time of day; midnight is used (first: games.pgn, line 1: '25:00')"),
    ],
)  # fmt: skip
def test_findings__are_named_and_the_games_stay(tmp_path: Path, old: str, new: str, note: str) -> None:
    text = ANN + "1-0\n" + CAT
    at = text.rindex(old) if old == "0-1\n" else text.index(old)
    found, report = read(tmp_path, text[:at] + new + text[at + len(old) :])
    assert report.lines() == [note]
    assert found == GAMES


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("ann", "?", "with an unknown player"), ("ann", "-", "with an unknown player"),
        ("ann", "", "with an unknown player"), ("ann", "bob", "of a player against itself"),
        ("[White \"ann\"]", "[White ann]", "with an unknown player"),
        ("1970.01.11", "1970.??.??", "without a full date"), ("1970.01.11", "1970", "without a full date"),
        ("1970.01.11", "1970.01", "without a full date"), ("1970.01.11", "", "without a full date"),
        ("1970.01.11", "1970.00.00", "without a full date"), ("1970.01.11", "1970.02.29", "with a date that is none"),
        ("1970.01.11", "Jan 11", "with a date that is none"), ("1-0\"", "*\"", "unfinished"),
        ("1-0\"", "\"", "without a result"), ("1-0\"", "0-0\"", "decided by forfeit, '0-0'"),
        ("1-0\"", "+/-\"", "decided by forfeit, '+/-'"), ("[Result \"1-0\"]\n", "", "without a result"),
    ],
)  # fmt: skip
def test_games__that_nobody_rates_are_counted(tmp_path: Path, old: str, new: str, reason: str) -> None:
    found, report = read(tmp_path, ANN.replace(old, new) + "1-0\n" + CAT)
    assert found == GAMES[1:]
    assert report.lines()[-1] == f"left out: 1 game, {reason} (first: games.pgn, line 1)" or report.notes
    assert (report.games, report.n_left_out, list(report.left_out)) == (1, 1, [reason])


def test_refusals__name_the_line_and_are_skipped_on_request(tmp_path: Path) -> None:
    text = CAT + ANN.replace("1-0", "2-0") + "1-0\n"
    rule = (
        "games.pgn, line 7: a result must be 1-0, .* of the first player, got '2-0'; --on-error skip leaves such games"
    )
    with pytest.raises(SourceError, match=rule):
        read(tmp_path, text)
    found, report = read(tmp_path, text, on_error="skip")
    assert (found, report.n_left_out) == (GAMES[1:], 1)
    found, report = read(tmp_path, text.replace("ann", "?"))  # left out anyway
    assert (found, report.n_left_out) == (GAMES[1:], 1)


def test_dates__of_another_order_have_a_pattern(tmp_path: Path) -> None:
    text = (ANN + "1-0\n" + CAT).replace("1970.01.11", "11.01.1970").replace("1970.01.12", "12.01.1970")
    assert read(tmp_path, text, time_format="%d.%m.%Y")[0] == GAMES
    assert list(read(tmp_path, text)[1].left_out) == ["with a date that is none"]


@pytest.mark.parametrize(("date", "games"), [("2024.02.29", 1), ("2024.2.9", 1), ("2023.02.29", 0), ("2024.04.31", 0)])
def test_pgn__has_days_of_the_calendar(tmp_path: Path, date: str, games: int) -> None:
    report = read(tmp_path, f'[White "ann"]\n[Black "bob"]\n[Result "1-0"]\n[Date "{date}"]\n')[1]
    assert (report.games, report.n_left_out) == (games, 1 - games)


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-8"])
def test_text__of_any_encoding_is_read_if_named(tmp_path: Path, encoding: str) -> None:
    text = (ANN + "1-0\n" + CAT).replace("ann", "Jörg")
    found, _ = read(tmp_path, text.encode(encoding), encoding=encoding)
    assert found[0][1][0][0] == "Jörg"


def test_text__of_another_encoding_is_an_error_that_names_the_option(tmp_path: Path) -> None:
    data = (CAT + ANN + '[Site "Köln"]\n1-0\n').encode("latin-1")
    assert read(tmp_path, data)[0] == GAMES  # of the site no byte is read
    data = data.replace(b"ann", b"J\xf6rg")
    rule = r"line 7: White b'J\\xf6rg' is not UTF-8, byte 0xf6; name its encoding, .* --encoding latin-1"
    with pytest.raises(SourceError, match=rule):
        read(tmp_path, data)
    found, report = read(tmp_path, data, on_error="skip")
    assert (found, report.n_left_out) == (GAMES[1:], 1)
    with pytest.raises(SourceError, match="the text is not ascii: byte 0xf6"):
        read(tmp_path, data, encoding="ascii")
    with pytest.raises(SourceError, match="UTF-16, not UTF-8; --encoding utf-16 reads it"):
        read(tmp_path, CAT.encode("utf-16"))


def mutated(text: bytes, draw: np.random.Generator) -> bytes:
    """The text after a few edits, each of one byte or one line."""
    for _ in range(int(draw.integers(1, 6))):
        at = int(draw.integers(len(text)))
        byte = bytes([draw.choice(list(b'[]{};%"\\ \n\r1a-'))])
        line = text[int(draw.integers(len(text))) :][:30]
        left, right = text[:at], text[at:]
        text = left + [byte + right, byte + right[1:], right[1:], line + right][draw.integers(4)]
    return text


def one_by_one(lines: list[bytes]) -> tuple[list[tuple[bytes, bytes, int, bool]], bool]:
    """Tags as :class:`PgnLines` has them, and whether a comment is open at the end; every line is scanned."""
    tags, inside, moves = [], False, False
    for number, line in enumerate(lines, 1):
        scanned = scan_line(line, inside)
        for tag in scanned.tags:
            tags.append((tag.name, tag.value, number, tag.after_moves or moves))
            moves = False
        moves, inside = moves or scanned.moves, scanned.in_comment
    return tags, inside


@pytest.mark.parametrize("seeds", [range(60), pytest.param(range(60, 2_000), marks=pytest.mark.slow)])
def test_lines__of_a_block_are_read_as_line_by_line(seeds: range) -> None:
    for seed in seeds:
        draw = np.random.default_rng(seed)
        lines = mutated(PGN.encode() * 2, draw).split(b"\n")
        reader, found = PgnLines(GamesReport(), "f"), []
        bounds = [0, *np.sort(draw.integers(0, len(lines), 3)).tolist(), len(lines)]
        for start, stop in pairwise(bounds):
            tags = reader.read(pa.array(lines[start:stop], pa.binary()))
            columns = tags.name.to_pylist(), tags.value.to_pylist(), tags.line.tolist(), tags.after_moves.tolist()
            found += list(zip(*columns, strict=True))
        assert (found, reader.in_comment) == one_by_one(lines), seed


@pytest.mark.parametrize("seeds", [range(60), pytest.param(range(60, 1_000), marks=pytest.mark.slow)])
def test_damage__loses_no_game_in_silence(tmp_path: Path, seeds: range) -> None:
    game = (
        '[Event "e"]\n[White "w%d"]\n[Black "b%d"]\n[Result "1-0"]\n[Date "1970.01.0%d"]\n\n1. e4 { [%%clk 1] } 1-0\n\n'
    )
    text = "".join(game % (n, n, n) for n in range(1, 9)).encode()
    path = tmp_path / "games.pgn"
    for seed in seeds:
        draw = np.random.default_rng(seed)
        at = int(draw.integers(len(text)))
        byte = bytes([draw.choice(list(b'[]{};%"\\ \n\r1a-'))])
        broken = text[:at] + byte * int(draw.integers(2)) + text[at + int(draw.integers(2)) :]
        path.write_bytes(broken)
        report = GamesReport()
        for _ in read_pgn(Input(path, path.name, "pgn"), GamesOptions(on_error="skip"), report):
            pass
        assert report.games + report.n_left_out >= 8 or report.notes, (seed, broken)
        assert report.games <= 8


def test_pgn__a_game_of_too_many_tags_is_refused_in_any_block(tmp_path: Path) -> None:
    few = ANN + '[UTCTime "1:00:00"]\n' * (MAX_TAGS - 4)
    assert read(tmp_path, few + CAT)[0] == GAMES
    for block_bytes in (2**12, 2**24):
        (tmp_path / "games.pgn").write_text(CAT + few + '[UTCTime "1:00:00"]\n' + CAT)
        with pytest.raises(SourceError, match=r"line 7: the game has more than 1,000 tags, the limit; is it PGN\?"):
            list(
                read_pgn(Input(tmp_path / "games.pgn", "games.pgn", "pgn"), GamesOptions(), GamesReport(), block_bytes)
            )
