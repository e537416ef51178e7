"""The commands that publish a run as tables, a site or in a database, serve runs by HTTP, and export one as a file."""

from __future__ import annotations

import os
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...common.progress import not_shown
from ...common.text import count
from ..terminal.apart import REMEDY, say_apart, strict_option
from ..terminal.brand_options import brand_options, public_url_option, shared_option
from ..terminal.options import (
    RUN,
    ChosenRun,
    LakeAddress,
    chosen_run,
    deviations_option,
    lake_option,
    make_form,
    places_options,
    provisional_option,
    run_option,
    safe_option,
    shown_places,
    steal_option,
    target_options,
    titles_option,
    usage,
)
from ..terminal.output import print_freshness, print_hidden, print_line, progress
from ..terminal.process import without_pandas

if TYPE_CHECKING:
    from ...publication.publish import PublishReport
    from ...site.publish import SiteReport


@click.command()
@run_option
@deviations_option
@click.option("--maintain", is_flag=True, help="Also merge small files, and remove files unused for a week.")
@click.option(
    "--afresh",
    "rebuild",
    is_flag=True,
    help="Write all again, which repairs damaged tables; readers keep the version before until it is complete.",
)
@click.option(
    "--no-index", is_flag=True, help="Without the index for fast commands and the server; deletes an existing one."
)
@click.option(
    "--site",
    metavar="DIR",
    help="Write a site of static files there instead, a folder or an address as s3://bucket/site.",
)
@target_options(
    "Write the tables into this database instead, as postgresql://USER@HOST/DATABASE, mariadb://USER@HOST/DATABASE or "
    "sqlite:///FILE."
)
@titles_option
@places_options
@brand_options
@public_url_option
@shared_option
@strict_option
@steal_option
@lake_option
def publish(
    run: str,
    maintain: bool,
    no_index: bool,
    site: str | None,
    target: dict[str, Any] | None,
    places: dict[str, Any],
    brand: dict[str, Any] | None,
    public_url: str,
    shared: int | None,
    lake: LakeAddress,
    **how: Any,
) -> None:
    """Publish a run as tables for other programs: leaderboard, ratings, players, contests.

    With --site, publish it as a web site instead: leaderboard, players, contests, comparison, distribution. With --to,
    write the same tables into a database, in one transaction.
    """
    without_pandas()
    from ...answers.rated_run import RatedRun

    if (site is not None or target is not None) and (maintain or no_index):
        option, other = "--maintain" if maintain else "--no-index", "--site" if site is not None else "--to"
        raise click.UsageError(f"{option} is for tables in the lake and not for {other}, which has no old files")
    if site is not None and target is not None:
        raise click.UsageError("--site and --to are two publishes: use a command for each")
    if site is None and (public_url or shared is not None):
        raise click.UsageError("--public-url and --shared are for --site; `ranklake serve` has its own --public-url")
    if target is not None and brand:
        raise click.UsageError("--brand, --title, --description and --logo are for pages, and a database has none")
    opened, how["places"] = lake.open(), places
    if places:
        from ...answers.rated_run import RatedRun

        shown_places(RatedRun(opened, run), places)
    what, units = (f"publishing {run}", "participations") if site is None else (f"site of {run}", "rows")
    with progress(what, units) as how["on_progress"]:
        report: SiteReport | PublishReport
        if site is not None:
            from ...site.publish import publish_site
            from ...site.shared import DEFAULT_SHARED, Shared

            about = Shared(f"{public_url}/" if public_url else "", DEFAULT_SHARED if shared is None else shared)
            report = publish_site(opened, run, site, brand=brand, shared=about, **how)
        elif target is not None:
            from ...publication.database import publish_to_database

            report = publish_to_database(opened, run, **target, **how)
        else:
            from ...publication.publish import publish as publish_run

            report = publish_run(opened, run, maintain=maintain, index=not no_index, brand=brand, **how)
    print_freshness(opened, run)
    print_line(f"run {run}: {report.line()}")
    say_apart(RatedRun(opened, run).components_line(remedy=REMEDY), run)


