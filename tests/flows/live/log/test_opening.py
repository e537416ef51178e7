"""The address of a log."""

from __future__ import annotations

import pytest

from ranklake.flows.live.log.opening import open_log
from ranklake.storage.lake.errors import AddressError


@pytest.mark.parametrize("url", ["", "file:", "logs", "sqlite:///x.db", "mariadb://u@h/d"])
def test_address__of_another_form_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="must be file:DIR or postgresql://USER@HOST/DATABASE"):
        open_log(url, "league")


def test_folder__must_be_on_a_disk() -> None:
    with pytest.raises(AddressError, match="must be on a disk of this machine"):
        open_log("file:memory://logs", "league")
