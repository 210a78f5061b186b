// A decision's path through the pipeline, drawn: a strip for a row of a list, a map with every step, and the path
// itself, where each step stands beside what it said.

import { h } from './dom.js';
import { line, prose } from './inert.js';
import { glyph, verdict } from './words.js';

/** The steps in their order, with the line that nothing below can overrule. */
export const STEPS = [
  ['pre', 'hooks'], ['1a', 'deny-rules'], ['1b', 'ask-rules'], ['1c', 'tool-check'], ['1e', 'human-only'],
  ['1f', 'content-ask-rules'], ['1g', 'protected-paths'],
  ['2a', 'bypass'], ['2b', 'allow-rules'], ['3', 'fallback'],
  ['4a', 'dont-ask'], ['4b.1', 'not-for-classifier'], ['4b.2', 'accept-edits'], ['4b.3', 'safe-tools'],
  ['4b.4', 'static-risk'], ['4b.5', 'classifier'], ['4c', 'hooks'], ['4d', 'nobody'], ['4e', 'human'],
];
const FIRST_BELOW = 7;
const FIRST_REFERRED = 10;

/** The name of a step; 1d takes the place of 1c when the tool's own check refuses. */
export const stepName = id => STEPS[place(id)]?.[1] ?? '';
const place = id => STEPS.findIndex(([step]) => step === (id === '1d' ? '1c' : id));

const isSettled = row => row.finding !== 'pass' && row.finding !== '-';
const rowsOf = trace => (Array.isArray(trace) ? trace.filter(row => row && typeof row.step === 'string') : []);

/** The steps that a trace reached, by their place; without a trace, as far as the step that settled it. */
function reached(trace, step, settled) {
  const found = new Map();
  for (const row of rowsOf(trace)) if (row.finding !== '-') found.set(place(row.step), row);
  if (!found.size && place(step) >= 0) {
    const until = place(step);
    const passes = STEPS.slice(0, until + 1).map((_, index) => index).filter(index => index > 0 && (index < FIRST_REFERRED || index === until));
    for (const index of passes) found.set(index, { finding: index === until ? settled : 'pass' });
  }
  return found;
}

/** Where a stop lies: three stretches with a gap between them. */
const stop = (index, apart) => 10 + index * apart + (index >= FIRST_BELOW ? apart * 0.6 : 0) + (index >= FIRST_REFERRED ? apart * 0.6 : 0);

/** Draws stops on a track. */
function track({ trace, step, settled }, { apart, y, size }) {
  const found = reached(trace, step, settled);
  const stops = [...found.keys()].sort((a, b) => a - b);
  const x = index => stop(index, apart);
  const end = x(STEPS.length - 1);
  const nodes = [h('line.track', { x1: x(0), y1: y, x2: end, y2: y })];
  const border = (x(FIRST_BELOW - 1) + x(FIRST_BELOW)) / 2;
  nodes.push(h('line.border', { x1: border, y1: y - size * 2.2, x2: border, y2: y + size * 2.2 }));
  stops.slice(1).forEach((index, at) => {
    const tone = found.get(stops[at])?.finding === 'ask' || index >= FIRST_REFERRED ? 'referred' : 'walked';
    nodes.push(h('line', { class: tone, x1: x(stops[at]), y1: y, x2: x(index), y2: y }));
  });
  STEPS.forEach(([, name], index) => {
    const row = found.get(index);
    const kind = !row ? 'unreached' : isSettled(row) ? row.finding : 'pass';
    const isLast = index === stops.at(-1) && row && isSettled(row);
    nodes.push(h('circle.stop', { 'data-finding': kind, cx: x(index), cy: y, r: isLast ? size * 1.9 : row ? size : size * 0.7 }));
    if (isLast && size > 3) {
      nodes.push(h('text.sign', { x: x(index), y: y + 4, 'text-anchor': 'middle' }, glyph(row.finding)));
    }
  });
  return { nodes, x, found, width: end + 10 };
}

const told = ({ step, settled }) => `the path through the pipeline: ${settled} at step ${step}`;

/** A small strip: where in the pipeline a decision was made, at a glance. */
export function strip(decision) {
  const { nodes, width } = track(decision, { apart: 6, y: 8, size: 1.9 });
  return h('svg.strip', { viewBox: `0 0 ${width} 16`, width, height: 16, role: 'img', 'aria-label': told(decision) }, nodes);
}

