"""Prefetching keeps the order, stays within its bound, and can be dropped at any moment in any thread."""

from __future__ import annotations

import threading
from itertools import count

import pytest

from ranklake.storage.lake.prefetch import prefetch

ANY = "ranklake-test"


@pytest.mark.parametrize("ahead", [0, 1, 3, 50])
@pytest.mark.parametrize("workers", [1, 4])
def test_prefetch__gives_results_in_order(ahead: int, workers: int) -> None:
    assert list(prefetch(lambda key: key * key, range(20), ahead, workers, ANY)) == [key * key for key in range(20)]
    assert list(prefetch(str, [], ahead, workers, ANY)) == []


@pytest.mark.bound("ranklake.flows.ingestion.response_archive._AHEAD", "ranklake.flows.rating.rating_pass._AHEAD")
def test_prefetch__draws_no_key_beyond_its_bound() -> None:
    drawn: list[int] = []
    fetched = prefetch(str, (drawn.append(key) or key for key in count()), 3, 2, ANY)
    assert [next(fetched), next(fetched)] == ["0", "1"]
    assert drawn == [0, 1, 2, 3, 4]


def test_prefetch__raises_the_error_in_the_place_of_the_result() -> None:
    fetched = prefetch(lambda key: 1 / key, [2, 1, 0, 4], 3, 2, ANY)
    assert [next(fetched), next(fetched)] == [0.5, 1.0]
    with pytest.raises(ZeroDivisionError):
        next(fetched)


def test_prefetch__dropped_while_the_interpreter_starts_a_thread_does_not_wait() -> None:
    """Garbage is collected in the thread that allocates, with the locks that this thread holds at that moment.

    Up to Python 3.12 a thread holds this lock while it starts, and a wait for the end of another thread needs it.
    """
    lock = getattr(threading, "_shutdown_locks_lock", None) or threading.Lock()
    fetched = [prefetch(str, range(9), 2, 2, ANY)]
    next(fetched[0])

    def drop() -> None:
        with lock:
            fetched.clear()

    dropping = threading.Thread(target=drop, daemon=True)
    dropping.start()
    dropping.join(20.0)
    assert not dropping.is_alive()
