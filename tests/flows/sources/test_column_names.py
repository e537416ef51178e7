"""The note about the columns of a table."""

from __future__ import annotations

import pytest

from ranklake.flows.sources.column_names import MAX_LISTED, Columns


@pytest.mark.parametrize("n", [1, MAX_LISTED, MAX_LISTED + 1, 40])
def test_notes__list_some_of_the_ignored_columns_and_count_all(n: int) -> None:
    others = [f"x{i}" for i in range(n)]
    used = {"contest": "contest", "player": "player", "rank": "rank"}
    text = Columns().notes(used, [*used, *others])
    listed = ", ".join(others[:MAX_LISTED]) + (f", ... ({n} in all)" if n > MAX_LISTED else "")
    assert text == f"columns used: contest, player, rank; ignored: {listed}"
