"""The command ``ranklake``: its group of commands and its exit codes."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click

from .terminal.output import print_line, write_utf8
from .terminal.process import escape_logs, interruptible, print_traceback, print_usage

# By command: module, attribute, and a line of at most 61 characters.
SECTIONS = {
    "Ingest and correct": {
        "ingest": (".commands.ingest.group:ingest", "Ingest contests from files, databases or sites."),
        "normalise": (".commands.ingest.sites:normalise", "Parse the archived responses of a site again."),
        "remove": (".commands.corrections:remove", "Remove contests from a data set."),
        "amend": (".commands.corrections:amend", "Disqualify players of a contest, or list its corrections."),
        "alias": (".commands.corrections:alias", "Record that a player has a new name."),
        "unalias": (".commands.corrections:unalias", "Remove an alias."),
        "season": (".commands.corrections:season", "Start seasons, with a soft reset of ratings or without."),
        "log": (".commands.corrections:log", "List the manual corrections of a data set."),
        "attributes": (".commands.corrections:attributes", "Record countries and other attributes of players."),
    },
    "Rate": {
        "rate": (".commands.rate:rate", "Bring a run up to date with its data set."),
        "follow": (".commands.follow:follow", "Ingest new contests, rate and publish, once or repeatedly."),
        "rated": (".commands.rated:rated", "Rate matches as they happen, by HTTP."),
        "smooth": (".commands.rate:smooth", "Smooth a run: skills given all rounds before and after."),
        "systems": (".commands.systems:systems", "List the rating systems and their hyperparameters."),
        "warm": (".commands.systems:warm", "Compile the kernels of rating systems ahead of use."),
    },
    "Show and publish": {
        "leaderboard": (".commands.results:leaderboard", "Show the players of a run, best first."),
        "player": (".commands.results:player", "Show every rated round of one player."),
        "compare": (".commands.compare:compare", "Compare players: common rounds, chances, differences."),
        "explain": (".commands.results:explain", "Explain the change of a player's rating in a contest."),
        "problems": (".commands.problems:problems", "Show how difficult problems were, from who solved them."),
        "strengths": (".commands.strengths:strengths", "Show the strengths that explain all games at once."),
        "predict": (".commands.predict:predict", "Predict the result of a future round."),
        "quality": (".commands.predict:quality", "Show how even a match between sides would be."),
        "balance": (".commands.predict:balance", "Split players into two even teams; parties stay together."),
        "teamrate": (".commands.predict:teamrate", "Show the rating of a team of players."),
        "preview": (".commands.predict:preview", "Show rating changes from standings; nothing is written."),
        "plot": (".commands.plot:plot", "Draw players' histories or the distribution of ratings."),
        "export": (".commands.publish:export", "Export ratings or the leaderboard of a run as one file."),
        "publish": (".commands.publish:publish", "Publish a run as tables or as a web site."),
        "serve": (".commands.publish:serve", "Serve published runs by HTTP."),
    },
    "Evaluate": {
        "evaluate": (".commands.evaluation:evaluate", "Score how well ratings predicted results; compare runs."),
        "benchmark": (".commands.benchmark:benchmark", "Compare rating systems on histories in one report."),
        "diff": (".commands.results:diff", "Compare ratings of two runs: quantiles, gains, losses."),
        "tune": (".commands.evaluation:tune", "Find hyperparameters."),
        "experiment": (".commands.evaluation:experiment", "Reproduce an experiment of the papers."),
    },
    "Maintain": {
        "runs": (".commands.maintenance:runs", "List the data sets and runs of a lake and their state."),
        "verify": (".commands.maintenance:verify", "Check everything in a lake; report each problem."),
        "compact": (".commands.maintenance:compact", "Merge small files into larger ones."),
        "delete": (".commands.maintenance:delete", "Delete a run or a data set."),
    },
}

RENAMED = {"search": "tune", "compare": "diff"}  # the old names work in this release only


class LazyGroup(click.Group):
    """A group of commands in sections; a command's module is imported when the command is looked up.

    ``sections`` has for each heading the commands by name, each with its object (``module:attribute``, in ``package``)
    and its line in the list; ``renamed`` the new name of each command by its old one, which still works, with a notice.
    """

    def __init__(
        self,
        *,
        sections: Mapping[str, Mapping[str, tuple[str, str]]],
        package: str,
        renamed: Mapping[str, str],
        **kwargs: Any,
    ) -> None:
        self._sections, self._package, self._renamed = sections, package, renamed
        self._places = {name: place for commands in sections.values() for name, (place, _) in commands.items()}
        super().__init__(commands=dict.fromkeys(self._places), **kwargs)  # type: ignore[arg-type]  # names only

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._places)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._places:
            return None
        module, _, attribute = self._places[cmd_name].partition(":")
        command: click.Command = getattr(import_module(module, self._package), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and (name := self._renamed.get(args[0])) is not None and not self._is_command(args):
            print_line(f"{args[0]} is called {name} now; the next release has the new name alone", err=True)
            args = [name, *args[1:]]
        return super().resolve_command(ctx, args)

    def _is_command(self, args: list[str]) -> bool:
        """Whether an old name means the command that has it now: a comparison of players names its run."""
        return args[0] in self._places and any(arg.startswith(("--run", "--help", "-h")) for arg in args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands under their headings, in aligned columns, without importing them."""
        width = max(map(len, self.commands))
        with formatter.section("Commands"):
            for heading, commands in self._sections.items():
                with formatter.section(heading):
                    formatter.write_dl([(name.ljust(width), text) for name, (_, text) in commands.items()])


@click.group(
    cls=LazyGroup,
    sections=SECTIONS,
    renamed=RENAMED,
    package=__package__,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.version_option(package_name="ranklake")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def cli(debug: bool) -> None:
    """Rate players from the whole history of ranked contests.

    `ingest` writes contests to a lake of Parquet files. `rate` rates every round in time order and commits the ratings.
    `leaderboard` and `player` show them; `publish` writes tables for other tools.
    """
    escape_logs()


_INTERRUPTED = "interrupted; committed data stay, and the same command continues"


def main() -> None:
    """Run a command; exit with 0 (done), 1 (failed) or 2 (wrong use). Tracebacks are for ``--debug`` and bugs."""
    write_utf8()
    try:
        with interruptible(_INTERRUPTED):
            cli.main(standalone_mode=False)
    except click.exceptions.Exit as ended:
        sys.exit(ended.exit_code)
    except click.UsageError as error:
        print_usage(error)
        sys.exit(2)
    except (KeyboardInterrupt, click.Abort):
        print_line(_INTERRUPTED, err=True)
        sys.exit(1)
    except Exception as error:
        from ..scheduling.expected_errors import expected

        # Arguments after the command are its own.
        asked = itertools.takewhile(lambda word: word.startswith("-"), sys.argv[1:])
        if "--debug" in asked or not expected(error):
            print_traceback(error)
            sys.exit(1)
        print_line(f"Error: {_sentence(error)}", err=True)
        sys.exit(getattr(error, "exit_code", 1))


def _sentence(error: Exception) -> str:
    """The message of an error; of the operating system's without its number, as ``x.csv: Permission denied``."""
    if isinstance(error, OSError) and error.strerror and error.filename:
        from ranklake.storage.lake.access.space import free_space, is_full

        free = f" ({free_space(os.fsdecode(error.filename))})" if is_full(error) else ""
        return f"{error.filename}: {error.strerror}{free}"
    return str(error)
