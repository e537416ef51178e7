"""An empty lake, a site to follow, and a Prefect server for tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from helpers.site import Site
from helpers.timeouts import TIMEOUT

import ranklake.flows.scheduling.follow
from ranklake.storage import Contest, Lake


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake.open(tmp_path / "lake", create=True)


@pytest.fixture
def follow_site(monkeypatch: pytest.MonkeyPatch) -> Callable[[list[Contest]], Site]:
    """Make a site with some contests, which replaces every other site of ``follow``."""

    def make(contests: list[Contest]) -> Site:
        site = Site(contests)
        monkeypatch.setattr(ranklake.flows.scheduling.follow, "update", site.update)
        return site

    return make


@pytest.fixture(scope="session")
def prefect_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A server in a new folder, for flows called in this process; it starts in 10 s."""
    from prefect.settings import PREFECT_HOME, temporary_settings
    from prefect.testing.utilities import prefect_test_harness

    home = {PREFECT_HOME: tmp_path_factory.mktemp("prefect")}
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("DO_NOT_TRACK", "1")
        patched.setenv("PREFECT_SERVER_ANALYTICS_ENABLED", "false")
        with temporary_settings(home), prefect_test_harness(server_startup_timeout=int(TIMEOUT)):
            yield
