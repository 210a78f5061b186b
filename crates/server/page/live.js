// What happens on the server, as it happens: server-sent events, read by fetch so that a pasted token works too.
// Reconnects by itself, and says how the connection stands.

import { headers } from './api.js';

const listeners = new Set();
const watchers = new Set();
let state = 'closed';
let stop = null;
let last = '';
let wait = 1000;

/** Calls back with every event: `{ event, ... }`, and with `{ event: 'again' }` when something may have been missed. */
export function listen(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Calls back with how the connection stands: opening, open, lost, closed. */
export function watch(watcher) {
  watchers.add(watcher);
  watcher(state);
}

function stand(now) {
  state = now;
  for (const watcher of watchers) watcher(state);
}

function tell(event) {
  for (const listener of [...listeners]) listener(event);
}

/** One event of the stream. */
function hear(lines) {
  const data = [];
  let name = 'message';
  for (const line of lines) {
    const [, field, value] = /^([^:]*):? ?(.*)$/s.exec(line);
    if (field === 'data') data.push(value);
    else if (field === 'event') name = value;
    else if (field === 'id') last = value;
    else if (field === 'retry' && /^\d+$/.test(value)) wait = Math.min(Math.max(Number(value), 250), 30_000);
  }
  if (!data.length) return;
  try {
    tell({ ...JSON.parse(data.join('\n')), event: name });
  } catch {
    tell({ event: 'again' });
  }
}

/** Reads the stream until it ends. */
async function read(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const pieces = (rest + value).split(/\r?\n\r?\n/);
    rest = pieces.pop();
    for (const piece of pieces) hear(piece.split(/\r?\n/));
  }
}

async function connect(signal) {
  const more = last ? { accept: 'text/event-stream', 'last-event-id': last } : { accept: 'text/event-stream' };
  const response = await fetch('/v1/events', {
    headers: headers(more), signal, credentials: 'same-origin', cache: 'no-store', redirect: 'error',
  });
  if (response.status === 401 || response.status === 403) return tell({ event: 'refused', status: response.status });
  if (!response.ok) throw new Error('no stream');
  stand('open');
  tell({ event: 'again' });
  await read(response.body);
}

/** A pause that ends early when the machine is back on the network or the page is looked at again. */
function pause(milliseconds, signal) {
  return new Promise(done => {
    const end = () => {
      clearTimeout(timer);
      removeEventListener('online', end);
      document.removeEventListener('visibilitychange', end);
      done();
    };
    const timer = setTimeout(end, milliseconds);
    addEventListener('online', end);
    document.addEventListener('visibilitychange', end);
    signal.addEventListener('abort', end, { once: true });
  });
}

/** Opens the stream and keeps it open. */
export async function open() {
  close();
  const controller = new AbortController();
  stop = controller;
  let failures = 0;
  while (!controller.signal.aborted) {
    stand(failures ? 'lost' : 'opening');
    try {
      const begun = Date.now();
      await connect(controller.signal);
      if (Date.now() - begun > 5000) failures = 0;
    } catch {
      // The reason does not matter: whatever it was, the way is the same.
    }
    if (controller.signal.aborted) return;
    failures += 1;
    stand('lost');
    await pause(Math.min(wait * 1.6 ** (failures - 1), 15_000), controller.signal);
  }
}

/** Ends it. */
export function close() {
  stop?.abort();
  stop = null;
  stand('closed');
}
