// The view of sessions: leads with the agents they started, their mode and counters; end one, or change its mode.

import { ask, load, may } from './api.js';
import { h, button, fill, search, toast } from './dom.js';
import { line, prose, word } from './inert.js';
import { confirm } from './keys.js';
import { listen } from './live.js';
import { MODES, VERDICTS, glyph, mode, modeTitle, time } from './words.js';

/** In how many of the newest sessions the server counts decisions. */
const COUNTED = 200;

/** Sessions as trees: each below its lead; one whose lead is unknown stands by itself. */
export function trees(sessions) {
  const byId = new Map(sessions.map(session => [session.id, { session, children: [] }]));
  const roots = [];
  for (const node of byId.values()) {
    const lead = byId.get(node.session.lead);
    if (lead && !isAbove(byId, node, lead)) lead.children.push(node);
    else roots.push(node);
  }
  return roots;
}

/** Whether a session stands above one that it names as its lead: data of others may go round in circles. */
function isAbove(byId, node, lead) {
  const seen = new Set();
  for (let at = lead; at && !seen.has(at); at = byId.get(at.session.lead)) {
    if (at === node) return true;
    seen.add(at);
  }
  return false;
}

/** What was decided in each session: as the server counted it, and what was recorded since. */
class Tally {
  constructor() {
    this.counted = new Map();
    this.number = 0;
    this.since = new Map();
  }

  take({ sessions, counted }) {
    this.counted = new Map(sessions.filter(one => one.counters).map(one => [one.id, one.counters]));
    this.number = counted;
    for (const number of this.since.keys()) if (number <= counted) this.since.delete(number);
  }

  note(records) {
    for (const { number, kind, session, verdict } of records) {
      if (kind === 'decision' && number > this.number && VERDICTS.includes(verdict)) this.since.set(number, { session, verdict });
    }
  }

  knows(session) {
    return this.counted.has(session.id);
  }

  of(session) {
    const counts = { allow: 0, ask: 0, deny: 0, ...this.counted.get(session.id) };
    for (const one of this.since.values()) if (one.session === session.id) counts[one.verdict] += 1;
    return counts;
  }
}

/** How near auto mode is to where it steps back. */
function limits({ denials, limits: most }) {
  if (!denials?.total || !most) return null;
  const isNear = denials.inARow >= most.inARow || denials.total >= most.total;
  return h('span.small.limits', { 'data-near': isNear, title: 'auto mode steps back when either is reached' },
    `auto mode denied ${denials.inARow} of ${most.inARow} in a row, ${denials.total} of ${most.total} in all`);
}

function counters(session, tally) {
  const counts = tally.of(session);
  const shown = name => (tally.knows(session) ? counts[name].toLocaleString('en') : '–');
  return h('span.counters', {},
    VERDICTS.map(name => h('span.verdict', { 'data-verdict': name, title: `${name}: ${shown(name)} decisions of this session` },
      h('span', { 'aria-hidden': 'true' }, glyph(name)), h('span.unseen', {}, name), ' ', shown(name))),
    limits(session));
}

async function act(work, words) {
  try {
    await work();
    toast(words);
  } catch (failed) {
    toast(failed.help ? `${failed.message} — ${failed.help}` : failed.message, 'alarm');
  }
}

const pathOf = session => `/v1/sessions/${encodeURIComponent(session.id)}`;

function end(session) {
  confirm({
    title: `End ${session.agent || 'this session'}?`, yes: 'End the session',
    words: ['Nothing of ', word(session.id), ' is decided any more: every further call of it is denied.'],
    act: () => act(() => ask('DELETE', pathOf(session)), 'the session was ended'),
  });
}

function change(session, event) {
  const chosen = event.target.value;
  const known = MODES.find(([name]) => name === chosen);
  event.target.value = session.mode;
  if (!known) return;
  confirm({
    title: `Change to ${known[1]}?`, yes: `Change to ${known[1]}`,
    words: ['In this mode ', known[2], '. Session ', word(session.id)],
    act: () => act(() => ask('PATCH', pathOf(session), { mode: chosen }), `the mode is ${known[1]} now`),
  });
}

