"""A run of the suite: cases of all kinds, each with its share of the time, and a report."""

from __future__ import annotations

import json
import shutil
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from chaos.cases import Case, Result, case_seed
from chaos.kinds import KINDS, Kind
from chaos.shrinking import shrink
from chaos.workers import Worker

SHRINKING_SECONDS = 30.0
SHRUNK = 3  # number of cases of one kind and rule that are made smaller
SHOWN = 3000  # maximum length of a printed case, characters
TICK_SECONDS = 20.0  # between lines of progress
COUNTS = ("kills", "in time", "pauses", "faults", "requests", "commands", "records")


class Campaign:
    """Cases of some kinds, begun for some time, or a number of each kind; failed ones are kept in a folder.

    ``limit``: seconds for one case, in place of the limit of its kind.
    """

    def __init__(
        self,
        seed: int,
        kinds: Sequence[Kind],
        seconds: float,
        cases: int | None,
        workers: int,
        limit: float | None,
        failures: Path,
    ) -> None:
        self._seed, self._seconds, self._cases = seed, seconds, cases
        self._n_workers, self._limit, self._failures = workers, limit, failures
        self._kinds = list(kinds)
        self._lock = threading.Lock()
        self._next = Counter(dict.fromkeys((kind.name for kind in self._kinds), 0))
        self._spent = dict.fromkeys(self._next, 0.0)
        self._counts = {name: Counter[str]() for name in self._next}
        self._violations: list[dict[str, object]] = []
        self._broken: Counter[tuple[str, str]] = Counter()
        self._faults: list[BaseException] = []
        self._ending = False

    def run(self, summary: Path | None = None) -> int:
        """Run cases until the time is over; print a report, and return the exit code."""
        how_long = f"{self._cases} cases of each kind" if self._cases else f"{self._seconds / 60:g} minutes"
        print(f"chaos: seed {self._seed}, {how_long}, {self._n_workers} processes", flush=True)
        began, interrupted = time.monotonic(), False
        self._stop_at = began + self._seconds
        scratch = Path(tempfile.mkdtemp(prefix="ranklake-chaos-"))
        workers = [Worker(scratch / str(number), self._limit) for number in range(self._n_workers)]
        threads = [threading.Thread(target=self._work, args=(worker,)) for worker in workers]
        try:
            for thread in threads:
                thread.start()
            tick = began
            while any(thread.is_alive() for thread in threads):
                for thread in threads:
                    thread.join(0.1)
                if time.monotonic() - tick > TICK_SECONDS:
                    tick = time.monotonic()
                    print(f"chaos: {tick - began:.0f} s, {self._line()}", flush=True)
        except KeyboardInterrupt:
            interrupted = True
            print("chaos: interrupted", flush=True)
        finally:
            self._ending = True
            if interrupted:
                for worker in workers:
                    worker.stop()
            for thread in threads:
                thread.join()
            shutil.rmtree(scratch, ignore_errors=True)
        self._report(time.monotonic() - began)
        if summary is not None:
            summary.write_text(json.dumps(self._summary(time.monotonic() - began), indent=1) + "\n")
        for error in self._faults:
            print(f"chaos: the suite itself failed: {error!r}", flush=True)
        return 1 if self._violations or self._faults or interrupted else 0

    def _work(self, worker: Worker) -> None:
        """Run cases in one thread until the end."""
        try:
            while (case := self._draw()) is not None:
                began = time.monotonic()
                result = worker.run(case)
                if self._ending:
                    return
                self._file(worker, result)
                with self._lock:
                    self._spent[case.kind] += time.monotonic() - began
        except KeyboardInterrupt:
            pass
        except BaseException as error:
            self._faults.append(error)
        finally:
            worker.close()

    def _draw(self) -> Case | None:
        """The next case, of the kind that is farthest behind its share."""
        with self._lock:
            kinds = [kind for kind in self._kinds if self._cases is None or self._next[kind.name] < self._cases]
            if self._ending or not kinds or (self._cases is None and time.monotonic() > self._stop_at):
                return None
            kind = min(kinds, key=lambda kind: self._spent[kind.name] / (kind.share or 1.0))
            number = self._next[kind.name]
            self._next[kind.name] += 1
            self._spent[kind.name] += 1e-3  # two concurrent threads begin with different kinds
            return Case(kind.name, case_seed(self._seed, kind.name, number))

    def _file(self, worker: Worker, result: Result) -> None:
        """Count the result of a case, and make a failed case smaller."""
        kind = result.case.kind
        with self._lock:
            self._counts[kind].update(result.counts)
            self._counts[kind]["cases"] += 1
            self._counts[kind]["violations"] += bool(result.rule)
            self._broken[kind, result.rule] += 1
            again = self._broken[kind, result.rule] > SHRUNK
        if not result.rule:
            return
        path = self._failures / f"chaos-{kind}-{result.case.seed}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(result.case.to_json() + "\n")  # before shrinking, which may be interrupted
        if not again:
            result = smallest(worker, result)
            path.write_text(result.case.to_json() + "\n")
        case = result.case
        with self._lock:
            self._violations.append({"kind": kind, "seed": case.seed, "rule": result.rule, "file": str(path)})
            print(f"chaos: VIOLATION {kind}, seed {case.seed}: {result.rule}; replay with --replay {path}", flush=True)
            if not again:
                text = case.to_json()
                print(f"{result.detail.rstrip()}\n{f'case: {text}' if len(text) < SHOWN else ''}", flush=True)

    def _line(self) -> str:
        with self._lock:
            cases = ", ".join(f"{name} {counts['cases']:,}" for name, counts in self._counts.items())
            return f"{cases}; violations {len(self._violations):,}"

    def _report(self, seconds: float) -> None:
        shown = ["cases", *(name for name in COUNTS if any(counts[name] for counts in self._counts.values()))]
        print(f"chaos: seed {self._seed}, {seconds:.0f} s")
        print("  ".join(["kind     ", *(f"{name:>9}" for name in [*shown, "violations"])]))
        for kind, counts in self._counts.items():
            cells = [f"{counts[name]:9,}" if counts[name] or name == "cases" else " " * 9 for name in shown]
            print("  ".join([f"{kind:9}", *cells, f"{counts['violations']:10,}"]), flush=True)
        for (kind, rule), n in sorted(self._broken.items()):
            if rule:
                print(f"violations of {kind}: {n:,} times {rule}", flush=True)

    def _summary(self, seconds: float) -> dict[str, object]:
        kinds = {name: {"seconds": round(self._spent[name], 1), **counts} for name, counts in self._counts.items()}
        return {"seed": self._seed, "seconds": round(seconds, 1), "kinds": kinds, "violations": self._violations}


