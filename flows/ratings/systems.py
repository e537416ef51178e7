"""Frames of what there is to choose: rating systems and their hyperparameters."""

from __future__ import annotations

import pandas as pd

from ranklake.rating_kernels import SYSTEMS

from ..common.arguments import checked
from ..common.configuration.hyperparameters import describe
from ..common.configuration.presets import PRESETS, PresetName
from ..common.configuration.settings import SystemName, build_params, find_system


@checked
def systems(name: SystemName | PresetName | None = None) -> pd.DataFrame:
    """All rating systems, or the hyperparameters of one, or those of a preset.

    Returns
    -------
    pd.DataFrame
        Indexed by system: ``description, source`` and ``ignores``, the columns of results that no rating depends on;
        or by hyperparameter: ``default, range, description``. The defaults of a preset are its values.

    Raises
    ------
    ValueError
        There is no such system or preset; the message lists all systems.
    """
    if name is None:
        texts = [describe(system) for system in SYSTEMS.values()]
        rows = {"description": [text.text for text in texts], "source": [text.source for text in texts]}
        rows["ignores"] = [", ".join(text.ignores) for text in texts]
        return pd.DataFrame(rows, index=pd.Index(list(SYSTEMS), name="system"))
    preset = PRESETS.get(name)
    system = find_system(name if preset is None else preset.system)
    parameters = describe(system).parameters
    values = [one.default for one in parameters]
    if preset is not None:
        params = build_params(system, preset.settings)
        values = [getattr(params, one.name) for one in parameters]
    columns = {
        "default": pd.Series(values, dtype=object),
        "range": [one.limits.text for one in parameters],
        "description": [one.text for one in parameters],
    }
    return pd.DataFrame(columns).set_axis(pd.Index([one.name for one in parameters], name="hyperparameter"))
