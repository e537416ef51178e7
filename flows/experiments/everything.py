"""All experiments on the same histories, in one report."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from ..plotting.figures import small_drawing, without_digits
from . import EXPERIMENTS as NAMES
from . import find_experiment
from .base import Experiment, ExperimentContext, Heading, Part, Picture, Table


def _all(context: ExperimentContext) -> Iterator[Part]:
    with small_drawing():
        for name in NAMES:
            if name != "all":
                yield from _one(find_experiment(name), context)


def _one(experiment: Experiment, context: ExperimentContext) -> Iterator[Part]:
    """The heading, the source and the parts of one experiment; names of its tables begin with its name."""
    yield Heading(f"{experiment.name}: {experiment.title}")
    yield f"{experiment.source}."
    given = () if experiment.data == "none" else context.histories
    reasons = {history.name: experiment.refusal(history) for history in given}
    for reason in filter(None, reasons.values()):
        yield f"Left out: {reason}."
    chosen = experiment.with_synthetic([history for history in given if not reasons[history.name]], context.seed)
    if experiment.data == "given" and not chosen:
        yield f"Left out: experiment {experiment.name} needs a real history."
        return
    context.on_step(experiment.name)
    report = experiment.run(replace(context, histories=chosen, on_step=_named(experiment.name, context.on_step)))
    for part in report.parts:
        if isinstance(part, Picture):
            part = replace(part, name=f"{experiment.name}-{part.name}", svg=without_digits(part.svg))
        elif isinstance(part, Table):
            part = replace(part, name=f"{experiment.name}-{part.name}")
        yield part


def _named(name: str, on_step: Callable[[str], None]) -> Callable[[str], None]:
    return lambda what: on_step(f"{name}: {what}")


EXPERIMENTS = (
    Experiment(
        "all",
        "The experiments of the papers",
        "Five documents: Elo-MMR, Elo-R, EloSRM, Codeforces' rating, The Math Behind Elo",
        _all,
        [
            "Each section is one experiment, as its own command makes it, on the same histories. Its last sentences "
            "say what was found, and which claims are not reproduced."
        ],
        data="optional",
    ),
)
