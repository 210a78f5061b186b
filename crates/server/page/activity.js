// The view of decisions as they are made: a list that grows by itself, filters, and one decision's path drawn in full.

import { load, query } from './api.js';
import { h, button, fill, route, search, toast } from './dom.js';
import { block, line, prose, word } from './inert.js';
import { walk } from './keys.js';
import { listen } from './live.js';
import { map, path, stepName, strip, STEPS } from './pipeline.js';
import { facts, inputOf, summary } from './question.js';
import { VERDICTS, stamp, time, verdict } from './words.js';

const PAGE = 60;
const MOST = 2000;

function isShown(record, filter) {
  const has = (value, part) => !part || String(value ?? '').toLowerCase().includes(part.toLowerCase());
  return (!filter.verdict || record.verdict === filter.verdict) && (!filter.step || record.step === filter.step)
    && has(record.tool, filter.tool) && has(record.session, filter.session)
    && (!filter.text || has(JSON.stringify(record), filter.text));
}

const decisionOf = record => ({ trace: record.trace, step: record.step, settled: record.verdict });

function row(record, current) {
  const who = [record.agent, record.child, record.session].filter(Boolean).join(' · ');
  return h('a.row.decision', {
    to: ['activity', record.number], 'data-id': record.number, 'aria-current': String(record.number) === current ? 'true' : null,
  },
  h('span.head', {}, verdict(record.verdict), h('strong', {}, line(record.tool, 40)), strip(decisionOf(record)),
    h('span.step', {}, line(record.step, 8))),
  h('span.what', {}, line(summary(record.input), 200)),
  h('span.who', {}, line(who, 90), ' ', time(record.at)));
}

function part(title, ...content) {
  return h('section.part-of', {}, title ? h('h3', {}, title) : null, content);
}

function article(record) {
  const took = record.took_us ? ` · decided in ${(record.took_us / 1000).toFixed(2)} ms` : null;
  return h('article', { 'data-id': record.number },
    h('header.title', {}, h('a.back', { to: ['activity'] }, '← All'),
      h('h2.decided', { tabindex: -1 }, verdict(record.verdict),
        h('span', {}, line(record.tool, 60), ' at step ', word(record.step ?? '?')))),
    part(null, h('p.because', {}, prose(record.message ?? '', 2000)), map(decisionOf(record))),
    part('Step by step', path(record.trace)),
    part('The call', inputOf(record.input, [])),
    part('Who and where', facts(record)),
    part('Its record',
      h('p.small', {}, h('a', { to: ['activity', record.number] }, `Record ${record.number}`), ' · ', stamp(record.at), took),
      record.link ? h('p.small', {}, h('span.faint', {}, 'link of the chain '), word(record.link)) : null,
      h('details', {}, h('summary', {}, 'As it is kept'),
        block(JSON.stringify(record, null, 2), { label: 'the record', longest: 4000 }))));
}

function nothing(records) {
  return h('div.empty', {}, h('p.big', {}, records.length ? 'No decision fits.' : 'No decision yet.'),
    h('p', {}, records.length ? 'Loosen the filter, or load older ones.' : 'Decisions come up here as they are made.'));
}

function select(name, label, options) {
  return h('select', { name, 'aria-label': label }, h('option', { value: '' }, label),
    options.map(([value, words]) => h('option', { value }, words)));
}

function filters(change) {
  const text = (name, label) => search(label, change, { name, placeholder: label });
  return h('form.filters', {
    role: 'search', 'aria-label': 'Filter decisions', on: { change, submit: event => event.preventDefault() },
  },
  text('text', 'Text'),
  select('verdict', 'Any verdict', VERDICTS.map(one => [one, one])),
  select('step', 'Any step', STEPS.map(([id]) => id).toSpliced(4, 0, '1d').map(id => [id, `${id} ${stepName(id)}`])),
  text('tool', 'Tool'),
  text('session', 'Session'));
}

const WIDE = matchMedia('(min-width: 960px)');
const go = number => location.replace(route(number ? ['activity', number] : ['activity']));

/** A record by its number. */
async function one(number) {
  if (!/^\d+$/.test(number)) return null;
  const path = query('/v1/audit', { kind: 'decision', before: Number(number) + 1, limit: 1 });
  const found = await load(path).catch(() => null);
  const record = (found?.records ?? [])[0];
  return record && String(record.number) === number ? record : null;
}

