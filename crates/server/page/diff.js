// A unified diff in colours. It is a text of an agent's making like any other: drawn line by line, never trusted.

import { h } from './dom.js';
import { block, cuttable, line } from './inert.js';

const KINDS = [
  [/^(diff |index |new file|deleted file|rename |similarity |---|\+\+\+)/, 'file'],
  [/^@@/, 'hunk'],
  [/^\+/, 'added'],
  [/^-/, 'removed'],
];

const kindOf = text => KINDS.find(([pattern]) => pattern.test(text))?.[1] ?? 'same';

/** A diff. */
export function diff(text) {
  const draw = piece => h('pre.inert.block.diff', { tabindex: 0, 'aria-label': 'what it would change' },
    piece.split('\n').map(row => h('span.row', { 'data-kind': kindOf(row) }, line(row, 2000), '\n')));
  return cuttable(String(text), 6000, draw);
}

/** An edit as it stands in a call: what goes, what comes. */
export function replacement(before, after) {
  return h('div.replacement', {},
    h('div', { 'data-kind': 'removed' }, h('h4', {}, 'instead of'), block(before, { label: 'the old text' })),
    h('div', { 'data-kind': 'added' }, h('h4', {}, 'it writes'), block(after, { label: 'the new text' })));
}
