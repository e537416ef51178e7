"""Processes that run cases: a process that takes too long is ended, with its children."""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from chaos.cases import Case, Result
from chaos.kinds import KINDS

STARTING_SECONDS = 240.0  # extra time for a first case, which may have to compile and to start servers
ENDING_SECONDS = 10.0
_TESTS = Path(__file__).parents[1]
_DEAD = "the process of the case ended"


class Worker:
    """A process that runs cases, started again after its end; it has its own process group, and makes its own folder.

    ``limit``: seconds of a case, in place of the limit of its kind.
    """

    def __init__(self, folder: Path, limit: float | None = None) -> None:
        self._folder, self._limit = folder, limit
        self._process: subprocess.Popen[str] | None = None
        self._known: set[str] = set()  # kinds of earlier cases
        self._stopped = False

    def run(self, case: Case, only_draw: bool = False) -> Result:
        """Run a case; or only draw its parameters."""
        limit = self._limit or KINDS[case.kind].seconds + STARTING_SECONDS * (case.kind not in self._known)
        process, began = self._process or self._start(), time.monotonic()
        assert process.stdin is not None
        assert process.stdout is not None
        with suppress(BrokenPipeError):  # reported below
            process.stdin.write(json.dumps({"case": asdict(case), "only_draw": only_draw}) + "\n")
            process.stdin.flush()
        ready, _, _ = select.select([process.stdout], [], [], limit)
        line = process.stdout.readline() if ready else ""
        seconds = time.monotonic() - began
        if not line:
            rule = _DEAD if ready else "no end in time"
            detail = f"after {seconds:.1f} s; its last words: {self._last_words()}"
            self._end(at_once=True)
            return Result(case, rule, detail, seconds=seconds)
        self._known.add(case.kind)
        result = Result.of_json(line)
        if result.rule.startswith("the check fails"):
            self._end()  # its state is unknown
        return result

    def stop(self) -> None:
        """End the running case from another thread; its result is that the process ended."""
        self._stopped = True
        process = self._process
        if process is not None and process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)

    def close(self) -> None:
        """End the process and delete its folder."""
        self._end()

    def _start(self) -> subprocess.Popen[str]:
        if self._stopped:
            raise KeyboardInterrupt
        self._folder.mkdir()
        program = f"import sys; sys.path[:0] = {[str(_TESTS), str(_TESTS.parent)]!r}\n"
        program += f"from chaos.worker import serve\nserve({str(self._folder)!r})"
        with (self._folder / "words").open("wb") as words:
            self._process = subprocess.Popen(
                [sys.executable, "-c", program],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=words,
                text=True,
                cwd=_TESTS.parent,
                start_new_session=True,
            )
        self._known.clear()
        return self._process

    def _end(self, at_once: bool = False) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None
        assert process.stdout is not None
        with suppress(BrokenPipeError):
            process.stdin.close()
        process.stdout.close()
        give_up = time.monotonic() + ENDING_SECONDS * (not (self._stopped or at_once))
        # The process is reaped after the end of its group: until then no other group can have its number.
        ended = os.WEXITED | os.WNOHANG | os.WNOWAIT
        while os.waitid(os.P_PID, process.pid, ended) is None and time.monotonic() < give_up:
            time.sleep(0.01)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _last_words(self) -> str:
        try:
            return (self._folder / "words").read_text(errors="replace")[-2000:]
        except OSError:
            return ""
