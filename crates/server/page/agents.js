// The view of sessions: leads with the agents they started, their mode and counters; end one, or change its mode.

import { ask, load, may } from './api.js';
import { h, button, fill, search, toast } from './dom.js';
import { line, word } from './inert.js';
import { confirm } from './keys.js';
import { listen } from './live.js';
import { MODES, VERDICTS, glyph, mode, modeTitle, time } from './words.js';

/** How many of the newest decisions are counted. */
const NEWEST = 500;

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

/** Counts what the newest records decided, by session; others come in as they are made. */
class Tally {
  constructor() {
    this.seen = new Set();
    this.sessions = new Map();
  }

  note(records) {
    for (const { number, kind, session, verdict } of records) {
      if (kind !== 'decision' || this.seen.has(number) || !VERDICTS.includes(verdict)) continue;
      this.seen.add(number);
      const counts = this.sessions.get(session) ?? { allow: 0, ask: 0, deny: 0 };
      counts[verdict] += 1;
      this.sessions.set(session, counts);
    }
  }

  of(session) {
    return this.sessions.get(session.id) ?? { allow: 0, ask: 0, deny: 0 };
  }
}

function counters(session, tally) {
  const counts = tally.of(session);
  const lately = name => `${name}: ${counts[name]} of the newest decisions`;
  return h('span.counters', {},
    VERDICTS.map(name => h('span.verdict', { 'data-verdict': name, title: lately(name) },
      h('span', { 'aria-hidden': 'true' }, glyph(name)), h('span.unseen', {}, name), ' ', counts[name])),
    session.denials?.total ? h('span.faint.small', {}, `auto mode denied ${session.denials.total}`) : null);
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

function node({ session, children }, shared) {
  const host = session.host ? [' on ', word(session.host)] : null;
  return h('li', { 'data-ended': Boolean(session.ended), 'data-session': session.id },
    h('div.agent', {},
      h('div.name', {}, h('span.dot', { 'data-on': !session.ended, 'aria-hidden': 'true' }),
        h('strong', {}, line(session.agent || 'agent', 60)), ' ', word(session.id), session.ended ? h('span.tag', {}, 'ended') : null),
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
      draw();
    } catch (failed) {
      fill(list, h('li.empty', { role: 'alert' }, failed.message));
    }
  }

  /** A list that is open under somebody's fingers stays as it is until they are done. */
  function drawUnlessHeld() {
    if (document.activeElement?.tagName !== 'SELECT' || !list.contains(document.activeElement)) draw();
  }

  async function count() {
    const found = await load(`/v1/audit?kind=decision&limit=${NEWEST}`).catch(() => ({ records: [] }));
    tally.note(found.records);
    drawUnlessHeld();
  }

  let soon;
  const unlisten = listen(event => {
    if (event.event === 'recorded') {
      tally.note(event.records ?? []);
      drawUnlessHeld();
    }
    if (event.event === 'again') count();
    if (event.event === 'session' || event.event === 'again') {
      clearTimeout(soon);
      soon = setTimeout(reload, 100);
    }
  });
  reload().then(count);
  return {
    keys: { '/': { words: 'filter', act: () => filter.focus() } },
    change() {},
    close() {
      clearTimeout(soon);
      unlisten();
    },
  };
}
