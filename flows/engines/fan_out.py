"""Calls of many workers: the driver calls some of them, and each passes on the messages of others and their replies.

One call takes time on the driver. With ``n`` workers it makes about the square root of ``n`` calls, and so does each of
the workers that it calls, all at once. A worker that is not reached from there is called by the driver.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple

from .serialization import Frame, Frames, deserialize, embed, serialize

__all__ = ["DIRECT", "Lost", "call_group", "group_message", "groups", "unreached"]

DIRECT = 16  # workers up to which the driver calls all


class Lost(NamedTuple):
    """In place of a reply: a worker that did not answer another one, or has no memory left."""

    address: str
    reason: str
    out_of_memory: bool


def groups(n: int) -> list[range]:
    """The workers, in ranges: the driver calls the first worker of each range, which calls the others."""
    size = 1 if n <= DIRECT else math.isqrt(n - 1) + 1
    return [range(start, min(start + size, n)) for start in range(0, n, size)]


def group_message(
    method: str, seconds: float, own: Frames, others: Sequence[tuple[str, str, Frames]]
) -> tuple[Frame, ...]:
    """A message for the first worker of a group.

    Parameters
    ----------
    method
        Of the actors.
    seconds
        Timeout for the replies of the others.
    own
        The message for this worker.
    others
        Address, key of the actor and message of each other worker.
    """
    nested = [(address, key, embed(frames)) for address, key, frames in others]
    return tuple(serialize((method, seconds, embed(own), nested)))


async def call_group(call_here: Callable[[str, Frames], Awaitable[Frames]], frames: Sequence[Frame]) -> Frames:
    """Make the calls of a message of :func:`group_message`; returns all replies, that of this worker first."""
    method, seconds, own, others = deserialize(frames)
    passed_on = [_call(address, key, method, message, seconds) for address, key, message in others]
    *replies, here = await asyncio.gather(*passed_on, call_here(method, own))
    return serialize([reply if isinstance(reply, Lost) else embed(reply) for reply in (here, *replies)])


async def unreached(others: Sequence[tuple[str, str]], seconds: float) -> list[str]:
    """The addresses among those of other actors, each with its key, from which no answer comes within a time."""
    answers = await asyncio.gather(*(_call(address, key, "answer", (), seconds) for address, key in others))
    return [answer.address for answer in answers if isinstance(answer, Lost)]


async def _call(address: str, key: str, method: str, frames: Frames, seconds: float) -> Any:
    from distributed import get_worker
    from distributed.protocol.serialize import Serialize

    wrap: Callable[[Frame], Any] = Serialize
    try:
        call = get_worker().rpc(address).actor_execute(actor=key, function=method, args=[wrap(one) for one in frames])
        reply = await asyncio.wait_for(call, seconds)
        if reply["status"] != "OK":
            raise reply["exception"]
        return reply["result"]
    except TimeoutError:
        return Lost(address, f"it has not answered for {seconds:.0f} s", False)
    except Exception as error:
        return Lost(address, " ".join(str(error).split()) or type(error).__name__, isinstance(error, MemoryError))
