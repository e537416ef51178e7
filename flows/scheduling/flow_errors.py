"""Errors of a Prefect flow: temporary errors reschedule the run; others fail it with one message in its log.

Prefect's retries wait inside the process of the run, and the run keeps the concurrency slot of its deployment. A run of
a deployment is therefore returned to the server as ``AwaitingRetry``: its process ends, its slot is free, and a worker
starts the same run again at the scheduled time. A flow that is called as a function has no deployment and no slot; its
error is raised at once.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from prefect import get_run_logger
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import State
from prefect.context import FlowRunContext
from prefect.exceptions import Abort, ParameterTypeError
from prefect.states import AwaitingRetry

from ranklake.storage.lake.errors import LeaseHeldError

from ..common.text import message
from ..databases.errors import DatabaseError
from ..sources.base import SourceError
from .expected_errors import expected

RETRY_SECONDS = [60.0, 300.0, 900.0]  # the HTTP client has already retried for a minute
RETRYABLE = (SourceError, DatabaseError, LeaseHeldError)  # a site recovers, a file is repaired, another writer ends
_LOGGED = "_ranklake_logged"  # attribute of an error that is in the log of the run


class Rescheduled(Abort):
    """Ends the process of a rescheduled run; ``state`` is its new state for the engine of Prefect."""

    def __init__(self, state: State[Any]) -> None:
        super().__init__("the run is rescheduled")
        self.state = state


@contextmanager
def plain_errors() -> Iterator[None]:
    """The body of a flow or task: the message of an expected error is logged once, without a traceback.

    An unexpected error keeps its traceback.
    """
    try:
        yield
    except Exception as error:
        if expected(error) and not getattr(error, _LOGGED, False):
            get_run_logger().error(message(str(error)))
            setattr(error, _LOGGED, True)
        raise


@contextmanager
def reschedules() -> Iterator[None]:
    """The body of a flow: as :func:`plain_errors`; errors in :data:`RETRYABLE` reschedule the run."""
    try:
        with plain_errors():
            yield
    except RETRYABLE as error:
        _reschedule(error)
        raise


def _reschedule(error: Exception) -> None:
    """Return the run to the server and end it; do nothing without a deployment or without attempts."""
    context = FlowRunContext.get()
    if context is None or context.flow_run is None or context.flow_run.deployment_id is None:
        return
    with get_client(sync_client=True) as client:
        attempts = client.read_flow_run(context.flow_run.id).run_count
        if not 1 <= attempts <= len(RETRY_SECONDS):
            return
        seconds, reason = RETRY_SECONDS[attempts - 1], message(str(error))
        state: State[Any] = AwaitingRetry(
            scheduled_time=datetime.now(UTC) + timedelta(seconds=seconds),
            message=f"attempt {attempts} of {len(RETRY_SECONDS) + 1}: {reason}",
        )
        answer = client.set_flow_run_state(context.flow_run.id, state)
        if answer.state is None or answer.state.name != state.name:  # for example, the run is being cancelled
            return
    text = "attempt %d of %d failed, the next one is in %.0f s; the run holds no concurrency slot until then"
    get_run_logger().warning(text, attempts, len(RETRY_SECONDS) + 1, seconds)
    raise Rescheduled(answer.state)


class _NoTraceback(logging.Filter):
    """Drops the traceback that Prefect logs of an expected error, whose message is logged already."""

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if isinstance(record.exc_info, tuple) else None
        if isinstance(error, ParameterTypeError):  # raised before the body of the flow, so it is not logged yet
            record.msg, record.args, record.exc_info = "\n".join(map(message, str(error).splitlines())), (), None
        return not getattr(error, _LOGGED, False)


for _name in ("prefect.flow_runs", "prefect.task_runs", "prefect.engine"):
    logging.getLogger(_name).addFilter(_NoTraceback())
