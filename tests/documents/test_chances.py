"""The page about chances: its commands print what it shows, and its numbers follow from them."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from helpers.documents import ROOT, Follow, blocks_of, page, rows

from ranklake.rating_kernels.chances.three_way import three_way

TEXTS = [block for block in blocks_of(page("chances"), "text") if "Z =" not in block]


@pytest.mark.slow  # the commands take some seconds
def test_page__shows_what_its_commands_print(follow: Follow, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    shutil.copy(ROOT / "docs/_static/league.csv", tmp_path)
    printed = rows("\n".join(follow("".join(blocks_of(page("chances"), "sh")))))
    for line in "".join(TEXTS).splitlines():
        assert re.sub(r"\s+", " ", line) in printed
    assert Path("chances.svg").read_bytes().startswith(b"<?xml")


def test_decision__follows_from_the_chances() -> None:
    (line,) = (line for text in TEXTS for line in text.splitlines() if line.startswith("win 0.533"))
    win, draw, loss = map(float, re.findall(r"(?:win|draw|loss) ([\d.]+)", line))
    returns = [f"{chance * odds:.2f}" for chance, odds in ((win, 1.75), (draw, 4.20), (loss, 4.60))]
    assert f"{returns[0]}, {returns[1]} and {returns[2]}" in page("chances")
    expected = float(line.split()[-1])
    lower = three_way(expected, 1.0 - expected, 0.72).draw
    assert f"is {lower:.3f}" in page("chances")
    better = 1.0 / (1.0 + (1.0 / expected - 1.0) * 10.0 ** (-50.0 / 400.0))
    assert f"it is {three_way(better, 1.0 - better, 0.78).draw:.3f}, and" in page("chances")
    for nu, share in ((0.22, "10 %"), (0.67, "25 %"), (0.8, "29 %"), (2.0, "50 %")):
        assert f"{100 * nu / (2 + nu):.0f} %" == share
