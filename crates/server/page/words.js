// Words for times, verdicts, modes and layers: the same on every view.

import { h } from './dom.js';
import { now } from './api.js';

export const VERDICTS = ['allow', 'ask', 'deny'];
const GLYPHS = { allow: '✓', ask: '?', deny: '✕' };
const DONE = { allow: 'allowed', ask: 'asked', deny: 'denied' };

/** A verdict in its colour, with a sign for those who do not see colours. */
export function verdict(name, { word = name } = {}) {
  const known = VERDICTS.includes(name) ? name : 'none';
  return h('span.verdict', { 'data-verdict': known },
    h('span', { 'aria-hidden': 'true' }, GLYPHS[known] ?? '–'), ' ', word);
}

export const done = name => DONE[name] ?? name;
export const glyph = name => GLYPHS[name] ?? '';

export const MODES = [
  ['default', 'Default', 'reads and what rules allow run; the rest asks'],
  ['plan', 'Plan', 'as default, and no edit runs by itself'],
  ['acceptEdits', 'Accept edits', 'edits inside the working directories run too'],
  ['auto', 'Auto', 'a classifier answers what would ask'],
  ['dontAsk', "Don't ask", 'what would ask is denied'],
  ['bypassPermissions', 'Bypass permissions', 'everything runs that no rule and no protected path stops'],
];
const TONES = { auto: 'warning', dontAsk: 'alarm', bypassPermissions: 'alarm', plan: 'calm', acceptEdits: 'calm' };

export const modeTitle = name => MODES.find(([mode]) => mode === name)?.[1] ?? String(name);

/** A mode, as alarming as it is. */
export function mode(name) {
  return h('span.mode', { 'data-tone': TONES[name] ?? 'plain' }, modeTitle(name));
}

export const LAYERS = {
  managed: 'Managed', flag: 'Flags', cli: 'Command line', command: 'Commands and skills', session: 'Session',
  local: 'Local', project: 'Project', user: 'User',
};
export const LAYER_WORDS = {
  managed: "the organisation's policy",
  flag: 'given at the start',
  cli: 'given on the command line',
  command: 'brought by a skill or command',
  session: 'until the session ends',
  local: 'your own settings for this project',
  project: "the project's shared settings",
  user: 'your settings for every project',
};

const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto', style: 'narrow' });

/** How long ago, in a word. */
export function ago(moment) {
  const seconds = Math.round((moment - now()) / 1000);
  if (Math.abs(seconds) < 5) return 'now';
  if (Math.abs(seconds) < 60) return relative.format(seconds, 'second');
  if (Math.abs(seconds) < 3600) return relative.format(Math.round(seconds / 60), 'minute');
  if (Math.abs(seconds) < 86_400) return relative.format(Math.round(seconds / 3600), 'hour');
  return relative.format(Math.round(seconds / 86_400), 'day');
}

const calendar = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' });

const dated = moment => (Number.isFinite(moment) ? new Date(moment) : new Date(0));

/** A moment: how long ago, with the exact time beside the pointer. */
export function time(moment) {
  const date = dated(moment);
  return h('time', { datetime: date.toISOString(), title: calendar.format(date), 'data-moment': moment }, ago(moment));
}

/** Brings every shown "ago" up to date. */
export function refreshTimes() {
  for (const node of document.querySelectorAll('time[data-moment]')) {
    node.textContent = ago(Number(node.dataset.moment));
  }
}

export const stamp = moment => calendar.format(dated(moment));

/** Minutes and seconds that are left. */
export function left(milliseconds) {
  const seconds = Math.max(0, Math.ceil(milliseconds / 1000));
  const minutes = Math.floor(seconds / 60);
  if (minutes >= 60) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  return `${minutes}:${String(seconds % 60).padStart(2, '0')}`;
}

export const count = (number, one, many = `${one}s`) => `${number.toLocaleString('en')} ${number === 1 ? one : many}`;