def smallest(worker: Worker, result: Result) -> Result:
    """The smallest known case that fails with the same rule."""
    best, tries = result, KINDS[result.case.kind].tries
    if result.case.parameters is None:  # the process ended before it returned them
        best.case = worker.run(result.case, only_draw=True).case

    def fails(parameters: dict[str, object]) -> bool:
        nonlocal best
        for _ in range(tries):
            found = worker.run(result.case.with_parameters(parameters))
            if found.rule == result.rule:
                best = found
                return True
        return False

    if result.case.parameters is not None:
        shrink(result.case.parameters, fails, SHRINKING_SECONDS)
    return best


def replay(case: Case, limit: float | None) -> int:
    """Run one case again, print its result, and return the exit code."""
    scratch = Path(tempfile.mkdtemp(prefix="ranklake-chaos-"))
    worker = Worker(scratch / "0", limit)
    try:
        for _ in range(KINDS[case.kind].tries):
            result = worker.run(case)
            if result.rule:
                break
    except KeyboardInterrupt:
        worker.stop()
        print("chaos: interrupted")
        return 1
    finally:
        worker.close()
        shutil.rmtree(scratch, ignore_errors=True)
    if result.rule:
        print(f"chaos: VIOLATION {case.kind}, seed {case.seed}: {result.rule}\n{result.detail.rstrip()}")
    else:
        print(f"chaos: no violation by {case.kind}, seed {case.seed}")
    return 1 if result.rule else 0
