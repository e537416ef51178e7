"""The command that rates matches as they happen."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..terminal.options import AGE, SPAN, LakeAddress, lake_option, steal_option, usage
from ..terminal.output import print_line
from ..terminal.process import interruptible

if TYPE_CHECKING:
    from ...live.engine import LiveRuns
    from ...live.service.writer import Opened

_STOPPED = "stopped; all accepted matches are in the log"


@click.command()
@click.option("--run", "names", multiple=True, required=True, help="Name of a run; repeatable, over one data set.")
@click.option("--log", required=True, metavar="ADDRESS", envvar="RANKLAKE_LOG", show_envvar=True,
              help="Where accepted matches are kept: file:DIR or postgresql://USER@HOST/DATABASE.")  # fmt: skip
@click.option("--dataset", help="Name of the data set; by default that of an existing --run.")
@click.option("--system", help="Rating system of a new run; by default elo-mmr.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE",
              help="A hyperparameter of a new run, as rho=0.04; repeatable.")  # fmt: skip
@click.option("--kind", type=click.Choice(["games", "contests"]), default="games", show_default=True,
              help="What a new data set has: games of two players, or contests of sides.")  # fmt: skip
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on; others need --tokens.")
@click.option(
    "--port", type=click.IntRange(0, 65_535), default=8090, show_default=True, help="Port; 0 takes a free one."
)
@click.option("--tokens", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
              help="Who may ask: lines `name:sha256` of tokens; read again at SIGHUP.")  # fmt: skip
@click.option("--public-read", is_flag=True, help="Reading needs no token.")
@click.option("--rate-limit", type=click.IntRange(1), default=10_000, show_default=True,
              help="Requests a second of one token.")  # fmt: skip
@click.option("--period", type=click.Choice(["hour", "day", "week"]), default="day", show_default=True,
              help="After each, its matches become a period of the data set.")  # fmt: skip
@click.option("--grace", type=SPAN, help="Time after the end of a period before it is written, as 15m.")  # fmt: skip
@click.option("--batch", type=click.IntRange(1), default=256, show_default=True,
              help="Matches that share one write to the log, at most.")  # fmt: skip
@click.option("--queue", type=click.IntRange(1_000), default=4_096, show_default=True,
              help="Matches that wait for the log, at most; further ones are answered 429.")  # fmt: skip
@click.option("--max-skew", nargs=2, type=SPAN, default=("300s", "1d"), show_default=True, metavar="AHEAD BEHIND",
              help="How far the time of a match may be from the clock.")  # fmt: skip
@click.option("--dedup-window", type=AGE, default="30d", show_default=True,
              help="How long the ids of matches stay in memory; older ones are looked up in the log.")  # fmt: skip
@click.option("--keep-log", type=AGE, default="30d", show_default=True,
              help="How long the log keeps matches that the data set has; ids stay for ever.")  # fmt: skip
@click.option("--check-nightly", "check", is_flag=True, help="Rate each period again when it is written, as `ranklake "
              "rate --check` does; a difference stops further writing.")  # fmt: skip
@click.option("--known-players-only", is_flag=True, help="Refuse matches with players that no match had before.")
@click.option("--max-new-players-per-minute", "new_players", type=click.IntRange(0), default=10_000, show_default=True,
              help="Further matches with new players are refused until the next minute.")  # fmt: skip
@steal_option
@lake_option
def rated(
    names: tuple[str, ...],
    log: str,
    dataset: str | None,
    system: str | None,
    settings: tuple[str, ...],
    kind: str,
    host: str,
    port: int,
    tokens: Path | None,
    public_read: bool,
    rate_limit: int,
    period: Any,
    grace: int | None,
    batch: int,
    queue: int,
    max_skew: tuple[int, int],
    dedup_window: int,
    keep_log: int,
    check: bool,
    known_players_only: bool,
    new_players: int,
    steal: bool,
    lake: LakeAddress,
) -> None:
    """Rate matches as they happen: a service whose answer to a match has the new ratings.

    Each match is in the log before it is answered. After each period its matches become a part of the data set, and
    the runs have their rounds, as `ingest` and `rate` would make them.
    """
    from ...live.service.running import ServiceOptions, need_extra, run_service
    from ...live.service.tokens import Access

    need_extra()
    with usage():
        options = ServiceOptions(host, port, batch, queue, Access(tokens, public_read, rate_limit))
        if not log.startswith(("file:", "postgresql:", "postgres:")):
            kind_of_log = log.partition(":")[0]  # the rest may have a password
            raise ValueError(f"--log must be file:DIR or postgresql://USER@HOST/DATABASE, got one of {kind_of_log!r}")

    from ...live.engine import LiveOptions, LiveRuns
    from ...live.log.opening import open_log
    from ...live.matches.match import MatchLimits
    from ...live.service.writer import Opened
    from ...rating.resolve import resolve_runs

    with usage():
        opened = lake.open(create=True)
        configs = resolve_runs(opened, dataset, names, [system] if system else [], settings)
        limits = MatchLimits(ahead=max_skew[0], behind=max_skew[1])
        live = LiveOptions(
            period=period, grace=grace or 0.0, keep_log=keep_log, known_players_only=known_players_only,
            new_players=new_players, games=kind == "games", limits=limits, check=check,
        )  # fmt: skip

    @contextmanager
    def opening() -> Iterator[Opened]:
        kept = open_log(log, configs[0].dataset, ids_seconds=dedup_window, steal=steal)
        try:
            with LiveRuns.open(opened, configs, kept, live, steal=steal) as runs:
                yield Opened(runs, kept)
        finally:
            kept.close()

    def started(address: str, runs: LiveRuns) -> None:
        print_line(f"rating matches of {', '.join(runs.names)} at {address}/; the last one has number {runs.last:,}")

    try:
        # containers and service managers send SIGTERM; Windows has Ctrl-Break instead
        with interruptible(_STOPPED, getattr(signal, "SIGBREAK", signal.SIGTERM)):
            run_service([config.run for config in configs], opening, options, started)
    except KeyboardInterrupt:  # the way to end a server
        print_line(_STOPPED)
