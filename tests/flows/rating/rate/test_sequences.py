"""Any sequence of ratings, corrections and losses ends as an undisturbed run."""

from __future__ import annotations

from typing import Any

import pytest
from helpers.lakes import commit_often, contest, ingest, lake_of, rate_run, rated, same_tables, small_files
from helpers.rated_runs import folder, fresh
from helpers.strategies import histories, repeatable
from hypothesis import given
from hypothesis import strategies as st

from ranklake.storage import Run

STEPS = st.one_of(
    st.tuples(st.just("rate some"), st.integers(0, 8)),
    st.tuples(st.just("append"), st.integers(1, 2)),
    st.tuples(st.just("correct"), st.integers(0, 7)),
    st.tuples(st.just("lose manifest"), st.integers(0, 7)),
    st.tuples(st.just("lose data"), st.integers(0, 7)),
    st.tuples(st.just("lose snapshots"), st.integers(0, 2)),
    st.tuples(st.just("other parameters"), st.just(0)),
)


@pytest.mark.slow
@repeatable(60)
@given(histories(max_rounds=8), st.lists(STEPS, max_size=6))
def test_rate__after_any_events_equals_an_undisturbed_run(
    tmp_path_factory: pytest.TempPathFactory, history: list[Any], steps: list[tuple[str, int]]
) -> None:
    contests = []
    for i, round in enumerate(history):
        groups: dict[int, list[str]] = {}
        for player, lo, _ in round.standings:
            groups.setdefault(lo, []).append(player)
        tied = [groups[lo] for lo in sorted(groups)]
        more = {"weight": round.weight, "perf_ceiling": round.perf_ceiling}
        contests.append(contest(str(i), *tied, time_seconds=round.time, **more))
    with pytest.MonkeyPatch.context() as patch:
        commit_often(patch, segment_rows=6, snapshot_rows=12)
        small_files(patch, file_rows=9)
        path = tmp_path_factory.mktemp("any")
        n = (len(contests) + 1) // 2
        lake = lake_of(path / "lake", contests[:n])
        rate_run(lake)
        for what, number in steps:
            run = Run.open(lake, "run")
            segments = sorted(folder(lake).glob("*.json"))
            if what == "rate some":
                rate_run(lake, max_rounds=number, replace=True)
            elif what == "append":
                ingest(lake, contests[n : n + number])
                n = min(n + number, len(contests))
            elif what == "correct":
                at = number % n
                contests[at] = contest(str(at), *contests[at].handles.to_pylist()[::-1], "somebody else", weight=0.7)
                ingest(lake, [contests[at]])
            elif what.startswith("lose") and what != "lose snapshots" and segments:
                lost = segments[number % len(segments)]
                (lost if what == "lose manifest" else lost.with_suffix(".parquet")).unlink(missing_ok=True)
            elif what == "lose snapshots":
                run.prune_snapshots(number)
            elif what == "other parameters":
                rate_run(lake, max_rounds=2, rho=0.5, replace=True)
        rate_run(lake, replace=True)
        assert same_tables(rated(lake), rated(fresh(path, contests[:n])))
