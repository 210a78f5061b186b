// Signing in: by the one-time link, by the organisation's provider, or with a pasted token.

import { ask, me, useToken } from './api.js';
import { h, button, fill } from './dom.js';

/** Takes the code of a one-time link out of the address, before anything else can see or keep it. */
export function takeCode() {
  const found = /^#sign-in=([A-Za-z0-9_-]+)$/.exec(location.hash);
  if (location.hash.startsWith('#sign-in')) history.replaceState(null, '', '/');
  return found?.[1] ?? null;
}

/** Uses a code; the server answers with a cookie that no script can read. */
export async function signInBy(code) {
  await ask('POST', '/v1/sign-in', { code });
}

/** Leaves for the organisation's provider, if the server knows one. */
async function toProvider(problem) {
  const response = await fetch('/sign-in/oidc', { redirect: 'manual', cache: 'no-store' }).catch(() => null);
  if (response?.type === 'opaqueredirect') return location.assign('/sign-in/oidc');
  const said = await response?.json().catch(() => null);
  return fill(problem, said?.error ?? 'the server cannot be reached');
}

/** Shows the view, and calls back with who came in. */
export function open(main, { failure, entered }) {
  const problem = h('p.problem', { role: 'alert' }, failure ?? null);
  const submit = async event => {
    event.preventDefault();
    const token = String(new FormData(form).get('token') ?? '').trim();
    if (!token) return form.elements.token.focus();
    useToken(token);
    try {
      return entered(await me());
    } catch (failed) {
      useToken(null);
      return fill(problem, failed.status === 401 ? 'This token is not known here, or its time is over.' : failed.message);
    }
  };
  const form = h('form', { on: { submit } },
    h('label', { for: 'token' }, 'Token'),
    h('div.together', {},
      h('input', { id: 'token', name: 'token', type: 'password', autocomplete: 'off', placeholder: 'mayi_…' }),
      h('button.primary', { type: 'submit' }, 'Sign in')),
    h('p.faint.small', {}, 'Kept in this page alone, until it is left or loaded again.'));
  const provider = button('plain', 'Sign in with your organisation', () => toProvider(problem));
  fill(main, h('div.sign-in', {}, h('div.card', {},
    h('h1', {}, 'May I?'),
    h('p', {}, 'Open the one-time link that ', h('code', {}, 'mayi serve'), ' printed when it started. Or sign in here.'),
    problem, form, h('p.or', {}, 'or'), provider)));
  form.elements.token.focus();
}
