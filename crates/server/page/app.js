// The page: who is there, which view is open, and what holds on every one of them.

import { ask, me, useToken, may } from './api.js';
import { $, fill, h, markCurrent, route, toast } from './dom.js';
import * as keys from './keys.js';
import * as live from './live.js';
import { open as openSignIn, signInBy, takeCode } from './sign-in.js';
import * as waiting from './waiting.js';
import { refreshTimes } from './words.js';

const TICK = 'M4 12.5l4 4 8-11';
const PULSE = 'M2 10h4l2.5-6 4 12 2.5-6h3';
const SHIELD = 'M10 2.5l6.5 2.5v5c0 4-2.7 6.6-6.5 7.5-3.8-.9-6.5-3.5-6.5-7.5V5z';
const BARS = 'M3.5 16.5v-5M10 16.5v-12M16.5 16.5v-8';
const TREE = 'M10 3.5v5M10 8.5H5v4M10 8.5h5v4M3.5 16.5h3v-4h-3zM13.5 16.5h3v-4h-3zM8.5 3.5h3';

const VIEWS = [
  { name: 'approvals', title: 'Approvals', key: 'a', icon: TICK, load: () => import('./approvals.js') },
  { name: 'activity', title: 'Activity', key: 'c', icon: PULSE, load: () => import('./activity.js') },
  { name: 'policy', title: 'Policy', key: 'p', icon: SHIELD, load: () => import('./policy.js') },
  { name: 'insights', title: 'Insights', key: 'i', icon: BARS, load: () => import('./insights.js') },
  { name: 'agents', title: 'Agents', key: 'e', icon: TREE, load: () => import('./agents.js') },
];

let person = null;
let view = null;
let shown = null;

function parse() {
  const [name, ...parts] = location.hash.replace(/^#\/?/, '').split('/').map(part => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  });
  return { found: VIEWS.find(one => one.name === name) ?? VIEWS[0], parts: parts.filter(Boolean) };
}

async function draw() {
  if (!person || location.hash === '#main') return;
  const { found, parts } = parse();
  if (shown === found.name) return view?.change(parts);
  view?.close();
  view = null;
  shown = found.name;
  markCurrent($('tabs').children, tab => tab.dataset.view === found.name);
  const module = await found.load();
  if (shown !== found.name) return undefined;
  document.body.dataset.view = found.name;
  view = module.open({ main: $('main'), parts: parse().parts, person });
  keys.forView(view.keys);
  return undefined;
}

function drawTabs() {
  fill($('tabs'), VIEWS.map(one => h('a', { to: [one.name], 'data-view': one.name },
    h('svg', { viewBox: '0 0 20 20', width: 20, height: 20, 'aria-hidden': 'true' }, h('path', { d: one.icon })),
    h('span', {}, one.title), one.name === 'approvals' ? h('span.badge', { id: 'badge', hidden: true }) : null)));
}

function drawBadge() {
  const { pending } = waiting.sorted();
  $('badge').hidden = pending.length === 0;
  fill($('badge'), pending.length, h('span.unseen', {}, ' waiting'));
}

const STANDS = { opening: 'connecting', open: 'live', lost: 'reconnecting', closed: 'not connected' };

function drawConnection(state) {
  $('connection').dataset.state = state;
  $('connection').lastElementChild.textContent = STANDS[state];
}

/** Lets somebody in. */
function enter(found) {
  person = found;
  if (!may(person.role, 'see')) {
    useToken(null);
    person = null;
    return leave('This token is for an agent. An approver, an auditor or an admin can look at this page.');
  }
  $('top').hidden = false;
  fill($('person'), h('strong', {}, person.name), ' ', h('span.tag', {}, person.role));
  live.open();
  waiting.refresh().catch(failed => toast(failed.message, 'alarm'));
  shown = null;
  return draw();
}

/** Shows the way in. */
function leave(failure) {
  live.close();
  view?.close();
  view = null;
  shown = null;
  person = null;
  $('top').hidden = true;
  keys.forView({});
  openSignIn($('main'), { failure, entered: enter });
}

async function signOut() {
  await ask('POST', '/v1/sign-out').catch(() => {});
  useToken(null);
  leave();
}

function switchTheme() {
  const root = document.documentElement;
  const isDark = (root.dataset.theme ?? (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light')) === 'dark';
  root.dataset.theme = isDark ? 'light' : 'dark';
  try {
    localStorage.setItem('theme', root.dataset.theme);
  } catch {
    // Without storage the choice holds until the page is left.
  }
}

function start() {
  drawTabs();
  keys.start();
  for (const one of VIEWS) keys.always(`g ${one.key}`, one.title, () => { location.hash = route([one.name]); });
  keys.always('T', 'light or dark', switchTheme);
  $('theme-button').addEventListener('click', switchTheme);
  $('sign-out').addEventListener('click', signOut);
  document.querySelector('.skip').addEventListener('click', event => { event.preventDefault(); $('main').focus(); });
  addEventListener('hashchange', () => (location.hash.startsWith('#sign-in') ? begin() : draw()));
  live.watch(drawConnection);
  live.listen(event => { if (event.event === 'refused') leave('Your sign-in is over.'); });
  waiting.start();
  waiting.follow(drawBadge);
  setInterval(refreshTimes, 10_000);
}

async function begin() {
  const code = takeCode();
  try {
    if (code) await signInBy(code);
    await enter(await me());
  } catch (failed) {
    if (failed.status === 401 && !code) leave();
    else leave(code ? 'This link does not work any more: each works once, for a short while.' : failed.message);
  }
}

start();
begin();
