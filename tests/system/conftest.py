"""A store of objects behind a proxy, and commands that use it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from helpers.command_server import CommandServer, open_command_server
from helpers.life import SETTINGS
from helpers.stores import Proxy, reachable


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    """The store for all clients of this process and of its child processes."""
    with reachable(tmp_path_factory.mktemp("store")) as made:
        yield made


@pytest.fixture
def url(store: Proxy, request: pytest.FixtureRequest) -> Iterator[str]:
    """Address of a lake in a bucket of its own."""
    import s3fs

    bucket = re.sub("[^a-z0-9]+", "-", request.node.name.lower())[-60:].strip("-")
    s3fs.S3FileSystem(skip_instance_cache=True).mkdir(bucket)
    store.seen.clear()
    yield f"s3://{bucket}/lake"
    store.fault = lambda _: ""


@pytest.fixture(scope="module")
def remote(store: Proxy) -> Iterator[CommandServer]:
    """Runs commands in the store: in this process Delta's library holds the interpreter lock, which the proxy needs."""
    timeout = 'import os\nos.environ["AWS_TIMEOUT"] = "600s"  # of a request that is held back\n'
    with open_command_server(f"{SETTINGS}{timeout}import deltalake, s3fs\n") as made:
        yield made
