// The view of numbers: what was decided, where in the pipeline, how often people were asked, and what would save them.

import { load, query, now } from './api.js';
import { h, fill, joined } from './dom.js';
import { prose } from './inert.js';
import { bars, columns } from './plots.js';
import { stepName } from './pipeline.js';
import { VERDICTS, count } from './words.js';

const HOUR = 3_600_000;
const SPANS = [['day', '24 hours', 24 * HOUR], ['week', '7 days', 168 * HOUR], ['month', '30 days', 720 * HOUR]];
const BY_VERDICT = VERDICTS.map(name => ({ name, tone: name }));

const hour = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });
const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' });
const both = new Intl.DateTimeFormat('en-GB', { weekday: 'short', hour: '2-digit' });

/** A label for a moment, as fine as the time between two of them. */
function labelFor(rows) {
  const width = rows.length > 1 ? rows[1].at - rows[0].at : HOUR;
  const format = width >= 24 * HOUR ? day : width >= 3 * HOUR ? both : hour;
  return at => format.format(new Date(at));
}

const verdictsOf = row => VERDICTS.map(name => Number(row[name] ?? 0));
const overTime = (rows, valuesOf) => ({ rows: rows.map(row => ({ at: row.at, values: valuesOf(row) })), label: labelFor(rows) });

function tile(name, value, words) {
  return h('div.tile', {}, h('span.value', {}, value), h('span.name', {}, name), words ? h('span.faint.small', {}, words) : null);
}

function tiles({ verdicts = [], truncated }) {
  const [allow, asked, deny] = VERDICTS.map(name => verdicts.reduce((total, row) => total + Number(row[name] ?? 0), 0));
  const all = allow + asked + deny;
  const share = number => (all ? `${((number / all) * 100).toFixed(number / all < 0.1 ? 1 : 0)} %` : '–');
  return h('div.tiles', {},
    tile('decisions', all.toLocaleString('en'), truncated ? 'the newest; there were more' : null),
    tile('without a question', share(allow + deny), count(allow + deny, 'call')),
    tile('asked a person', asked.toLocaleString('en'), share(asked)),
    tile('denied', deny.toLocaleString('en'), share(deny)));
}

function suggestions(all = []) {
  const passed = covers => ['would let pass: ', joined(covers.slice(0, 3).map(one => prose(one, 90)), ' · ')];
  return bars({
    title: 'What a rule would save',
    words: 'Questions that each suggested rule would have answered.',
    series: [{ name: 'questions saved', tone: 'plain' }],
    rows: all.map(one => ({ name: one.rule, values: [Number(one.saved ?? 0)], more: one.covers?.length ? passed(one.covers) : null })),
    mono: true,
    head: 'Rule',
  });
}

const money = value => `$${value.toFixed(4).replace(/0{1,2}$/, '')}`;
const seconds = milliseconds => `${(milliseconds / 1000).toFixed(1)} s`;
const total = (rows, name) => rows.reduce((sum, row) => sum + Number(row[name] ?? 0), 0);

/** What a model used, in words; what is not known is not guessed. */
function usedBy(one) {
  return [count(one.requests, 'request'), `${count(one.input_tokens, 'token')} read`, `${one.output_tokens.toLocaleString('en')} written`,
    Number.isFinite(one.usd) ? money(one.usd) : 'price not known', `${seconds(one.took_ms / Math.max(1, one.calls))} a call`].join(' · ');
}

/** How much of it is known, in words. */
function told({ calls = 0, untold = 0 }) {
  if (!calls) return 'The model behind auto mode.';
  if (untold === calls) return `${count(calls, 'call')}; none of their records says what it used.`;
  return `${count(calls, 'call')}${untold ? `, ${untold.toLocaleString('en')} of which do not say what they used` : ''}.`;
}

function classifier(used = {}) {
  const { over_time: all = [], models = [] } = used;
  const isMoney = total(all, 'usd') > 0;
  return [
    columns({
      title: isMoney ? 'What the classifier costs' : 'How often the classifier is asked',
      words: told(used),
      series: [{ name: isMoney ? 'cost' : 'calls', tone: 'plain' }],
      ...overTime(all, row => [Number((isMoney ? row.usd : row.calls) ?? 0)]),
      ...(isMoney ? { format: money } : {}),
    }),
    models.length ? bars({
      title: 'The classifier, by model', words: `${money(total(models, 'usd'))} in all, as far as prices are known.`,
      series: [{ name: 'calls', tone: 'plain' }], head: 'Model', mono: true,
      rows: models.map(one => ({ name: one.model, values: [Number(one.calls ?? 0)], more: usedBy(one) })),
    }) : null,
  ];
}

function plots(data) {
  const { verdicts = [], prompts = [], steps = [] } = data;
  return [
    tiles(data),
    h('div.plots', {},
      columns({
        title: 'Decisions', words: 'By verdict, over time.', wide: true, series: BY_VERDICT, ...overTime(verdicts, verdictsOf),
      }),
      columns({
        title: 'Questions to people', words: 'Per hour.', series: [{ name: 'questions', tone: 'ask' }],
        ...overTime(prompts, row => [Number(row.count ?? 0)]),
      }),
      bars({
        title: 'Where it was decided', words: 'By the step that settled it.', series: BY_VERDICT, head: 'Step',
        rows: steps.map(row => ({ name: `${row.step} ${stepName(row.step)}`, values: verdictsOf(row) })),
      }),
      suggestions(data.suggestions),
      classifier(data.classifier)),
  ];
}

class Insights {
  constructor({ main }) {
    this.span = SPANS[0];
    this.data = null;
    this.box = h('div', {}, h('p.empty', {}, 'Loading…'));
    fill(main, h('div.page', {},
      h('header.bar', {}, h('h1', {}, 'Insights'),
        h('fieldset.segments', {}, h('legend.unseen', {}, 'Time'), SPANS.map(span => this.segment(span)))),
      this.box));
    this.resized = () => {
      clearTimeout(this.soon);
      this.soon = setTimeout(() => { if (this.data) fill(this.box, plots(this.data)); }, 150);
    };
    addEventListener('resize', this.resized);
    this.every = setInterval(() => { if (!this.isRead()) this.reload(); }, 60_000);
    this.reload();
  }

  segment(span) {
    const choose = () => {
      this.span = span;
      this.reload();
    };
    const radio = { type: 'radio', name: 'span', value: span[0], checked: span === this.span, on: { change: choose } };
    return h('label', {}, h('input', radio), h('span', {}, span[1]));
  }

  /** Numbers that somebody is reading stay where they are. */
  isRead() {
    return this.box.querySelector('details[open]') || this.box.contains(document.activeElement);
  }

  async reload() {
    try {
      this.data = await load(query('/v1/insights', { since: Math.round(now() - this.span[2]) }));
      fill(this.box, plots(this.data));
    } catch (failed) {
      fill(this.box, h('p.empty', { role: 'alert' }, failed.message));
    }
  }

  get keys() {
    const press = name => document.querySelector(`input[name=span][value=${name}]`)?.click();
    return Object.fromEntries(SPANS.map(([name, words], index) => [index + 1, { words: `the last ${words}`, act: () => press(name) }]));
  }

  change() {}

  close() {
    clearInterval(this.every);
    clearTimeout(this.soon);
    removeEventListener('resize', this.resized);
  }
}

/** Opens the view. */
export const open = given => new Insights(given);
