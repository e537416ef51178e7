"""What a published run has learnt of draws and the advantage, for consumers. Imports no kernel."""

from __future__ import annotations

from typing import Any, Protocol

import msgspec

from ranklake.storage.runs.chances import StoredFit


class OfGames(Protocol):
    """What some games have taught; as stored, or as fitted."""

    @property
    def games(self) -> int: ...
    @property
    def nu(self) -> float: ...
    @property
    def ln_nu_error(self) -> float: ...
    @property
    def advantage(self) -> float: ...
    @property
    def advantage_error(self) -> float: ...


class PublishedChances(msgspec.Struct, frozen=True):
    """The settings of a run, as of :meth:`.ChanceSettings.facts`, and what it knows after its last round."""

    settings: dict[str, Any]
    fit: StoredFit

    def facts(self) -> dict[str, Any]:
        """The numbers for all games and, if the run learns by a column, for each value of it; for JSON."""
        overall = {"draws": self.settings["draws"], **learnt_facts(self.fit.overall)}
        if not (by := self.settings.get("by")):
            return overall
        return overall | {"by": by, "values": {value: learnt_facts(one) for value, one in self.fit.values.items()}}


def learnt_facts(learnt: OfGames) -> dict[str, Any]:
    """How common draws are and the advantage of the first player, each with its standard error; for JSON.

    A model without nu, such as that of a system with a margin of draws, has None.
    """
    of_model = learnt.ln_nu_error > 0.0
    return {
        "nu": learnt.nu if of_model else None,
        "nu_error": learnt.nu * learnt.ln_nu_error if of_model else None,
        "advantage": learnt.advantage,
        "advantage_error": learnt.advantage_error,
        "games": learnt.games,
    }
