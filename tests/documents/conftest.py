"""Commands of the documents, in an empty folder."""

from __future__ import annotations

import io
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from helpers.commands import Command
from helpers.documents import Follow


@pytest.fixture
def follow(invoke: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Follow:
    """Runs the ranklake commands of a text, with further words; each must succeed. Returns what each printed, as one.

    Commands of one line are joined by ``&&``; a command may read a file.
    """
    monkeypatch.chdir(tmp_path)

    def followed(text: str, more: Sequence[object] = ()) -> list[str]:
        printed = []
        for command in re.split(r"\n|&&", text):
            words, _, file = command.partition(" < ")
            program, *arguments = shlex.split(words, comments=True) or [""]
            if program.endswith("ranklake"):
                if file:
                    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(Path(file.strip()).read_bytes())))
                answer = invoke(*arguments, *more)
                assert answer.code == 0, (command, answer.err)
                printed.append(answer.out + answer.err)
        return printed

    return followed