function controls(session, person) {
  if (session.ended || !may(person.role, 'answer')) return mode(session.mode);
  return [
    h('select', {
      'aria-label': `Mode of session ${session.id}`, 'data-mode': session.mode, on: { change: event => change(session, event) },
    }, MODES.map(([name]) => h('option', { value: name, selected: name === session.mode }, modeTitle(name)))),
    button('quiet', 'End', () => end(session), { 'aria-label': `End session ${session.id}` }),
  ];
}

/** Why nothing of it is decided any more. */
function stopped(session) {
  if (session.ended) return h('span.tag', {}, 'ended');
  return session.aborted ? h('span.tag', {}, prose(session.aborted, 90)) : null;
}

function node({ session, children }, shared) {
  const host = session.host ? [' on ', word(session.host)] : null;
  return h('li', { 'data-ended': Boolean(session.ended), 'data-session': session.id },
    h('div.agent', {},
      h('div.name', {}, h('span.dot', { 'data-on': !session.ended, 'aria-hidden': 'true' }),
        h('strong', {}, line(session.agent || 'agent', 60)), ' ', word(session.id), stopped(session)),
      h('div.where.small', {}, word(session.directory || '?'), host, ' ', h('span.faint', {}, 'seen ', time(session.seen))),
      counters(session, shared.tally),
      h('div.controls', {}, controls(session, shared.person))),
    children.length ? h('ul', {}, children.map(child => node(child, shared))) : null);
}

/** Opens the view. */
export function open({ main, person }) {
  const list = h('ul.tree', { 'aria-label': 'Sessions' });
  const filter = search('Filter sessions', () => draw());
  const ended = h('input', { type: 'checkbox', on: { change: () => draw() } });
  const tally = new Tally();
  let sessions = null;
  fill(main, h('div.page', {},
    h('header.bar', {}, h('h1', {}, 'Agents'), h('label.check', {}, ended, ' ended too'), filter), list));

  function draw() {
    if (!sessions) return;
    const text = filter.value.toLowerCase();
    const fits = session => !text || JSON.stringify(session).toLowerCase().includes(text);
    const shown = sessions.filter(session => (ended.checked || !session.ended) && fits(session));
    const focused = list.contains(document.activeElement) ? document.activeElement : null;
    fill(list, trees(shown).map(one => node(one, { person, tally })));
    if (focused) again(focused)?.focus();
    if (shown.length) return;
    fill(list, h('li.empty', {}, h('p.big', {}, text ? 'No session fits.' : 'No agent is at work.'),
      h('p', {}, 'An agent whose settings name this server comes up here with its first question.')));
  }

  /** What stands now in the place of a control. */
  function again(before) {
    const name = before.getAttribute('aria-label') ?? '';
    return list.querySelector(`[aria-label="${CSS.escape(name)}"]`);
  }

  async function reload() {
    try {
      sessions = (await load('/v1/sessions')).sessions;
      if (sessions.slice(0, COUNTED).some(one => !tally.knows(one))) await count();
      else drawUnlessHeld();
    } catch (failed) {
      fill(list, h('li.empty', { role: 'alert' }, failed.message));
    }
  }

  /** A list that is open under somebody's fingers stays as it is until they are done. */
  function drawUnlessHeld() {
    if (document.activeElement?.tagName !== 'SELECT' || !list.contains(document.activeElement)) draw();
  }

  async function count() {
    const found = await load('/v1/sessions?counters=true');
    sessions = found.sessions;
    tally.take(found);
    drawUnlessHeld();
  }

  let soon;
  const unlisten = listen(event => {
    if (event.event === 'recorded') {
      tally.note(event.records ?? []);
      drawUnlessHeld();
    }
    if (event.event === 'again') tally.counted.clear();
    if (event.event === 'session' || event.event === 'again') {
      clearTimeout(soon);
      soon = setTimeout(reload, 100);
    }
  });
  reload();
  return {
    keys: { '/': { words: 'filter', act: () => filter.focus() } },
    change() {},
    close() {
      clearTimeout(soon);
      unlisten();
    },
  };
}
