// The questions that the page knows of: loaded once, kept up to date by events, counted in the title and the icon.

import { load } from './api.js';
import { announce, markIcon } from './dom.js';
import { listen } from './live.js';

const known = new Map();
const followers = new Set();
/** What was told while lists were on their way: each list gets what is newer than it. */
const underway = new Set();
let loaded = false;

/** Calls back whenever something changed. */
export function follow(follower) {
  followers.add(follower);
  return () => followers.delete(follower);
}

export const isLoaded = () => loaded;
export const find = id => known.get(id);

/** Those that wait, oldest first; then those that are settled, newest first. */
export function sorted() {
  const all = [...known.values()];
  const pending = all.filter(one => one.state === 'pending').sort((a, b) => a.created_at - b.created_at);
  const settled = all.filter(one => one.state !== 'pending')
    .sort((a, b) => (b.answer?.at ?? b.expires_at) - (a.answer?.at ?? a.expires_at));
  return { pending, settled };
}

/** Loads what waits and what was settled last. */
export async function refresh() {
  const since = new Map();
  underway.add(since);
  try {
    const [pending, recent] = await Promise.all([load('/v1/approvals?state=pending&limit=200'), load('/v1/approvals?limit=60')]);
    known.clear();
    for (const one of [...recent.approvals, ...pending.approvals, ...since.values()]) keep(one);
  } finally {
    underway.delete(since);
  }
  loaded = true;
  changed();
}

/** Keeps a question as it stands; one that is settled never waits again. */
function keep(approval) {
  const before = known.get(approval.id);
  if (!before || before.state === 'pending' || approval.state !== 'pending') known.set(approval.id, approval);
}

/** Takes what the server says of a question now. */
export function take(approval) {
  const before = known.get(approval.id);
  keep(approval);
  for (const since of underway) since.set(approval.id, approval);
  const { agent, tool } = approval.question;
  if (!before && approval.state === 'pending') announce(`${agent || 'an agent'} asks about ${tool}`);
  changed();
}

/** Loads one question, known or not. */
export async function fetchOne(id) {
  const approval = await load(`/v1/approvals/${encodeURIComponent(id)}`);
  take(approval);
  return approval;
}

function changed() {
  const { pending } = sorted();
  document.title = pending.length ? `(${pending.length}) mayi` : 'mayi';
  markIcon(pending.length);
  for (const follower of [...followers]) follower();
}

/** Follows the server from now on. */
export function start() {
  listen(event => {
    if (event.event === 'again') refresh().catch(() => {});
    else if (event.event === 'approval' && event.approval) take(event.approval);
    else if (event.event === 'approval') fetchOne(event.id).catch(() => {});
  });
}
