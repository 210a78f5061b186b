// The keyboard: one table of keys that hold everywhere, one that the open view brings, and the sheet that shows both.

import { h, button, $ } from './dom.js';

const everywhere = new Map();
let here = new Map();
let pending = null;
let forgetting;

const isTyping = target => target.closest?.('input, textarea, select, [contenteditable]') !== null;

/** Adds a key that holds everywhere: `g a` is two in a row. */
export function always(key, words, act) {
  everywhere.set(key, { words, act });
}

/** The keys of the open view; they take the place of those before. */
export function forView(table) {
  here = new Map(Object.entries(table));
}

function find(key) {
  return here.get(key) ?? everywhere.get(key);
}

function press(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (event.key === 'Escape') return escape(event);
  if (isTyping(event.target) || document.querySelector('dialog[open]')) return;
  const key = pending ? `${pending} ${event.key}` : event.key;
  const isPrefix = !pending && [...everywhere.keys()].some(known => known.startsWith(`${key} `));
  pending = null;
  clearTimeout(forgetting);
  if (isPrefix) {
    pending = key;
    forgetting = setTimeout(() => { pending = null; }, 1500);
    return;
  }
  const found = find(key);
  // A button or link that has the focus is pressed by enter, whatever the view makes of it.
  if (!found || (key === 'Enter' && event.target.closest?.('a, button, summary'))) return;
  event.preventDefault();
  found.act();
}

function escape(event) {
  // A dialog closes by itself, and the view below it stays as it is.
  if (document.querySelector('dialog[open]')) return;
  if (isTyping(event.target)) event.target.blur();
  here.get('Escape')?.act();
}

/** The sheet with all keys. */
export function help() {
  const rows = table => [...table].map(([key, { words }]) => [
    h('dt', {}, key.split(' ').map((part, index) => [index ? ' then ' : null, h('kbd', {}, shown(part))])),
    h('dd', {}, words),
  ]);
  const close = () => sheet.close();
  const sheet = h('dialog.sheet', { 'aria-labelledby': 'sheet-title' },
    h('header', {}, h('h2', { id: 'sheet-title' }, 'Keyboard'),
      button('quiet', 'Close', close)),
    h('div.columns', {},
      h('section', {}, h('h3', {}, 'This view'), h('dl.keys', {}, rows(here))),
      h('section', {}, h('h3', {}, 'Everywhere'), h('dl.keys', {}, rows(everywhere)))));
  show(sheet);
}

const shown = part => ({ Enter: '↵', Escape: 'esc', ArrowDown: '↓', ArrowUp: '↑' }[part] ?? part);

/** Opens a dialog on top of everything; it is taken away when it closes, and the focus goes back. */
export function show(dialog) {
  const before = document.activeElement;
  dialog.addEventListener('close', () => {
    dialog.remove();
    before?.focus?.();
  });
  dialog.addEventListener('click', event => { if (event.target === dialog) dialog.close(); });
  document.body.append(dialog);
  dialog.showModal();
}

/** Asks before something is done that cannot be undone. */
export function confirm({ title, words, yes, act }) {
  const dialog = h('dialog.sheet.small', { 'aria-labelledby': 'confirm-title' },
    h('h2', { id: 'confirm-title' }, title), h('p', {}, words),
    h('div.actions', {},
      button('quiet', 'Cancel', () => dialog.close()),
      button('primary', yes, () => { dialog.close(); act(); })));
  show(dialog);
}

export function start() {
  document.addEventListener('keydown', press);
  $('help-button').addEventListener('click', help);
  always('?', 'this help', help);
}

/** A small mark with the key that does the same as a button. */
export const cap = key => h('kbd', { 'aria-hidden': 'true' }, key);

/** A list that is walked by j and k: moves the mark, and says where it stands now. */
export function walk(rows, current, by) {
  const at = rows.indexOf(current);
  const next = rows[Math.min(Math.max(at + by, 0), rows.length - 1)];
  return next ?? current;
}
