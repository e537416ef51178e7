"""The command that compares players."""

from __future__ import annotations

import click

from ..terminal.options import ChosenRun, chances_of_option, chosen_run, rows_format, run_option, usage
from ..terminal.output import Form, print_line, print_table, write_json, write_rows


@click.command()
@click.argument("handles", nargs=-1, required=True, metavar="HANDLE HANDLE...")
@run_option
@click.option("--home", is_flag=True, help="Of games: each pair with either player as the first one, who has the "
              "advantage that the run has learnt. By default on neutral ground.")  # fmt: skip
@chances_of_option
@rows_format("csv has a row for each pair; json also the players and their common contests.")
@chosen_run()
def compare(handles: tuple[str, ...], chosen: ChosenRun, home: bool, chances_of: str | None, form: Form) -> None:
    """Compare players of a run: common rounds, the chance of the next one, the difference of their skills.

    The chance is that of the first player to finish before the other one; a tie counts half. The difference has its
    standard deviation, and the chance that the skill of the first player is the higher one, which is not the chance
    to win the next round. Systems without an uncertainty, as elo, have no difference. Games between two have the
    chances of a win, a draw and a loss. A handle may be an alias. Unknown players are named, and the others compared.
    """
    import pyarrow as pa

    with usage():
        if len(set(handles)) < 2:
            raise ValueError("give at least two players: ranklake compare HANDLE HANDLE --run RUN")
    from ranklake.storage.names.hints import hint

    from ...answers.rated_run import no_games

    rated = chosen.rated()
    with usage():
        found = rated.compare(handles, chances_of, not home)
        if len(found["players"]) < 2:
            raise ValueError(f"these are names of one player, {found['players'][0]['handle']!r}; give two players")
        if home and "games" not in found:
            raise ValueError(f"--home is for games between two; {no_games(chosen.run)}")
    for one in found["unknown"]:
        line = f"no player {one['requested']!r} in run {chosen.run}{hint(one['requested'], one['near'])}"
        print_line(f"{line}; the others are compared", err=True)
    if note := found["note"]:
        print_line(note, err=True)
    if form.name == "json":
        write_json(found)
    elif form.name == "csv":
        write_rows(pa.Table.from_pylist(found["pairs"]), form)
    else:
        from ..terminal.show_pairs import compared_table, learnt_line

        print_table(compared_table(found["pairs"], rated.format))
        if "games" in found:
            print_line(learnt_line(found["games"], rated.format.decimals))
