"""A chat bot in one file: it answers a line of a chat from a server of ranklake.

    python bot.py http://localhost:8080 codeforces-elo-mmr "rating tourist"

Three commands:

    rating NAME                  the rating, the title and the place of a player
    compare NAME, NAME, ...      the chances of each pair and their common contests; commas or "vs" between names
    preview NAME, NAME, ...      the changes of a contest that ended in this order, best first

It needs httpx and nothing else of ranklake. A bot of Discord, Telegram or IRC calls :func:`answer` for each line.
"""

from __future__ import annotations

import re
import sys
from typing import Any
from urllib.parse import quote

import httpx

HELP = 'commands: "rating NAME", "compare NAME, NAME", "preview NAME, NAME, ..." (best first)'
MOST_LINES = 8  # of an answer


def answer(client: httpx.Client, run: str, line: str) -> str:
    """The answer to a line of a chat; also the words for people if there is none."""
    command, _, rest = line.strip().lstrip("!/").partition(" ")
    commands = {"rating": rating, "compare": compare, "preview": preview}
    if command.lower() not in commands or not rest.strip():
        return HELP
    try:
        return commands[command.lower()](client, f"/api/v1/runs/{quote(run, '')}", rest.strip())
    except NoAnswer as error:
        return str(error)
    except (httpx.HTTPError, ValueError):
        return "the ratings cannot be reached now, try again later"


class NoAnswer(Exception):
    """Why there is no answer, in words."""


def rating(client: httpx.Client, api: str, name: str) -> str:
    """A player in one line."""
    player = ask(client, "GET", f"{api}/players/{quote(name, '')}")
    title = f", {player['title']}" if player["title"] else ""
    place = "provisional" if player["place"] is None else f"place {player['place']:,}"
    peak, n_rounds = player["max_rating"], player["n_rounds"]
    return f"{player['handle']}: {player['rating']:.0f}{title}, {place}, peak {peak:.0f}, {n_rounds:,} rounds"


def compare(client: httpx.Client, api: str, names: str) -> str:
    """A line for each pair of players."""
    handles = re.split(r"\s*,\s*|\s+vs\.?\s+", names) if re.search(r",|\bvs\b", names) else names.split()
    if len(handles) < 2:
        raise NoAnswer('two players are compared: "compare NAME, NAME"')
    found = ask(client, "GET", f"{api}/compare", params={"handles": handles})
    lines = shortened([pair_line(pair) for pair in found["pairs"]])
    lines += [unknown_line(one["requested"], one["near"]) for one in found.get("unknown", [])]
    return "\n".join(lines + [found["note"]] * bool(found["note"]))


def pair_line(pair: dict[str, Any]) -> str:
    """The chance and the score of a pair."""
    score = f"{pair['wins']}-{pair['losses']}" + f", {pair['draws']} drawn" * bool(pair["draws"])
    return f"{pair['handle']} before {pair['against']}: {pair['chance']:.0%} (so far {score})"


def unknown_line(name: str, near: list[str]) -> str:
    """A name that no player has, and similar ones."""
    return f"nobody is called {name}" + (f"; did you mean {', '.join(near[:3])}?" if near else "")


def preview(client: httpx.Client, api: str, names: str) -> str:
    """The change of each participant."""
    handles = [name.strip() for name in re.split(r"[,\n]", names) if name.strip()]
    body = {"standings": [[handle, place] for place, handle in enumerate(handles, 1)]}
    found = ask(client, "POST", f"{api}/preview", json=body)
    lines = shortened([change_line(row) for row in found["rows"]])
    lines += [unknown_line(row["handle"], row["near"]) for row in found["rows"] if row.get("near")][:MOST_LINES]
    return "\n".join(lines)


def change_line(row: dict[str, Any]) -> str:
    """A participant of a contest and the new rating."""
    change = "new" if row.get("rating_before") is None else f"{row['change']:+.0f}"
    return f"{row['place']}. {row['handle']}: {row['rating']:.0f} ({change})"


def shortened(lines: list[str]) -> list[str]:
    """At most ``MOST_LINES`` lines; the last one says how many are left out."""
    if len(lines) <= MOST_LINES:
        return lines
    return [*lines[: MOST_LINES - 1], f"... and {len(lines) - MOST_LINES + 1} more"]


def ask(client: httpx.Client, method: str, address: str, **more: Any) -> Any:
    """The document of an answer; raises NoAnswer with the words of the server and the names that it suggests."""
    response = client.request(method, address, follow_redirects=True, **more)
    document = response.json()
    if response.is_success:
        return document
    near = document.get("near", [])
    if response.status_code == 404 and near:
        raise NoAnswer(f"nobody has this name; did you mean {', '.join(near[:3])}?")
    raise NoAnswer(document.get("detail", "the ratings cannot be reached now, try again later"))


if __name__ == "__main__":
    server, name, line = sys.argv[1:4]
    with httpx.Client(base_url=server, timeout=10.0) as asked:
        print(answer(asked, name, line))
