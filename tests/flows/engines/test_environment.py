"""Workers with other code are refused; another processor is only warned about."""

from __future__ import annotations

import logging

import pytest

from ranklake.flows.engines.environment import PACKAGES, check_environments, environment
from ranklake.flows.engines.protocols import EngineError


@pytest.mark.parametrize("what", ["python", "kernels", *PACKAGES])
@pytest.mark.parametrize("there", ["0.1", "not installed", None])
def test_workers__with_other_versions_are_refused_by_name(what: str, there: str | None) -> None:
    worker = environment()
    del worker[what]
    if there is not None:
        worker[what] = there
    told = rf"a worker runs other code: {what} {there or 'unknown'} \(here .*\); install the same ranklake and packages"
    with pytest.raises(EngineError, match=told):
        check_environments([environment(), worker])


def test_workers__with_another_processor_are_warned_about(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "ranklake.cluster"):
        check_environments([environment() | {"processor": "abacus"}])
    assert [record.getMessage().partition(",")[0] for record in caplog.records] == ["a worker has the processor abacus"]
