// The view of questions: those that wait first, one of them in full beside the list.

import { now } from './api.js';
import { h, fill, route, search } from './dom.js';
import { block, line } from './inert.js';
import { walk } from './keys.js';
import { closeSheets, countdown, foot } from './answer.js';
import { body, summary } from './question.js';
import { done, time, verdict } from './words.js';
import { fetchOne, find, follow, isLoaded, sorted } from './waiting.js';

const WIDE = matchMedia('(min-width: 960px)');

function outcomeOf(approval) {
  if (approval.state === 'answered') return verdict(approval.answer?.verdict, { word: done(approval.answer?.verdict) });
  return verdict(approval.state === 'expired' ? 'deny' : 'none', { word: approval.state });
}

function row(approval, current) {
  const { question } = approval;
  const isPending = approval.state === 'pending';
  const who = [question.agent, question.child, question.host].filter(Boolean).join(' · ');
  const when = isPending ? approval.created_at : approval.answer?.at ?? approval.expires_at;
  return h('a.row', {
    to: ['approvals', approval.id], 'data-id': approval.id, 'data-state': approval.state,
    'aria-current': approval.id === current ? 'true' : null,
  },
  h('span.head', {}, h('strong', {}, line(question.tool, 60)), isPending ? countdown(approval) : outcomeOf(approval)),
  h('span.what', {}, line(summary(question.input), 200)),
  h('span.who', {}, line(who, 90), ' ', time(when)));
}

function group(title, all, current) {
  if (!all.length) return null;
  return [h('h2', {}, title, ' ', h('span.count', {}, all.length)), all.map(one => row(one, current))];
}

const matches = (approval, text) => !text || JSON.stringify(approval.question).toLowerCase().includes(text.toLowerCase());

const nothing = () => h('div.empty', {}, h('p.big', {}, 'Nothing waits for you.'),
  h('p', {}, 'When an agent needs a person, its question comes up here at once.'));

/** A link to the next question that waits, once this one is settled. */
function onward(approval) {
  const { pending } = sorted();
  const next = pending.find(one => one.id !== approval.id);
  if (approval.state === 'pending' || !next) return null;
  return h('a.button.next', { to: ['approvals', next.id] }, `Next (${pending.length} waiting) `,
    h('kbd', { 'aria-hidden': 'true' }, 'n'));
}

function article(approval, person, content) {
  const { question } = approval;
  return h('article', { 'data-state': approval.state, 'data-id': approval.id },
    h('header.title', {},
      h('a.back', { to: ['approvals'] }, '← All'),
      h('h2', { tabindex: -1 }, line(question.agent || 'An agent', 60), ' asks to use ', line(question.tool, 60)),
      countdown(approval)),
    content,
    h('footer.foot', {}, foot(approval, person), onward(approval)));
}

/** A question that cannot be drawn is shown as it came, and can still be denied. */
function drawn(approval, person) {
  try {
    return article(approval, person, body(approval));
  } catch {
    const whole = JSON.stringify(approval.question, null, 2);
    return article(approval, person, block(whole, { label: 'the question as it came' }));
  }
}

const go = id => location.replace(route(id ? ['approvals', id] : ['approvals']));

class Approvals {
  constructor({ main, parts, person }) {
    this.person = person;
    this.current = parts[0] ?? null;
    this.shown = null;
    this.filter = search('Filter questions', () => this.drawList(), { id: 'filter' });
    this.list = h('div.rows', { role: 'group', 'aria-label': 'Questions' });
    this.detail = h('section.detail', { 'aria-label': 'The question' });
    this.view = h('div.split', {},
      h('section.list', { 'aria-label': 'All questions' },
        h('header.bar', {}, h('h1', {}, 'Approvals'), this.filter), this.list),
      this.detail);
    fill(main, this.view);
    this.unfollow = follow(() => this.draw());
    this.ticking = setInterval(() => this.tick(), 1000);
    this.draw();
    this.bring();
  }

