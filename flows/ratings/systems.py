"""Frames of what there is to choose: rating systems and their hyperparameters."""

from __future__ import annotations

import pandas as pd

from ranklake.rating_kernels import SYSTEMS

from ..common.hyperparameters import describe
from ..common.settings import find_system
from ..common.system_names import SystemName

__all__ = ["systems"]


def systems(name: SystemName | None = None) -> pd.DataFrame:
    """All rating systems, or the hyperparameters of one.

    Returns
    -------
    pd.DataFrame
        Indexed by system: ``description, source``; or by hyperparameter: ``default, range, description``.

    Raises
    ------
    ValueError
        There is no such system; the message lists all names.
    """
    if name is None:
        texts = [describe(system) for system in SYSTEMS.values()]
        rows = {"description": [text.text for text in texts], "source": [text.source for text in texts]}
        return pd.DataFrame(rows, index=pd.Index(list(SYSTEMS), name="system"))
    parameters = describe(find_system(name)).parameters
    columns = {
        "default": pd.Series([one.default for one in parameters], dtype=object),
        "range": [one.limits.text for one in parameters],
        "description": [one.text for one in parameters],
    }
    return pd.DataFrame(columns).set_axis(pd.Index([one.name for one in parameters], name="hyperparameter"))
