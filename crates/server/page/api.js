// The server, as this page speaks to it: every request goes to where the page came from, and nowhere else.
//
// A person is known by a cookie that scripts cannot read. A pasted token is kept in memory alone: it is gone when the
// page is left or loaded anew.

let token = null;
let csrf = null;
let skew = 0;

/** What went wrong, in the server's own words. */
export class Failed extends Error {
  constructor(status, { error, help }) {
    super(error);
    this.status = status;
    this.help = help;
  }
}

/** Uses a pasted token from now on; none with `null`. */
export function useToken(given) {
  token = given;
}

export function headers(more = {}) {
  const all = { accept: 'application/json', ...more };
  if (token) all.authorization = `Bearer ${token}`;
  return all;
}

/** The server's clock: a countdown must not depend on how this machine's is set. */
export function now() {
  return Date.now() + skew;
}

function hearClock(response) {
  const there = Date.parse(response.headers.get('date') ?? '');
  const apart = there - Date.now();
  // The header counts whole seconds, so less than two are no difference.
  if (Number.isFinite(apart)) skew = Math.abs(apart) < 2000 ? 0 : apart;
}

async function failure(response) {
  const said = await response.json().catch(() => ({}));
  const error = typeof said.error === 'string' ? said.error : `the server answered ${response.status}`;
  return new Failed(response.status, { error, help: typeof said.help === 'string' ? said.help : undefined });
}

/** A request; the answer's JSON and its headers. */
export async function ask(method, path, body) {
  const sent = headers(body === undefined ? {} : { 'content-type': 'application/json' });
  if (method !== 'GET' && csrf && !token) sent['mayi-csrf'] = csrf;
  let response;
  try {
    response = await fetch(path, {
      method, headers: sent, body: body === undefined ? undefined : JSON.stringify(body),
      credentials: 'same-origin', redirect: 'error', cache: 'no-store', referrerPolicy: 'no-referrer',
    });
  } catch {
    throw new Failed(0, { error: 'the server cannot be reached', help: 'is `mayi serve` running, and is this machine connected?' });
  }
  hearClock(response);
  if (!response.ok) throw await failure(response);
  const value = response.status === 204 ? null : await response.json().catch(() => null);
  return { value, headers: response.headers };
}

export const load = async path => (await ask('GET', path)).value;

/** A path with a query; what is empty is left out. */
export function query(path, members) {
  const given = Object.entries(members).filter(([, value]) => value !== '' && value !== null && value !== undefined);
  return given.length ? `${path}?${new URLSearchParams(given)}` : path;
}

/** Who we are; remembers the word that protects requests. */
export async function me() {
  const found = await load('/v1/me');
  csrf = typeof found.csrf === 'string' ? found.csrf : null;
  return found;
}

/** What a role may do, as the server sees it too: a button that could only fail is not offered. */
export function may(role, act) {
  const acts = {
    agent: ['ask'],
    approver: ['see', 'answer'],
    admin: ['ask', 'see', 'answer', 'audit', 'govern'],
    auditor: ['see', 'audit'],
  };
  return (acts[role] ?? []).includes(act);
}
