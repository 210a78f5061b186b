// What agents write, shown so that it cannot deceive: every character that is invisible, that moves others or that
// looks like a plain space is written out as its number. Long texts are cut, with a button that shows the rest.

import { h, add, button, fill } from './dom.js';

// Controls, formats (bidirectional ones too), surrogates, unassigned and private ones, everything that fonts leave out,
// separators, spaces that are not the space, and marks piled upon marks.
const HIDDEN = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]|(?! )\p{Zs}|(?<=\p{M}{3})\p{M}/gu;
const FOREIGN = /[^\u0020-\u007e\n\t]+/g;
const LONGEST = 1600;

/** The visible name of a character. */
export function nameOf(character) {
  return `U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}`;
}

function mark(character) {
  const name = nameOf(character);
  return h('span.hidden-character', { title: `an invisible character, ${name}` }, `⟦${name}⟧`);
}

/** A piece without hidden characters; in code, what is not ASCII is set apart, for letters that look like others. */
function visible(piece, isCode) {
  if (!isCode) return [piece];
  const nodes = [];
  let from = 0;
  for (const match of piece.matchAll(FOREIGN)) {
    const names = [...match[0]].slice(0, 8).map(nameOf).join(' ');
    nodes.push(piece.slice(from, match.index), h('span.foreign', { title: `not ASCII: ${names}` }, match[0]));
    from = match.index + match[0].length;
  }
  nodes.push(piece.slice(from));
  return nodes;
}

/** The nodes of a text. `lines`: whether line ends and tabs keep their meaning; `code`: whether it is to be read exactly. */
function nodesOf(text, { lines, code }) {
  const nodes = [];
  let from = 0;
  for (const match of text.matchAll(HIDDEN)) {
    const character = match[0];
    if (lines && (character === '\n' || character === '\t')) continue;
    nodes.push(...visible(text.slice(from, match.index), code));
    nodes.push(character === '\n' ? h('span.line-end', { title: 'a line end' }, '↵ ') : mark(character));
    from = match.index + character.length;
  }
  nodes.push(...visible(text.slice(from), code));
  return nodes.filter(node => node !== '');
}

/** One line of an agent's text, cut by the layout, never by us beyond what a line can show. */
export function line(text, longest = 300) {
  const whole = String(text ?? '');
  const shown = whole.length > longest ? `${cut(whole, longest)}…` : whole;
  return h('span.inert', {}, nodesOf(shown, { lines: false, code: false }));
}

/** One line of a file, to be read exactly; tabs keep their meaning. */
export function row(text, longest) {
  const shown = text.length > longest ? `${cut(text, longest)}…` : text;
  return h('span.inert', {}, nodesOf(shown, { lines: true, code: true }));
}

/** A sentence about a call: what it quotes in backticks is code, to be read exactly. */
export function prose(text, longest = 1200) {
  const whole = String(text ?? '');
  const shown = whole.length > longest ? `${cut(whole, longest)}…` : whole;
  const pieces = shown.split(/`([^`]*)`/);
  return h('span.inert.prose', {}, pieces.map((piece, index) => (index % 2 ? word(piece) : nodesOf(piece, { lines: false, code: false }))));
}

/** A word that must be read exactly: an identifier, a path, a rule. */
export function word(text) {
  return h('code.inert', {}, nodesOf(String(text ?? ''), { lines: false, code: true }));
}

/** Cuts without splitting a character. */
function cut(text, length) {
  const last = text.charCodeAt(length - 1);
  return text.slice(0, last >= 0xd800 && last < 0xdc00 ? length - 1 : length);
}

/** A block of text as it was written, cut when long. */
export function block(text, { label = 'text', longest = LONGEST } = {}) {
  const whole = String(text ?? '');
  const nodes = piece => nodesOf(piece, { lines: true, code: true });
  return cuttable(whole, longest, piece => h('pre.inert.block', { tabindex: 0, 'aria-label': label }, nodes(piece)));
}

/** A drawing of a text that begins cut, with the button that draws the whole. */
export function cuttable(whole, longest, draw) {
  if (whole.length <= longest) return draw(whole);
  const box = h('div.cut', {});
  const rest = (whole.length - longest).toLocaleString('en');
  const show = button('quiet', `Show all (${rest} more characters)`, () => fill(box, draw(whole)));
  return add(box, draw(cut(whole, longest)), show);
}

const encoder = new TextEncoder();

/** Where bytes of the UTF-8 form lie in a text: a function from an offset in bytes to one in the text. */
function places(text) {
  const starts = [];
  let bytes = 0;
  let at = 0;
  for (const character of text) {
    starts.push([bytes, at]);
    bytes += encoder.encode(character).length;
    at += character.length;
  }
  starts.push([bytes, at]);
  return offset => (starts.find(([byte]) => byte >= offset) ?? [0, text.length])[1];
}

/** A command with its parts underlined and numbered; the notes stand below, by the same numbers. */
export function command(text, parts = []) {
  const place = places(text);
  const spans = parts.map(part => ({ from: place(part.start), to: place(part.end), note: part.note }))
    .filter(part => part.to > part.from).slice(0, 40);
  const draw = piece => h('pre.inert.command', { tabindex: 0, 'aria-label': 'the command' }, underlined(piece, spans));
  const notes = spans.map((span, index) => h('li', { 'data-part': index + 1 },
    h('span.number', { 'aria-hidden': 'true' }, index + 1),
    h('span', {}, word(shortened(text.slice(span.from, span.to))), ' ', line(span.note))));
  const box = h('div.parts', {}, cuttable(text, LONGEST * 2, draw));
  if (notes.length) add(box, h('ol.notes', { 'aria-label': 'what its parts do' }, notes));
  return box;
}

const shortened = text => (text.length > 80 ? `${cut(text, 78)}…` : text);

/** The text between the borders of the parts, each stretch marked by the innermost part that covers it. */
function underlined(text, spans) {
  const borders = [...new Set([0, text.length, ...spans.flatMap(span => [span.from, span.to])])]
    .filter(at => at <= text.length).sort((a, b) => a - b);
  return borders.slice(1).map((to, index) => {
    const from = borders[index];
    const covering = spans.filter(span => span.from <= from && to <= span.to);
    const innermost = covering.sort((a, b) => (a.to - a.from) - (b.to - b.from))[0];
    const nodes = nodesOf(text.slice(from, to), { lines: true, code: true });
    if (!innermost) return nodes;
    const number = spans.indexOf(innermost) + 1;
    const first = innermost.from === from ? h('sup', {}, number) : null;
    return h('span.part', { 'data-part': number }, nodes, first);
  });
}
