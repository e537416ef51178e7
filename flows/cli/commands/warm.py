"""The command that compiles kernels before the first run, for images and machines of a cluster."""

from __future__ import annotations

from collections.abc import Sequence

import click

from ..terminal.terminal import print_line, progress, usage

__all__ = ["warm"]


@click.command()
@click.argument("systems", nargs=-1, metavar="[SYSTEM]...")
def warm(systems: tuple[str, ...]) -> None:
    """Compile the kernels of rating systems, by default of all; later commands load the compiled kernels.

    The kernels are stored in the user's cache folder, or in the folder NUMBA_CACHE_DIR.
    """
    from ranklake.rating_kernels import SYSTEMS
    from ranklake.rating_kernels.core import cache_folder
    from ranklake.rating_kernels.warm import PARTS, SCORES, SMOOTHING, is_warm

    from ...common.configuration.settings import find_system
    from ...compilation.compile import compile_parts

    with usage():
        names = list(dict.fromkeys(find_system(name).name for name in systems or SYSTEMS))
    parts = [f"{name}.{part}" for name in names for part in PARTS] + [SCORES, SMOOTHING]
    missing = [part for part in parts if not is_warm(part)]
    folder = cache_folder.folders()[1]
    if missing and folder is None:
        raise OSError("no writable folder for compiled kernels; set NUMBA_CACHE_DIR to one")
    with progress("compiling", "kernels") as update:

        def on_compile(systems: Sequence[str], kernels: int, total: int) -> None:
            update(kernels, total, f"of {', '.join(systems)}" if len(systems) <= 3 else f"of {len(systems)} systems")

        seconds = compile_parts(missing, on_compile)
    done = {part.partition(".")[0] for part in missing}
    for name in [*names, SCORES, SMOOTHING]:
        print_line(f"{name}: {'compiled' if name in done else 'compiled before'}")
    print_line(f"{len(done)} compiled in {seconds:.1f} s; stored in {folder or cache_folder.folders()[0][0]}")
