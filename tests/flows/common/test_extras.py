"""Packages of extras: the error has the purpose, the package and the remedy."""

from __future__ import annotations

from pathlib import Path

import pytest

from ranklake.flows.common.extras import MissingExtraError, need


def test_need__of_a_missing_package_names_it_and_its_extra() -> None:
    with pytest.raises(MissingExtraError) as caught:
        need("absent", "all", "a report")
    remedy = "pip install 'ranklake[all]', or in a checkout pip install '.[all]'"
    assert str(caught.value) == f"a report needs the package absent: {remedy}"
    assert caught.value.name == "absent"


def test_need__of_a_package_that_lacks_another_has_the_error_of_the_import(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "incomplete.py").write_text("import absent\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="No module named 'absent'") as caught:
        need("incomplete", "all", "a report")
    assert not isinstance(caught.value, MissingExtraError)