class Activity {
  constructor({ main, parts }) {
    this.current = parts[0] ?? null;
    this.records = [];
    this.isMore = false;
    this.drawn = undefined;
    this.form = filters(() => this.later());
    this.list = h('div.rows', { role: 'group', 'aria-label': 'Decisions' }, h('p.empty', {}, 'Loading…'));
    this.older = button('plain.older', 'Load older', () => this.more());
    this.detail = h('section.detail', { 'aria-label': 'The decision' });
    this.view = h('div.split', {},
      h('section.list', { 'aria-label': 'All decisions' },
        h('header.bar', {}, h('h1', {}, 'Activity'), this.form), this.list),
      this.detail);
    fill(main, this.view);
    this.unlisten = listen(event => this.hear(event));
    this.reload();
  }

  wanted() {
    return Object.fromEntries(new FormData(this.form));
  }

  shown() {
    const wanted = this.wanted();
    return this.records.filter(record => isShown(record, wanted));
  }

  /** Filters what is there at once, and asks the server when somebody has stopped typing. */
  later() {
    this.drawList();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.reload(), 300);
  }

  async page(before) {
    const { verdict: wanted, session, text } = this.wanted();
    const found = await load(query('/v1/audit', { kind: 'decision', verdict: wanted, session, text, before, limit: PAGE }));
    this.isMore = Boolean(found.next);
    return found.records ?? [];
  }

  async reload() {
    try {
      this.records = await this.page(null);
      this.draw();
    } catch (error) {
      fill(this.list, h('p.empty', { role: 'alert' }, error.message));
    }
  }

  async more() {
    this.older.disabled = true;
    try {
      this.records = [...this.records, ...await this.page(this.records.at(-1)?.number)];
      this.draw();
    } catch (error) {
      toast(error.message, 'alarm');
    } finally {
      this.older.disabled = false;
    }
  }

  draw() {
    const [first] = this.shown();
    // Records may come when somebody has gone on already: only an address that names nothing but this view is made longer.
    const isBare = location.hash === route(['activity']);
    if (!this.current && isBare && WIDE.matches && first) return go(first.number);
    this.drawList();
    this.drawDetail();
    return undefined;
  }

  drawList() {
    const focused = this.list.contains(document.activeElement) ? document.activeElement.dataset.id : null;
    const rows = this.shown();
    fill(this.list, rows.map(record => row(record, this.current)), rows.length ? null : nothing(this.records), this.older);
    this.older.hidden = !this.isMore;
    if (focused) this.list.querySelector(`[data-id="${CSS.escape(focused)}"]`)?.focus();
  }

  async drawDetail() {
    this.view.dataset.showing = this.current ? 'detail' : 'list';
    const wanted = this.current;
    if (wanted === this.drawn) return;
    this.drawn = wanted;
    const known = this.records.find(record => String(record.number) === wanted);
    const record = wanted && (known ?? await one(wanted));
    if (this.drawn !== wanted) return;
    const missing = wanted ? 'This record cannot be found.' : 'Choose a decision to see its path.';
    fill(this.detail, record ? article(record) : h('p.empty', {}, missing));
    this.detail.scrollTop = 0;
  }

  hear(event) {
    if (event.event === 'again') this.reload();
    if (event.event !== 'recorded') return;
    const isNew = record => record.kind === 'decision' && !this.records.some(known => known.number === record.number);
    const fresh = (event.records ?? []).filter(isNew);
    if (!fresh.length) return;
    this.records = [...fresh, ...this.records].sort((a, b) => b.number - a.number).slice(0, MOST);
    this.draw();
  }

  step(by) {
    const next = walk(this.shown().map(record => String(record.number)), this.current, by);
    if (next && next !== this.current) go(next);
  }

  enter() {
    if (this.current) this.detail.querySelector('h2')?.focus();
    else this.step(1);
  }

  get keys() {
    return {
      j: { words: 'next decision', act: () => this.step(1) },
      k: { words: 'decision before', act: () => this.step(-1) },
      Enter: { words: 'open the decision', act: () => this.enter() },
      o: { words: 'load older', act: () => { if (this.isMore) this.more(); } },
      '/': { words: 'filter', act: () => this.form.elements.text.focus() },
      Escape: { words: 'back to the list', act: () => { if (this.current && !WIDE.matches) go(null); } },
    };
  }

  change(parts) {
    this.current = parts[0] ?? null;
    this.draw();
    this.list.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest' });
  }

  close() {
    this.unlisten();
    clearTimeout(this.timer);
  }
}

/** Opens the view. */
export const open = given => new Activity(given);