  draw() {
    const { pending } = sorted();
    // On a wide screen something is always open; whoever reads it keeps it, whatever else comes in. An address that names
    // something is about to be opened.
    const isBare = ['', '#/', route(['approvals'])].includes(location.hash);
    if (!this.current && isBare && WIDE.matches && pending.length) return go(pending[0].id);
    this.drawList();
    this.drawDetail();
    return undefined;
  }

  drawList() {
    if (!isLoaded()) return fill(this.list, h('p.empty', {}, 'Loading…'));
    const focused = this.list.contains(document.activeElement) ? document.activeElement.dataset.id : null;
    const { pending, settled } = this.fitting();
    fill(this.list, group('Waiting', pending, this.current), group('Settled', settled, this.current));
    if (!pending.length && !settled.length) {
      fill(this.list, this.filter.value ? h('p.empty', {}, 'No question fits the filter.') : nothing());
    }
    if (focused) this.list.querySelector(`[data-id="${CSS.escape(focused)}"]`)?.focus();
    return this.list;
  }

  fitting() {
    const { pending, settled } = sorted();
    const fits = approval => matches(approval, this.filter.value);
    return { pending: pending.filter(fits), settled: settled.filter(fits).slice(0, 60) };
  }

  /** Draws the open question anew only when it changed: what somebody reads does not move under their eyes. */
  drawDetail() {
    const approval = this.current && find(this.current);
    this.view.dataset.showing = this.current ? 'detail' : 'list';
    if (!approval) {
      this.shown = null;
      const missing = h('p.empty', {}, isLoaded() ? 'There is no such question.' : 'Loading…');
      return fill(this.detail, this.current ? missing : nothing());
    }
    const version = `${approval.id} ${approval.state}`;
    if (version === this.shown) return this.detail;
    const scroll = this.shown?.startsWith(`${approval.id} `) ? this.detail.scrollTop : 0;
    this.shown = version;
    closeSheets(approval);
    fill(this.detail, drawn(approval, this.person));
    this.detail.scrollTop = scroll;
    return this.detail;
  }

  tick() {
    for (const node of this.view.querySelectorAll('.countdown')) node.tick?.();
    const open = find(this.current);
    if (open?.state !== 'pending' || open.expires_at > now()) return;
    // The server will say so in a moment; until then nobody answers in vain.
    for (const button of this.detail.querySelectorAll('.answers button')) button.disabled = true;
  }

  /** Fetches a question that a link names and the lists do not hold. */
  bring() {
    if (this.current && isLoaded() && !find(this.current)) fetchOne(this.current).catch(() => this.drawDetail());
  }

  step(by) {
    const { pending, settled } = this.fitting();
    const next = walk([...pending, ...settled].map(one => one.id), this.current, by);
    if (next && next !== this.current) go(next);
  }

  next() {
    const next = sorted().pending.find(one => one.id !== this.current);
    if (next) go(next.id);
  }

  enter() {
    if (this.current) this.detail.querySelector('h2')?.focus();
    else this.step(1);
  }

  get keys() {
    const press = key => this.detail.querySelector(`button[data-key="${key}"]:not([disabled])`)?.click();
    return {
      j: { words: 'next question', act: () => this.step(1) },
      k: { words: 'question before', act: () => this.step(-1) },
      Enter: { words: 'open the question', act: () => this.enter() },
      a: { words: 'approve once', act: () => press('a') },
      s: { words: 'approve for the session', act: () => press('s') },
      w: { words: 'approve always, with the rule', act: () => press('w') },
      d: { words: 'deny, with a comment', act: () => press('d') },
      n: { words: 'next that waits', act: () => this.next() },
      '/': { words: 'filter', act: () => this.filter.focus() },
      Escape: { words: 'back to the list', act: () => { if (this.current && !WIDE.matches) go(null); } },
    };
  }

  change(parts) {
    this.current = parts[0] ?? null;
    this.draw();
    this.bring();
    this.list.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest' });
  }

  close() {
    this.unfollow();
    clearInterval(this.ticking);
  }
}

/** Opens the view. */
export const open = given => new Approvals(given);
