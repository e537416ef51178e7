"""Resolve the runs of a command and their configurations: for `rate`, `follow`, the Prefect flows and Python.

An existing run keeps its configuration: omitted options are read from its ``run.json``, and given options must equal
it. Another data set, system or setting would discard every round of the run, and is an error without ``replace``.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from ranklake.storage import DamagedError, Lake, MissingError, Run
from ranklake.storage.lake import layout

from ..chances.settings import LEARNT, NO_CHOICE, STORED, ChanceOptions
from ..common.configuration.settings import (
    Preset,
    build_params,
    choose_preset,
    convert_fields,
    find_preset,
    find_system,
    params_to_json,
    parse_settings,
    renamed_settings,
)
from ..common.text import LONGEST_QUOTED, described
from .config import RunConfig, default_run

DEFAULT_SYSTEM = "elo-mmr"


def resolve_runs(
    lake: Lake | None,
    dataset: str | None = None,
    names: Sequence[str] = (),
    systems: Sequence[str] = (),
    settings: Sequence[str] = (),
    skip_uninformative: bool | None = None,
    replace: bool = False,
    preset: str | None = None,
    chances: ChanceOptions = NO_CHOICE,
) -> list[RunConfig]:
    """Resolve names and options to runs with their whole configurations; ``lake`` is None if there is none yet.

    ``dataset``: None for the data set of the run, which must exist.
    ``names``: names of runs; empty for one run per system, named by data set, system and settings.
    ``systems``: rating systems; several only without names. Empty for those of the runs; ``elo-mmr`` for a new run.
    ``settings``: hyperparameters as ``key=value``, for one run at most; ``system.key=value`` with several systems. They
    override those of an existing run.
    ``skip_uninformative``: None for the rule of the run.
    ``replace``: rate an existing run again if its configuration differs.
    ``preset``: a key of ``PRESETS``, for one run: its system, its settings under ``settings``, and its display rating.
    A new run is named by data set and preset.
    ``chances``: what the runs learn of draws and advantages; an advantage by which a run rates is a setting as any.
    Raises ValueError: an invalid name, an unknown system, preset or setting, options that exclude each other, or an
    existing run with another configuration.
    Raises LakeError: a run is damaged or of another format.
    """
    chosen = parse_settings(tuple(settings))
    for system in systems:
        find_system(system)
    if dataset is not None:
        layout.check_dataset_name(dataset)
    for name in names:
        layout.check_run_name(name)
    if len(set(systems)) < len(systems):
        raise ValueError(f"a system is given twice: {', '.join(systems)}")
    if len(names) > 1 and (systems or chosen):
        raise ValueError(f"a system and settings need one run, got {len(names)}; omit them")
    if names and len(systems) > 1:
        raise ValueError("--run is the name of one run; omit it for several systems")
    if preset is not None and (len(names) > 1 or systems):
        raise ValueError("--preset has its own system and is for one run; omit --system, and give one --run at most")
    if dataset is None and not names:
        raise ValueError("give --dataset, or the --run of an existing run")
    runs: list[tuple[str | None, str | None, dict[str, str]]]
    if len(systems) > 1:
        runs = [(None, *each) for each in settings_of_each(systems, chosen)]
    else:
        only = systems[0] if systems else None
        runs = [(name, only, chosen) for name in dict.fromkeys(names)] or [(None, only, chosen)]
    named = None if preset is None else find_preset(preset)
    return [_run_config(lake, dataset, *each, named, skip_uninformative, replace, chances) for each in runs]


def refuse_other(recorded: RunConfig, wanted: RunConfig) -> None:
    """Refuse to change the configuration of an existing run.

    Raises ValueError: the configurations differ; the message names the run, both values of each difference, and the
    remedy.
    """
    if differences := list(_differences(recorded, wanted)):
        existing, requested = (", ".join(f"{one[0]} {one[at]}" for one in differences) for at in (1, 2))
        raise ValueError(
            f"run {recorded.run} exists with {existing}; requested was {requested}. "
            "Add --replace to discard its ratings and rate it again, or give another --run"
        )


def _run_config(
    lake: Lake | None,
    dataset: str | None,
    name: str | None,
    system: str | None,
    settings: Mapping[str, Any],
    preset: Preset | None,
    skip_uninformative: bool | None,
    replace: bool,
    chances: ChanceOptions,
) -> RunConfig:
    if name is None:
        assert dataset is not None
        kind = system or DEFAULT_SYSTEM if preset is None else preset.name
        name = default_run(dataset, kind, {**settings, **chances.of_ratings()}, skip_uninformative)
    display = None
    if preset is not None:
        (system, settings), display = choose_preset(preset.name, system, settings), dict(preset.display)
    recorded = _recorded_config(lake, name, replace and None not in (dataset, system))
    if recorded is None:
        if dataset is None:
            names = Run.names(lake) if lake is not None else []
            there_are = f"; there are: {', '.join(names)}" if names else ""
            raise ValueError(f"no run {name!r} in the lake{there_are}; give --dataset to make it")
        rating_system = find_system(system or DEFAULT_SYSTEM)
        params = build_params(rating_system, settings)
        facts = dataset, name, rating_system.name, params, skip_uninformative
        return RunConfig(*facts, display=display, replace=replace, chances=chances.over(None))
    rating_system = find_system(system or recorded.system)
    same_system = rating_system.name == recorded.system
    if same_system and preset is None:
        given = convert_fields(rating_system.params, settings, recorded.system)
        params = dataclasses.replace(recorded.params, **renamed_settings(rating_system, given))
    else:
        params = build_params(rating_system, settings)
    wanted = dataclasses.replace(
        recorded,
        dataset=dataset or recorded.dataset,
        system=rating_system.name,
        params=params,
        skip_uninformative=skip_uninformative,
        display=display,
        recorded=None,
        replace=replace,
        chances=chances.over(recorded.chances),
    )
    if same_system and wanted.allows(recorded.skipping):
        wanted = dataclasses.replace(wanted, recorded=recorded.skipping)
    if not replace:
        refuse_other(recorded, wanted)
    return wanted


def _recorded_config(lake: Lake | None, name: str, replaced: bool) -> RunConfig | None:
    """The stored configuration; None if the run does not exist, or is replaced and cannot be read.

    Raises LakeError: its ``run.json`` is damaged, or a newer release wrote it.
    """
    with suppress(MissingError):
        run = None if lake is None else Run.open(lake, name)
        try:
            return None if run is None else RunConfig.of(run)
        except DamagedError:
            if not replaced:
                raise
    return None


def settings_of_each(systems: Sequence[str], settings: dict[str, str]) -> Iterator[tuple[str, dict[str, str]]]:
    """Each system with its settings from ``system.key=value``."""
    own: dict[str, dict[str, str]] = {system: {} for system in systems}
    for key, value in settings.items():
        system, dot, name = key.partition(".")
        if not dot or system not in own:
            raise ValueError(f"with several systems a setting is SYSTEM.KEY=VALUE, got {key}={value}")
        own[system][name] = value
    yield from own.items()


def _differences(recorded: RunConfig, wanted: RunConfig) -> Iterator[tuple[str, str, str]]:
    """The differences of two configurations: a label and both values."""
    if recorded.dataset != wanted.dataset:
        yield "data set", recorded.dataset, wanted.dataset
    if recorded.system != wanted.system:
        yield "system", recorded.system, wanted.system
        return
    one, other = (params_to_json(config.params, whole=True) for config in (recorded, wanted))
    for key in one:
        if one[key] != other[key]:
            yield key, _text(one[key]), _text(other[key])
    learnt = [one is not None and one.learnt and one.label() for one in (recorded.chances, wanted.chances)]
    if wanted.chances is not None and learnt[0] != learnt[1]:
        before, now = (f"{LEARNT} ({label})" if label else STORED for label in learnt)
        yield "advantage", before, now
    if recorded.skipping != wanted.skipping:
        yield "contests skipped:", recorded.skipping.label(), wanted.skipping.label()


def _text(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, allow_nan=False)
    return text if len(text) <= LONGEST_QUOTED else described(value)
