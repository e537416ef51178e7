"""Attack ranklake for some minutes: `python tests/chaos/run.py --minutes 10`. Exit code 1 after a violation."""

from __future__ import annotations

import argparse
import secrets
import signal
import sys
from pathlib import Path

# With the folder of this file on the path, its modules would hide those of the standard library, such as numbers.
sys.path[0] = str(Path(__file__).resolve().parents[1])

from chaos.campaign import Campaign, replay  # noqa: E402
from chaos.cases import Case  # noqa: E402
from chaos.kinds import KINDS  # noqa: E402


def parse(arguments: list[str]) -> argparse.Namespace:
    """The parsed arguments; exits with 2 after wrong use."""
    kinds = "\n".join(f"  {kind.name:9} {kind.about}" for kind in KINDS.values())
    parser = argparse.ArgumentParser(
        "run.py",
        description="Attack ranklake with hostile input, kills, pauses and faults, and report each violation.",
        epilog=f"kinds:\n{kinds}\n\nexit code: 0 no violation, 1 a violation, 2 wrong use",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--minutes", type=float, default=10.0, metavar="N", help="time to run  [default: 10]")
    parser.add_argument("--cases", type=int, metavar="N", help="number of cases of each kind, without a time limit")
    parser.add_argument("--seed", type=int, metavar="S", help="seed of all cases  [default: any]")
    parser.add_argument("--kind", action="append", choices=list(KINDS), metavar="KIND",
                        help="only this kind; repeatable")  # fmt: skip
    parser.add_argument("--workers", type=int, default=2, metavar="N", help="number of processes  [default: 2]")
    parser.add_argument("--limit", type=float, metavar="SECONDS", help="for one case  [default: by kind]")
    parser.add_argument("--failures", type=Path, default=Path(), metavar="DIR",
                        help="folder for the files of failed cases  [default: here]")  # fmt: skip
    parser.add_argument("--json", type=Path, metavar="FILE", help="write a summary")
    parser.add_argument("--replay", type=Path, metavar="FILE", help="only run the case of this file again")
    options = parser.parse_args(arguments)
    for name in ("minutes", "cases", "workers", "limit"):
        if getattr(options, name) is not None and not getattr(options, name) > 0:
            parser.error(f"--{name} must be > 0, got {getattr(options, name)}")
    if options.replay is not None:
        try:
            options.replay = Case.read(options.replay)
        except (OSError, ValueError) as error:
            parser.error(str(error))
        if options.replay.kind not in KINDS:
            parser.error(f"there is no kind {options.replay.kind!r}; kinds are {', '.join(KINDS)}")
    return options


def main() -> int:
    """Run the suite with the options of the command line; returns the exit code."""
    chosen = parse(sys.argv[1:])
    for number in (signal.SIGINT, signal.SIGTERM):  # SIGINT may be ignored in a background process
        signal.signal(number, signal.default_int_handler)
    if chosen.replay is not None:
        return replay(chosen.replay, chosen.limit)
    seed = secrets.randbelow(10**6) if chosen.seed is None else chosen.seed
    kinds = [kind for kind in KINDS.values() if (kind.name in chosen.kind if chosen.kind else kind.share)]
    campaign = Campaign(seed, kinds, chosen.minutes * 60, chosen.cases, chosen.workers, chosen.limit, chosen.failures)
    return campaign.run(chosen.json)


if __name__ == "__main__":
    sys.exit(main())
