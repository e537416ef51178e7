"""The command line in the process of the tests: what it prints and how it ends."""

from __future__ import annotations

import sys
from dataclasses import dataclass

import pandas  # noqa: F401  # or a command would hide it from pyarrow in this process, see terminal.imports
import pytest

from ranklake.flows.cli.main import main


@dataclass(frozen=True)
class Answer:
    code: int
    out: str
    err: str


class Command:
    """``ranklake`` in this process."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch, self._capsys = monkeypatch, capsys

    def __call__(self, *arguments: object) -> Answer:
        self._monkeypatch.setattr(sys, "argv", ["ranklake", *map(str, arguments)])
        self._capsys.readouterr()
        try:
            main()
            code = 0
        except SystemExit as ended:
            code = int(ended.code or 0)
        out, err = self._capsys.readouterr()
        # the first command that rates with a system on this machine says that it compiles
        err = "".join(line for line in err.splitlines(keepends=True) if not line.startswith("compiling "))
        return Answer(code, out, err)

    def refuses(self, *arguments: object, code: int = 1) -> str:
        """What it says where it must end with this code: nothing on stdout, no traceback."""
        answer = self(*arguments)
        assert (answer.code, answer.out) == (code, "")
        assert "Traceback" not in answer.err
        message = answer.err.rpartition("Error: ")[2]
        assert 1 <= message.count("\n") <= 2
        return message.strip()
