"""The command that lists the rating systems, the presets, and their hyperparameters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from ..terminal.options import format_option, usage
from ..terminal.output import print_line, print_table, progress, write_json

if TYPE_CHECKING:
    from ...common.configuration.hyperparameters import Description, Parameter
    from ...common.configuration.settings import Preset


@click.command()
@click.argument("name", required=False)
@format_option("table", "json")
def systems(name: str | None, form: str) -> None:
    """List the rating systems and presets; with NAME, list the hyperparameters of one, for `rate --set`.

    Each hyperparameter of a system has a default, a range or choices, a unit and a meaning. A preset has their values.
    """
    from ranklake.rating_kernels import SYSTEMS

    from ...common.configuration.hyperparameters import describe
    from ...common.configuration.settings import PRESETS, find_system

    if name is None:
        every = [describe(system) for system in SYSTEMS.values()]
        if form == "json":
            write_json([description.to_json(parameters=False) for description in every], 1)
        else:
            _list(every, list(PRESETS.values()))
        return
    if name in PRESETS:
        preset = PRESETS[name].to_json()
        if form == "json":
            write_json(preset)
        else:
            _show_preset(preset)
        return
    with usage():
        description = describe(find_system(name))
    if form == "json":
        write_json(description.to_json(), 1)
    else:
        _show(description)


def _list(every: list[Description], presets: list[Preset]) -> None:
    from rich.table import Column, Table

    caption = "`ranklake systems NAME` lists the hyperparameters of one"
    table = Table(Column("system", no_wrap=True), "ignores", "description", caption=caption)
    for description in every:
        table.add_row(description.name, ", ".join(description.ignores), description.text)
    print_table(table)
    caption = "`ranklake systems NAME` lists the settings of one, for `rate --preset NAME`"
    table = Table(Column("preset", no_wrap=True), Column("system", no_wrap=True), "description", caption=caption)
    for preset in presets:
        table.add_row(preset.name, preset.system, preset.text)
    print_table(table)


def _show_preset(preset: dict[str, Any]) -> None:
    from rich.table import Column, Table

    table = Table(Column("parameter", no_wrap=True), Column("value", overflow="fold"))
    shown = {f"display {key}": value for key, value in preset["display"].items()}
    for key, value in (preset["params"] | shown).items():
        table.add_row(key, _value(value))
    print_line(f"{preset['name']}: {preset['description']}, a preset of {preset['system']}.")
    print_line(f"Source: {preset['source']}.")
    print_table(table)


def _show(description: Description) -> None:
    from rich.table import Column, Table
    from rich.text import Text

    columns = [Column("parameter", no_wrap=True), Column("default", overflow="fold")]
    columns += [Column("range", overflow="fold", max_width=20), Column("meaning", ratio=1)]
    table = Table(*columns, show_lines=True)
    for parameter in description.parameters:
        table.add_row(parameter.name, _value(parameter.default), Text(_range(parameter)), Text(parameter.text))
    print_line(f"{description.name}: {description.text}.")
    print_line(f"Source: {description.source}.")
    if description.ignores:
        print_line(f"Ignores these columns of contests: {', '.join(description.ignores)}.")
    if description.attributes:
        print_line(f"Reads {', '.join(description.attributes)} of players, as `ranklake attributes` records them.")
    print_table(table)


def _range(parameter: Parameter) -> str:
    unit = f" ({parameter.limits.unit})" if parameter.limits.unit else ""
    return f"{parameter.limits.text}{unit}{', or none' if parameter.default is None else ''}"


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if value is None or value == ():
        return "none"
    if isinstance(value, float):
        return "inf" if value == math.inf else f"{value:.6g}"
    return str(value)


@click.command()
@click.argument("systems", nargs=-1, metavar="[SYSTEM]...")
def warm(systems: tuple[str, ...]) -> None:
    """Compile the kernels of rating systems, by default of all; later commands load the compiled kernels.

    The kernels are stored in the user's cache folder, or in the folder NUMBA_CACHE_DIR.
    """
    from ranklake.rating_kernels import SYSTEMS
    from ranklake.rating_kernels.core import cache_folder
    from ranklake.rating_kernels.warm import CHANCES, PARTS, PROBLEMS, SCORES, SMOOTHING, STATIC, is_warm

    from ...common.configuration.settings import find_system
    from ...compilation.compile import compile_parts

    with usage():
        names = list(dict.fromkeys(find_system(name).name for name in systems or SYSTEMS))
    parts = [f"{name}.{part}" for name in names for part in PARTS] + [SCORES, SMOOTHING, CHANCES, PROBLEMS, STATIC]
    missing = [part for part in parts if not is_warm(part)]
    folder = cache_folder.folders()[1]
    if missing and folder is None:
        raise OSError("no writable folder for compiled kernels; set NUMBA_CACHE_DIR to one")
    with progress("compiling", "kernels") as update:

        def on_compile(systems: Sequence[str], kernels: int, total: int) -> None:
            update(kernels, total, f"of {', '.join(systems)}" if len(systems) <= 3 else f"of {len(systems)} systems")

        seconds = compile_parts(missing, on_compile)
    done = {part.partition(".")[0] for part in missing}
    for name in [*names, SCORES, SMOOTHING, CHANCES, PROBLEMS, STATIC]:
        print_line(f"{name}: {'compiled' if name in done else 'compiled before'}")
    print_line(f"{len(done)} compiled in {seconds:.1f} s; stored in {folder or cache_folder.folders()[0][0]}")
