"""World Football Elo Ratings: K by the importance of a match.

Source: "The Math Behind ELO"; eloratings.net. The index of goal difference is :mod:`..core.margins`'s "goals".
"""

from collections.abc import Mapping
from types import MappingProxyType

IMPORTANCE: Mapping[str, float] = MappingProxyType(
    {
        "world cup finals": 60.0,
        "continental finals": 50.0,  # and intercontinental ones
        "qualifiers": 40.0,
        "other tournaments": 30.0,
        "friendlies": 20.0,
    }
)
"""K by the importance of a match, as in the World Football Elo Ratings.

The weight of a contest multiplies K: with ``k=1`` a match has ``weight=IMPORTANCE["qualifiers"]``, which `ingest games
--importance world-football` stores. In a list of single games (:func:`rate_games`) each game can have its own ``k``.
"""