@click.command()
@click.option("--run", "runs", type=RUN, multiple=True, help="A published run; repeatable.  [default: all]")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on; 0.0.0.0 is all.")
@click.option(
    "--port", type=click.IntRange(0, 65_535), default=8080, show_default=True, help="Port; 0 takes a free one."
)
@click.option(
    "--root-path", default="", metavar="PATH", help="Path below which a proxy shows the server, for example /ratings."
)
@public_url_option
@lake_option
def serve(runs: tuple[str, ...], host: str, port: int, root_path: str, public_url: str, lake: LakeAddress) -> None:
    """Serve published runs by HTTP, read-only; new versions are taken up without a restart."""
    from ...serving.server import serve as serve_runs

    with usage():
        if root_path and (not root_path.startswith("/") or root_path.endswith("/")):
            raise ValueError(f"--root-path must begin with / and not end with it, got {root_path!r}")

    def started(address: str, names: list[str]) -> None:
        none = "no run yet (`ranklake publish` adds them)"
        print_line(f"serving {', '.join(names) or none} at {address}/")

    try:
        serve_runs(lake.open(), runs, host, port, root_path, public_url=public_url, on_start=started)
    except KeyboardInterrupt:  # the way to end a server
        print_line("stopped")


_SUFFIXES = {".csv": "csv", ".parquet": "parquet", ".jsonl": "jsonl", ".ndjson": "jsonl"}


@click.command()
@run_option
@click.option("--what", type=click.Choice(["ratings", "leaderboard", "problems", "results", "strengths",
              "coefficients", "pairs"]), required=True,
              help="ratings: one row a participation; leaderboard: one row a player; problems: one row a problem, with "
              "its difficulty; results: one row a problem that a participant attempted; others: of bt.")  # fmt: skip
@click.option("--format", "form", type=click.Choice(["csv", "parquet", "jsonl"]),
              help="By default from the extension of FILE, else csv.")  # fmt: skip
@click.option("-o", "--output", default="-", show_default=True, metavar="FILE",
              help="File to write; - is the standard output.")  # fmt: skip
@places_options
@provisional_option
@safe_option
@chosen_run(wide=False)
def export(
    chosen: ChosenRun, what: str, form: str | None, output: str, places: dict[str, Any], provisional: str, safe: bool
) -> None:
    """Export a table of a run as one file, in full precision: ratings, leaderboard, problems, strengths.

    The columns are those of the published tables. FILE is replaced when the export is complete.
    """
    from ...answers.rated_run import RatedRun
    from ...publication.export import atomic_file, export_rows, write_export

    suffix = Path(output).suffix.lower()
    with usage():
        if form is None and suffix not in ("", *_SUFFIXES):
            known = ", ".join(_SUFFIXES)
            raise ValueError(
                f"--output {output}: the extension must be one of {known}; or give the --format of the file"
            )
        if what != "leaderboard" and (places or provisional != "hide"):
            raise ValueError(f"places and provisional players are in --what leaderboard, got --what {what}")
        form = form or _SUFFIXES.get(suffix, "csv")
        make_form(form, safe)
        if output == "-" and form == "parquet" and sys.stdout.isatty():
            raise ValueError("cannot write Parquet to a terminal; give --output FILE, or a pipe")
        if output != "-" and Path(output).is_dir():
            raise ValueError(f"--output {output} is a folder; name a file in it")
        if output != "-" and not Path(output).absolute().parent.is_dir():
            raise ValueError(f"--output {output}: there is no folder {Path(output).parent}")
    opened, on_terminal = chosen.lake.open(), output == "-" and sys.stdout.isatty()
    shown_places(RatedRun(opened, chosen.run), places)  # refuses what the system has not
    hidden: list[int] = []
    with nullcontext(not_shown) if on_terminal else progress("exporting", "participations") as update:
        rows = export_rows(
            opened, chosen.run, what, chosen.deviations, chosen.titles, update, places, provisional, hidden.append
        )
        if output == "-":
            try:
                write_export(rows, what, form, sys.stdout.buffer, safe)
                sys.stdout.buffer.flush()
            except BrokenPipeError:  # the reader has closed the pipe
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            print_hidden(sum(hidden), err=True)
            return
        with atomic_file(Path(output)) as file:
            n = write_export(rows, what, form, file, safe)
    print_line(f"wrote {output}: {count(n, 'row')}, {Path(output).stat().st_size / 1e6:,.1f} MB")
    print_hidden(sum(hidden))
