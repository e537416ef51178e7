// Search for players: words in any order and with wrong letters, without case, accents and signs. The same rule as that of the server.
import { json, kind, manifest, once, root, run } from "./data.js";

const LONGEST = 100; // characters of a query
const MOST_WORDS = 8;
const SURE = 5; // least letters of a word for which one wrong letter is as good as a beginning
const LONGEST_WORD = 63; // letters of a word with edits
const PLAIN_WORD = /^[0-9A-Za-z]+$/;
const PLAIN_TEXT = /^[!-~]*$/;
const PLAIN = { ø: "o", ł: "l", đ: "d", ð: "d", ħ: "h", ŧ: "t", ı: "i", æ: "ae", œ: "oe", þ: "th", ς: "σ" };
const INVISIBLE = /[\p{Cf}\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\u{e0100}-\u{e01ef}]/gu;
const NONE = 10; // kinds of match, from 0, the best: literal, folded, equal, begin, words, part, one edit, one in words, two, two in words

/** A text without case, accents, invisible characters and repeated blanks. */
export function fold(text) {
  if (PLAIN_TEXT.test(text)) return text.toLowerCase();
  const drawn = text.replace(INVISIBLE, "").normalize("NFKD").replace(/\p{M}/gu, "");
  return drawn.toLowerCase().toUpperCase().toLowerCase().replace(/[øłđðħŧıæœþς]/g, (c) => PLAIN[c]).split(/\s+/).filter(Boolean).join(" ");
}

/** The folded words of a text, without the signs between them; a text of signs alone is one word. */
export function wordsOf(text) {
  const folded = fold(text);
  return folded.match(/[\p{L}\p{N}]+/gu) ?? [folded.replace(/\s+/g, "")].filter(Boolean);
}

const allowed = (n) => (n > LONGEST_WORD ? 0 : (n >= 3) + (n >= 6));

/** A folded word with a bit for each of its letters, in two numbers; an edit changes at most one of them. */
function lettered(word) {
  let [one, two] = [0, 0];
  for (let i = 0; i < word.length; i++) {
    const code = word.charCodeAt(i);
    if (code >= 97 && code <= 122) one |= 1 << (code - 97);
    else two |= 1 << (code >= 48 && code <= 57 ? code - 48 : 10 + (code % 22));
  }
  return { word, one, two, text: word, several: null };
}

function count(bits) {
  let n = 0;
  for (; bits; bits &= bits - 1) n++;
  return n;
}

/** Letters more, less or changed, and neighbours exchanged, from one word to another; more than `most` is `most + 1`. */
function edits(one, other, most) {
  let [before, last, row] = [[], [], Array.from({ length: other.length + 1 }, (_, j) => j)];
  for (let i = 1; i <= one.length; i++) {
    [before, last, row] = [last, row, [i]];
    let least = i;
    for (let j = 1; j <= other.length; j++) {
      let value = Math.min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (one[i - 1] === other[j - 1] ? 0 : 1));
      if (i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1]) value = Math.min(value, before[j - 2] + 1);
      row.push(value);
      least = Math.min(least, value);
    }
    if (least > most) return most + 1;
  }
  return Math.min(row[other.length], most + 1);
}

/** A word that is searched, and how many edits are allowed. */
function wantedWord(word) {
  return { ...lettered(word), most: allowed(word.length) };
}

function distance(wanted, other) {
  const { word, most } = wanted;
  if (!most || Math.abs(word.length - other.word.length) > most) return NONE;
  const lacks = count(wanted.one & ~other.one) + count(wanted.two & ~other.two);
  const adds = count(other.one & ~wanted.one) + count(other.two & ~wanted.two);
  const found = lacks > most || adds > most ? NONE : edits(word, other.word, most);
  return found > most ? NONE : found;
}

/** A name as it is searched; `several` are its words if there are several. Most handles are one plain word. */
function prepared(text) {
  const words = PLAIN_WORD.test(text) ? null : PLAIN_TEXT.test(text) ? text.toLowerCase().match(/[0-9a-z]+/g) ?? [text] : wordsOf(text);
  const name = lettered(words ? words.join("") : text.toLowerCase());
  name.text = text;
  if (words?.length > 1) name.several = words.map(lettered);
  return name;
}

function kindOf(name, query) {
  const { whole } = query;
  const own = name.word;
  if (own === whole.word) return name.text === query.text ? 0 : fold(name.text) === query.folded ? 1 : 2;
  if (own.startsWith(whole.word)) return 3;
  const off = distance(whole, name);
  if (off === 1 && query.words.length === 1 && whole.word.length >= SURE) return 3;
  let cost = name.several ? 0 : NONE;
  for (let i = 0; i < query.words.length && cost < 3; i++) {
    let best = NONE;
    for (const one of name.several) best = Math.min(best, one.word.startsWith(query.words[i].word) ? 0 : distance(query.words[i], one));
    cost += best;
  }
  if (cost === 0) return 4;
  if (own.includes(whole.word)) return 5;
  return Math.min(off <= 2 ? 4 + 2 * off : NONE, cost <= 2 ? 5 + 2 * cost : NONE);
}

/** What is searched for. */
function queryOf(text) {
  const q = Array.from(text.trim()).slice(0, LONGEST).join("");
  const words = wordsOf(q).slice(0, MOST_WORDS);
  return { text: q, folded: fold(q), words: words.map(wantedWord), whole: wantedWord(words.join("")) };
}

/** The rows of the best matches among lists of names: `handle`, perhaps `name`, the best rating first. */
export function best(lists, text, limit) {
  const query = queryOf(text);
  const found = Array.from({ length: NONE }, () => []);
  if (!query.words.length) return [];
  for (const rows of lists) {
    rows.prepared ??= [rows.handle.map(prepared), rows.name?.map((name, i) => (name && name !== rows.handle[i] ? prepared(name) : null))];
    const [handles, names] = rows.prepared;
    handles.forEach((handle, i) => {
      const name = names?.[i];
      const kind = name ? Math.min(kindOf(handle, query), kindOf(name, query)) : kindOf(handle, query);
      if (kind < NONE && found[kind].length < limit) found[kind].push([rows, i]);
    });
  }
  return found.flat().slice(0, limit).map(([rows, i]) => [rows.handle[i], rows.rating[i], rows.name?.[i] ?? null]);
}

let loaded = null;

/** Players whose handles begin with a text, until the lists of all players are there; then null. */
export async function quick(text, limit = 10) {
  const [prefix] = kind === "server" || loaded === "all" ? [] : [Array.from(wordsOf(text).join("")).slice(0, 2).join("")];
  const index = prefix && (await once(`${root}${(await manifest()).search}`));
  if (!prefix || !Object.hasOwn(index, prefix)) return null;
  return best([await once(`${root}data/search/${index[prefix]}.json.gz`)], text, limit);
}

/** The best matches of a text, the best first: handle, rating, and display name or null. */
export async function search(text, limit = 10) {
  if (kind === "server") {
    const found = await json(`${root}/api/v1/runs/${encodeURIComponent(run)}/search?q=${encodeURIComponent(text.trim().slice(0, LONGEST))}&limit=${limit}`);
    return found.rows.map(({ handle, rating, name }) => [handle, rating, name ?? null]);
  }
  const lists = await Promise.all((await manifest()).players_by_rating.map((address) => once(`${root}${address}`)));
  loaded = "all";
  return best(lists, text, limit);
}
