// A client of `ranklake rated` in one file: it sends a match until the answer is certain, and prints the new ratings.
//
//     RANKLAKE_TOKEN=... node live.mjs http://127.0.0.1:8090 ladder ada bo 1
//
// The arguments: the address, the run, two players, and the score of the first one: 1, 0.5 or 0. Node 18 or later.

import { randomUUID } from "node:crypto";

const GIVE_UP_MS = 60_000;
const LATER = new Set([429, 503]); // too many wait; the service starts, ends, or has no disk

/** The result of a match. The id makes it safe to send again: an accepted match has its first answer. */
export async function send(address, run, match, token) {
  const headers = { "Content-Type": "application/json", ...(token && { Authorization: `Bearer ${token}` }) };
  const deadline = Date.now() + GIVE_UP_MS;
  for (;;) {
    let pause = 1000;
    try {
      const url = `${address}/api/v1/runs/${run}/matches`;
      const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(match) });
      const answer = await response.json();
      if (response.ok) return answer;
      if (!LATER.has(response.status)) throw new Error(`${response.status}: ${answer.detail}`);
      pause = 1000 * Number(response.headers.get("Retry-After") ?? 1);
    } catch (error) {
      if (!(error instanceof TypeError)) throw error; // no answer: it may have been accepted, or not
    }
    if (Date.now() + pause > deadline) throw new Error("the service takes no matches; send this one later");
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

const [address, run, a, b, score] = process.argv.slice(2);
const match = { id: randomUUID(), a, b, score: Number(score) };
for (const player of (await send(address, run, match, process.env.RANKLAKE_TOKEN)).players) {
  const change = Math.round(player.change);
  console.log(`${player.player}: ${Math.round(player.rating)} (${change < 0 ? "" : "+"}${change})`);
}
