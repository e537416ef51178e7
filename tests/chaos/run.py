"""Attack ranklake for some minutes: `python tests/chaos/run.py --minutes 10`. Exit 1 if anything was violated."""

from __future__ import annotations

import argparse
import secrets
import signal
import sys
from pathlib import Path

# The folder of this file would hide modules of the standard library behind those beside it, such as numbers.
sys.path[0] = str(Path(__file__).resolve().parents[1])

from chaos.campaign import Campaign, replay  # noqa: E402
from chaos.cases import Case  # noqa: E402
from chaos.kinds import KINDS  # noqa: E402


def parse(arguments: list[str]) -> argparse.Namespace:
    """What was asked for; exits with 2 if that is wrong."""
    kinds = "\n".join(f"  {kind.name:9} {kind.about}" for kind in KINDS.values())
    parser = argparse.ArgumentParser(
        "run.py",
        description="Attack ranklake with hostile input, kills, pauses and faults, and report each violation.",
        epilog=f"kinds:\n{kinds}\n\nexit code: 0 no violation, 1 a violation, 2 wrong use",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--minutes", type=float, default=10.0, metavar="N", help="how long  [default: 10]")
    parser.add_argument("--cases", type=int, metavar="N", help="so many cases of each kind, however long that takes")
    parser.add_argument("--seed", type=int, metavar="S", help="what all cases are drawn from  [default: any]")
    parser.add_argument("--kind", action="append", choices=list(KINDS), metavar="KIND",
                        help="only this kind; repeatable")  # fmt: skip
    parser.add_argument("--workers", type=int, default=2, metavar="N", help="processes that try cases  [default: 2]")
    parser.add_argument("--limit", type=float, metavar="SECONDS", help="for one case  [default: by kind]")
    parser.add_argument("--failures", type=Path, default=Path(), metavar="DIR",
                        help="where cases that fail are written  [default: here]")  # fmt: skip
    parser.add_argument("--json", type=Path, metavar="FILE", help="write a summary")
    parser.add_argument("--replay", type=Path, metavar="FILE", help="only try the case of this file again")
    found = parser.parse_args(arguments)
    for name in ("minutes", "cases", "workers", "limit"):
        if getattr(found, name) is not None and not getattr(found, name) > 0:
            parser.error(f"--{name} must be > 0, got {getattr(found, name)}")
    if found.replay is not None:
        try:
            found.replay = Case.read(found.replay)
        except (OSError, ValueError) as error:
            parser.error(str(error))
        if found.replay.kind not in KINDS:
            parser.error(f"there is no kind {found.replay.kind!r}; kinds are {', '.join(KINDS)}")
    return found


def main() -> int:
    """Attack as the command line says; the exit code."""
    chosen = parse(sys.argv[1:])
    for number in (signal.SIGINT, signal.SIGTERM):  # whoever starts it in the background may have SIGINT ignored
        signal.signal(number, signal.default_int_handler)
    if chosen.replay is not None:
        return replay(chosen.replay, chosen.limit)
    seed = secrets.randbelow(10**6) if chosen.seed is None else chosen.seed
    kinds = [kind for kind in KINDS.values() if (kind.name in chosen.kind if chosen.kind else kind.share)]
    campaign = Campaign(seed, kinds, chosen.minutes * 60, chosen.cases, chosen.workers, chosen.limit, chosen.failures)
    return campaign.run(chosen.json)


if __name__ == "__main__":
    sys.exit(main())
