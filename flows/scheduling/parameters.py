"""The parameters of the Prefect flows: their types, and checks of what a type cannot say.

Parameters and pages of runs are visible to all users of a Prefect server, so no address may have a password: passwords
come from the environment of the worker. Each run has its own working folder, so paths are absolute.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field

from ranklake.storage import Lake
from ranklake.storage.lake.layout import check_dataset_name, check_run_name

from ..databases.address import DatabaseAddress
from ..engines.factory import ENGINES
from ..http.webhook import Webhook
from ..ingestion.source_update import SOURCES, SourceRequest

_OF_DATABASE, _OF_TARGET = ("url", "query", "watermark"), ("url", "schema", "prefix")


def _check_webhook(url: str | None) -> str | None:
    if url is not None:
        Webhook(url)
    return url


LakeUrl = Annotated[str, Field(description="Folder or address of the lake.")]
Source = Annotated[str, Field(json_schema_extra={"enum": list(SOURCES)})]
DatasetName = Annotated[str, AfterValidator(check_dataset_name)]
RunName = Annotated[str, AfterValidator(check_run_name)]
Engine = Annotated[str, Field(json_schema_extra={"enum": list(ENGINES)})]  # checked by choose_engine
Workers = Annotated[int, Field(ge=1)]
FilePath = Annotated[str | None, Field(description="For files and kaggle: absolute path of folder, archive or table.")]
FileOptions = Annotated[
    dict[str, Any] | None,
    Field(description="For files, the options of `ingest files`: columns (a list of KEY=COLUMN), order, mirror, ..."),
]
OnChange = Annotated[
    str | None,
    AfterValidator(_check_webhook),
    Field(description="Address that gets what has changed as JSON, signed with RANKLAKE_WEBHOOK_SECRET of the worker."),
]
Database = Annotated[
    dict[str, str | None] | None,
    Field(description="For sql: url (without a password), query and watermark of `ingest sql`."),
]
Target = Annotated[
    dict[str, str] | None,
    Field(description="Publish into this database, not into the lake: url (without a password), schema and prefix."),
]


def source_request(
    source: str,
    dataset: str | None,
    since: str | None,
    base_url: str | None,
    path: str | None,
    file_options: dict[str, Any] | None,
    database: dict[str, str | None] | None,
) -> SourceRequest:
    """The request of a source; ``ValueError`` also for a relative path, or a password in an address."""
    if database is not None:
        _check_names("database", database, _OF_DATABASE)
        _check_address(database.get("url") or "")
    request = SourceRequest(source, dataset or source, since, base_url, path, file_options or {}, database or {})
    if path is not None and not os.path.isabs(path):
        raise ValueError(f"the path of {source} must be an absolute path on the worker's machine, got {path!r}")
    return request


def check_target(to: dict[str, str] | None, maintain: bool, publish: bool = True, runs: Sequence[str] = ()) -> None:
    """Raise ``ValueError`` unless the database, if there is one, has a valid address without a password and can take
    all that is published.
    """
    if to is None:
        return
    _check_names("to", to, _OF_TARGET)
    _check_address(to.get("url", ""))
    if len(runs) > 1:
        rule = f"to publishes one run, got {', '.join(runs)}"
        raise ValueError(f"{rule}; the others need a deployment each, with a prefix or schema of their own")
    if not publish:
        raise ValueError("to is where runs are published: leave it out, or set publish")
    if maintain:
        raise ValueError("maintain is for the tables of the lake: leave it out beside to")


def open_lake(lake: str, create: bool = False) -> Lake:
    """Open a lake; ``ValueError`` if its address is a relative path or has a password."""
    if urlsplit(lake).password is not None:
        remedy = "set it in the worker's environment, for example as AWS_SECRET_ACCESS_KEY"
        raise ValueError(f"the address of a lake must not have a password; {remedy}")
    if "://" not in lake and not os.path.isabs(lake):
        remedy = "set RANKLAKE_LAKE and deploy again"
        raise ValueError(f"the lake must be an absolute path or an address, got {lake!r}; {remedy}")
    return Lake.open(lake, create=create)


def _check_names(parameter: str, given: Mapping[str, Any], known: tuple[str, ...]) -> None:
    for name in given:
        if name not in known:
            raise ValueError(f"{parameter} has {', '.join(known)}, got {name!r}")


def _check_address(url: str) -> None:
    """Check the address of a database; no message has a password."""
    address = DatabaseAddress.parse(url)
    if address.secrets:
        remedy = "set it in the worker's environment as PGPASSWORD or MYSQL_PWD, or in ~/.pgpass or ~/.my.cnf"
        raise ValueError(f"the address of a database must not have a password; {remedy}")
    if address.kind == "sqlite" and not os.path.isabs(address.path):
        raise ValueError(f"the file of SQLite must be an absolute path as sqlite:////srv/judge.db, got {address.shown}")