/** The whole pipeline with the taken path. */
export function map(decision) {
  const { nodes, x, found, width } = track(decision, { apart: 34, y: 34, size: 5 });
  const last = [...found.keys()].sort((a, b) => a - b).at(-1);
  const labels = STEPS.map(([id], index) => h('text', {
    class: index === last ? 'label here' : found.has(index) ? 'label' : 'label unreached', x: x(index), y: 62, 'text-anchor': 'middle',
  }, found.get(index)?.step ?? id));
  const heads = [[0, 'above the line'], [FIRST_BELOW, 'below'], [FIRST_REFERRED, 'who answers an ask']]
    .map(([index, words]) => h('text.head', { x: x(index) - 6, y: 12 }, words));
  return h('svg.map', { viewBox: `0 0 ${width + 8} 70`, role: 'img', 'aria-label': told(decision) }, nodes, labels, heads);
}

const MAIN = 14;
const SIDE = 34;
const ROW = 17;
// The room that the line takes above its row; the style sheet knows it too.
const LINE_HEIGHT = 27;

/** The rail beside a row: the main track, and the side track that an ask takes past the steps it no longer meets. */
function rail({ row, index, rows, asked }, top) {
  const isReferral = place(row.step) >= FIRST_REFERRED;
  const level = ROW + top;
  const isLast = index === rows.length - 1;
  const tone = row.finding === '-' ? 'track' : 'walked';
  const nodes = [];
  const main = (y1, y2, kind) => nodes.push(h('line', { class: kind, x1: MAIN, y1, x2: MAIN, y2 }));
  const side = (y1, y2) => nodes.push(h('line.referred', { x1: SIDE, y1, x2: SIDE, y2 }));
  const next = rows[index + 1];
  const goesOn = next && place(next.step) < FIRST_REFERRED;
  if (!isReferral) {
    if (index > 0) main(0, level, tone);
    if (goesOn) main(level, '100%', next.finding === '-' ? 'track' : 'walked');
  }
  if (index === asked) {
    nodes.push(h('path.referred', { d: `M${MAIN} ${level} C${MAIN} ${level + 14} ${SIDE} ${level + 2} ${SIDE} ${level + 17}` }));
    if (next) side(level + 16, '100%');
  } else if (asked >= 0 && index > asked) side(0, isLast ? level : '100%');
  const kind = row.finding === '-' ? 'unreached' : isSettled(row) ? row.finding : 'pass';
  const cx = isReferral ? SIDE : MAIN;
  nodes.push(h('circle.stop', { 'data-finding': kind, cx, cy: level, r: isSettled(row) ? 9 : 4.5 }));
  if (isSettled(row)) nodes.push(h('text.sign', { x: cx, y: level + 4, 'text-anchor': 'middle' }, glyph(row.finding)));
  return h('svg.rail', { width: 48, height: '100%', 'aria-hidden': 'true' }, nodes);
}

const LINE = 'the line: nothing below overrules what is above';

/** The path: every step with what it said, the taken way drawn beside it. */
export function path(trace) {
  const rows = rowsOf(trace);
  if (!rows.length) return h('p.empty.small', {}, 'No trace was kept of this decision.');
  const isAsked = row => row.finding === 'ask' && place(row.step) < FIRST_REFERRED;
  const asked = rows.some(row => place(row.step) >= FIRST_REFERRED) ? rows.findIndex(isAsked) : -1;
  const items = rows.map((row, index) => {
    const isFirstBelow = place(row.step) >= FIRST_BELOW && index > 0 && place(rows[index - 1].step) < FIRST_BELOW;
    return h('li', { 'data-finding': row.finding === '-' ? 'unreached' : row.finding, 'data-line': isFirstBelow ? LINE : null },
      rail({ row, index, rows, asked }, isFirstBelow ? LINE_HEIGHT : 0),
      h('span.id', {}, line(row.step, 8)),
      h('span.name', {}, line(row.name ?? '', 40)),
      h('span.said', {}, said(row)));
  });
  return h('ol.path', { 'aria-label': 'the path through the pipeline' }, items);
}

function said(row) {
  if (row.finding === '-') return h('span.faint', {}, 'not reached');
  const note = row.note ? prose(row.note, 400) : null;
  if (row.finding === 'pass') return [h('span.faint', {}, note ?? 'nothing to say')];
  return [verdict(row.finding), ' ', note];
}
