// One question as a person sees it: what, who, where, why it is asked, what it would do, and the path that led here.

import { h } from './dom.js';
import { block, command, line, prose, word } from './inert.js';
import { change, diff } from './diff.js';
import { map, path } from './pipeline.js';
import { mode, time } from './words.js';

const isText = value => typeof value === 'string';

/** How many edits of one call are drawn; the rest is shown as it came. */
const EDITS = 20;

const isEdit = edit => isText(edit?.old_string) && isText(edit?.new_string);

/** One edit of a file, and what it says beside its texts. */
function edited({ old_string: before, new_string: after, replace_all: all }) {
  return [change(before, after), all ? h('p.faint.small', {}, 'wherever it stands in the file') : null];
}

/** What a call would write, as a change: only what its input says is known, not what stands in the file. */
function changes(rest, take) {
  const nodes = [];
  const isWhole = isText(rest.file_path) && isText(rest.content);
  if (isText(rest.file_path)) nodes.push(h('p.file', {}, word(take('file_path'))));
  if (isText(rest.notebook_path)) nodes.push(h('p.file', {}, word(take('notebook_path'))));
  if (isEdit(rest)) nodes.push(edited({ old_string: take('old_string'), new_string: take('new_string'), replace_all: take('replace_all') }));
  if (Array.isArray(rest.edits) && rest.edits.length <= EDITS && rest.edits.every(isEdit)) nodes.push(take('edits').map(edited));
  if (isWhole) nodes.push(change('', take('content'), 'the whole file, as it would be'));
  if (isText(rest.new_source)) nodes.push(change('', take('new_source'), 'the cell, as it would be'));
  return nodes;
}

/** A call's input: a command with its parts, an edit as a change, anything else by its members. */
export function inputOf(input, parts) {
  if (isText(input)) return block(input, { label: 'the input' });
  if (!input || typeof input !== 'object') return h('p.empty.small', {}, 'No input.');
  const rest = { ...input };
  const nodes = [];
  const take = name => {
    const value = rest[name];
    delete rest[name];
    return value;
  };
  if (isText(rest.command)) nodes.push(command(take('command'), parts));
  nodes.push(...changes(rest, take));
  const members = Object.entries(rest);
  const drawn = members.map(([name, value]) => [h('dt', {}, word(name)), h('dd', {}, member(value))]);
  if (members.length) nodes.push(h('dl.members', {}, drawn));
  return nodes;
}

function member(value) {
  if (value === null || typeof value !== 'object') {
    const text = String(value);
    if (text.length < 200 && !text.includes('\n')) return word(text);
  }
  return block(isText(value) ? value : JSON.stringify(value, null, 2), { label: 'its value', longest: 600 });
}

/** One line that names a call in a list. */
export function summary(input) {
  const found = input && typeof input === 'object'
    ? [input.command, input.file_path, input.notebook_path, input.url, input.pattern, input.query, input.path].find(isText) : input;
  return isText(found) ? found : JSON.stringify(input ?? {});
}

const fact = (name, value) => (value ? h('div', {}, h('dt', {}, name), h('dd', {}, value)) : null);

/** Who asks, and where. */
export function facts(question) {
  const named = value => (value ? word(value) : null);
  return h('dl.facts', {},
    fact('Agent', named(question.agent)), fact('Child', named(question.child)), fact('Lead', named(question.lead)),
    fact('Session', named(question.session)), fact('Host', named(question.host)), fact('Directory', named(question.cwd)),
    fact('Mode', question.mode ? mode(question.mode) : null), fact('Call', named(question.call_id)),
    fact('Policy', question.policy ? word(question.policy.slice(0, 12)) : null));
}

function part(title, ...content) {
  return h('section.part-of', {}, h('h3', {}, title), content);
}

/** What could go wrong; how much stands before it. */
function risk(words) {
  const [, level, rest] = /^(LOW|MEDIUM|HIGH): (.*)$/s.exec(words) ?? [null, '', words];
  return h('p.risk', { 'data-level': level.toLowerCase() }, h('strong', {}, level ? `${level.toLowerCase()} risk` : 'risk'), ' ', prose(rest));
}

/** Why it asks: the words, the step, the risk. */
function why(question) {
  return h('div.why', {},
    h('p.because', {}, prose(question.message || 'no reason was given')),
    question.risk ? risk(question.risk) : null,
    h('p.faint.small', {}, 'asked at step ', word(question.step || '?')));
}

/** The whole question, without its answer. */
export function body(approval) {
  const { question } = approval;
  const settled = { trace: question.trace, step: question.step, settled: 'ask' };
  const effects = (question.effects ?? []).map(effect => h('li', {}, prose(effect, 300)));
  return [
    part('What', inputOf(question.input, question.parts)),
    part('Why it asks', why(question)),
    effects.length ? part('What it does', h('ul.effects', {}, effects)) : null,
    question.preview ? part('What it would change', diff(question.preview)) : null,
    part('Who and where', facts(question), h('p.faint.small', {}, 'asked ', time(approval.created_at))),
    part('Its path through the pipeline', map(settled), path(question.trace)),
  ];
}
