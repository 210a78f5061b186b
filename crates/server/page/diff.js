// Changes in colours: a unified diff that somebody sent along, and what an edit changes, worked out here from its own
// input. Both are texts of an agent's making like any other: drawn line by line, never trusted.

import { h, add, button, fill } from './dom.js';
import { row } from './inert.js';

const KINDS = [
  [/^(diff |index |new file|deleted file|rename |similarity |---|\+\+\+)/, 'file'],
  [/^@@/, 'hunk'],
  [/^\+/, 'added'],
  [/^-/, 'removed'],
];
const SIGNS = { added: '+', removed: '-', same: ' ', hunk: '' };

/** How much is drawn before somebody asks for all of it: lines, and characters of each. */
const LINES = 120;
const LONGEST = 400;
/** Lines that stay, shown around those that do not. */
const AROUND = 3;
/** Beyond so many pairs of lines nobody waits for the best comparison: all goes, all comes. */
const PAIRS = 250_000;

const kindOf = text => KINDS.find(([pattern]) => pattern.test(text))?.[1] ?? 'same';

const linesOf = text => (text === '' ? [] : text.replace(/\n$/, '').split('\n'));

/** Rows of a change, cut when they are many or long. */
function drawn(rows, label) {
  const draw = (some, longest) => h('pre.inert.block.diff', { tabindex: 0, 'aria-label': label },
    some.map(({ kind, text }) => h('span.row', { 'data-kind': kind }, row(text, longest), '\n')));
  if (rows.length <= LINES && rows.every(({ text }) => text.length <= LONGEST)) return draw(rows, LONGEST);
  const box = h('div.cut', {});
  const rest = Math.max(0, rows.length - LINES);
  const words = rest ? `Show all (${rest.toLocaleString('en')} more lines)` : 'Show all';
  return add(box, draw(rows.slice(0, LINES), LONGEST), button('quiet', words, () => fill(box, draw(rows, Infinity))));
}

/** A diff that was sent along. */
export function diff(text) {
  return drawn(linesOf(String(text)).map(one => ({ kind: kindOf(one), text: one })), 'what it would change');
}

/** The longest run of lines that two texts have in common, in order: a table of its length from every pair on. */
function common(before, after) {
  const width = after.length + 1;
  const table = new Uint16Array((before.length + 1) * width);
  for (let i = before.length - 1; i >= 0; i -= 1) {
    for (let j = after.length - 1; j >= 0; j -= 1) {
      const at = i * width + j;
      table[at] = before[i] === after[j] ? table[at + width + 1] + 1 : Math.max(table[at + width], table[at + 1]);
    }
  }
  return (i, j) => table[i * width + j];
}

/** The rows between the first and the last difference. */
function between(before, after) {
  const rows = [];
  if (before.length * after.length > PAIRS) {
    before.forEach(text => rows.push({ kind: 'removed', text }));
    after.forEach(text => rows.push({ kind: 'added', text }));
    return rows;
  }
  const length = common(before, after);
  let [i, j] = [0, 0];
  while (i < before.length || j < after.length) {
    if (i < before.length && j < after.length && before[i] === after[j]) {
      rows.push({ kind: 'same', text: before[i] });
      [i, j] = [i + 1, j + 1];
    } else if (i < before.length && (j === after.length || length(i + 1, j) >= length(i, j + 1))) {
      rows.push({ kind: 'removed', text: before[i] });
      i += 1;
    } else {
      rows.push({ kind: 'added', text: after[j] });
      j += 1;
    }
  }
  return rows;
}

/** What one text becomes, line by line. */
export function compared(before, after) {
  const [old, fresh] = [linesOf(before), linesOf(after)];
  const least = Math.min(old.length, fresh.length);
  let head = 0;
  while (head < least && old[head] === fresh[head]) head += 1;
  let tail = 0;
  while (tail < least - head && old.at(-1 - tail) === fresh.at(-1 - tail)) tail += 1;
  const same = text => ({ kind: 'same', text });
  return [
    ...old.slice(0, head).map(same),
    ...between(old.slice(head, old.length - tail), fresh.slice(head, fresh.length - tail)),
    ...old.slice(old.length - tail).map(same),
  ];
}

/** The rows near a change; for those in between, how many they are. */
function near(rows) {
  const kept = new Set();
  rows.forEach(({ kind }, at) => {
    if (kind === 'same') return;
    for (let by = -AROUND; by <= AROUND; by += 1) kept.add(at + by);
  });
  const shown = [];
  let left = 0;
  const say = () => {
    if (left) shown.push({ kind: 'hunk', text: `(${left.toLocaleString('en')} unchanged)` });
    left = 0;
  };
  rows.forEach((one, at) => {
    if (!kept.has(at)) left += 1;
    else say();
    if (kept.has(at)) shown.push(one);
  });
  say();
  return shown;
}

/** What an edit changes. */
export function change(before, after, label = 'what it changes') {
  const rows = near(compared(before, after));
  if (!rows.some(({ kind }) => kind === 'added' || kind === 'removed')) return h('p.empty.small', {}, 'It changes no line.');
  return drawn(rows.map(({ kind, text }) => ({ kind, text: SIGNS[kind] + text })), label);
}
