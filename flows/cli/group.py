"""A click group that imports a command when it is used, and lists commands under headings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

import click

from .terminal.terminal import print_line

__all__ = ["LazyGroup"]


class LazyGroup(click.Group):
    """A group of commands in sections; a command's module is imported when the command is looked up.

    Parameters
    ----------
    sections
        For each heading the commands by name, each with its object (``module:attribute``) and its line in the list of
        commands.
    package
        The package to which relative modules belong.
    renamed
        The new name of each command by its old one, which still works, with a notice.
    """

    def __init__(
        self,
        *,
        sections: Mapping[str, Mapping[str, tuple[str, str]]],
        package: str,
        renamed: Mapping[str, str],
        **kwargs: Any,
    ) -> None:
        places = {name: place for commands in sections.values() for name, (place, _) in commands.items()}
        super().__init__(commands=_Commands(places, package), **kwargs)  # type: ignore[arg-type]  # read-only
        self._sections, self._renamed = sections, renamed

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and (name := self._renamed.get(args[0])) is not None:
            print_line(f"{args[0]} is called {name} now; the next release has the new name alone", err=True)
            args = [name, *args[1:]]
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands under their headings, in aligned columns, without importing them."""
        width = max(map(len, self.commands))
        with formatter.section("Commands"):
            for heading, commands in self._sections.items():
                with formatter.section(heading):
                    formatter.write_dl([(name.ljust(width), text) for name, (_, text) in commands.items()])


class _Commands(Mapping[str, click.Command]):
    """Commands by name."""

    def __init__(self, places: Mapping[str, str], package: str) -> None:
        self._places, self._package = places, package

    def __getitem__(self, name: str) -> click.Command:
        module, _, attribute = self._places[name].partition(":")
        command: click.Command = getattr(import_module(module, self._package), attribute)
        return command

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, name: object) -> bool:
        return name in self._places  # without an import
