// A stand-in for `mayi serve` that plays its API from memory, with a full house behind it: for drawing the page and for
// looking at it. What is proved about the page is proved with the real server.
//
//   node stand_in.mjs [PORT]     then open the address that it prints
//
// Standard input takes one JSON order a line, standard output gives one JSON answer a line; the first says where it is.

import crypto from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import readline from 'node:readline';
import { fileURLToPath } from 'node:url';
import { house, question } from './house.mjs';

const page = path.join(path.dirname(fileURLToPath(import.meta.url)), '../../../crates/server/page');
const types = { html: 'text/html; charset=utf-8', css: 'text/css; charset=utf-8', js: 'text/javascript; charset=utf-8', svg: 'image/svg+xml' };
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

const state = house(Date.now());
const listeners = new Set();
const people = { letmein: { name: 'alice', role: 'admin' }, mayi_p: { name: 'bob', role: 'approver' }, mayi_u: { name: 'carol', role: 'auditor' }, mayi_a: { name: 'ci', role: 'agent' } };

function tell(event, data) {
    for (const listener of listeners) listener.write(`event: ${event}\ndata: ${JSON.stringify({ event, ...data })}\n\n`);
}

function put(changes) {
    const now = Date.now();
    const approval = {
        id: crypto.randomUUID(), created_at: now, expires_at: now + 300_000, state: 'pending', question: question(changes), answer: null,
    };
    state.approvals.push(approval);
    tell('approval', { id: approval.id, state: 'pending', approval });
    return approval;
}

function record(changes) {
    const last = state.records.at(-1);
    const made = { ...last, ...changes, number: last.number + 1, at: Date.now() };
    state.records.push(made);
    tell('recorded', { number: made.number, records: [made] });
    return made;
}

function asset(name) {
    const badge = /^icon-(\d+)\.svg$/.exec(name);
    const file = path.join(page, badge ? 'icon-waiting.svg' : name || 'index.html');
    if (path.dirname(file) !== page || !fs.existsSync(file)) return null;
    const count = badge && (Number(badge[1]) > 9 ? '9+' : badge[1]);
    return { body: fs.readFileSync(file, 'utf8').replace('COUNT', count ?? 'COUNT'), type: types[path.extname(file).slice(1)] };
}

function personOf(request) {
    const token = /^Bearer (.*)$/.exec(request.headers.authorization ?? '')?.[1];
    const cookie = /mayi=([^;]*)/.exec(request.headers.cookie ?? '')?.[1];
    return people[token ?? cookie];
}

const routes = {
    'GET /v1/me': ({ person }) => ({ ...person, csrf: 'word' }),
    'GET /v1/approvals': ({ query }) => ({ approvals: state.approvals.filter(one => !query.get('state') || one.state === query.get('state')) }),
    'GET /v1/approvals/:id': ({ id }) => state.approvals.find(one => one.id === id),
    'POST /v1/approvals/:id/answer': answer,
    'GET /v1/audit': ({ query }) => {
        const before = Number(query.get('before') ?? Infinity);
        const fits = one => one.number < before && (!query.get('verdict') || one.verdict === query.get('verdict'))
            && (!query.get('text') || JSON.stringify(one).includes(query.get('text')));
        const limit = Number(query.get('limit') ?? 50);
        const records = state.records.filter(fits).reverse().slice(0, limit);
        return { records, next: records.length === limit ? records.at(-1).number : null };
    },
    'GET /v1/policy': () => state.policy,
    'GET /v1/policy/lint': () => state.lint,
    'POST /v1/decide': ({ body }) => ({ ...question({ input: body.input }), verdict: 'ask', id: null }),
    'GET /v1/insights': ({ query }) => state.insights(Number(query.get('since'))),
    'GET /v1/sessions': () => ({ sessions: state.sessions, counted: state.records.at(-1).number }),
    'PATCH /v1/sessions/:id': ({ id, body }) => Object.assign(state.sessions.find(one => one.id === id), body),
    'DELETE /v1/sessions/:id': ({ id }) => Object.assign(state.sessions.find(one => one.id === id), { ended: Date.now() }),
    'POST /v1/sign-out': ({ response }) => { response.setHeader('set-cookie', 'mayi=; Max-Age=0; Path=/'); return {}; },
};

function answer({ id, body, person, response }) {
    const approval = state.approvals.find(one => one.id === id);
    if (approval.state !== 'pending') {
        response.setHeader('mayi-answered', 'before');
        return approval;
    }
    if (body.digest !== approval.question.digest) throw Object.assign(new Error('the question changed'), { status: 409 });
    Object.assign(approval, { state: 'answered', answer: { comment: null, rule: null, layer: null, ...body, by: person.name, at: Date.now() } });
    tell('approval', { id, state: approval.state, approval });
    return approval;
}

async function serve(request, response) {
    const url = new URL(request.url, 'http://127.0.0.1');
    response.setHeader('content-security-policy', policy);
    const found = asset(url.pathname.slice(1));
    if (found) return response.writeHead(200, { 'content-type': found.type }).end(found.body);
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = chunks.length ? JSON.parse(Buffer.concat(chunks)) : null;
    const send = (status, value) => response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    if (url.pathname === '/v1/sign-in' && people[body?.code]) {
        response.setHeader('set-cookie', `mayi=${body.code}; HttpOnly; SameSite=Strict; Path=/`);
        return send(200, {});
    }
    const person = personOf(request);
    if (!person) return send(401, { error: 'nobody is signed in' });
    if (url.pathname === '/v1/events') {
        response.writeHead(200, { 'content-type': 'text/event-stream' }).write('retry: 300\n\n');
        listeners.add(response);
        return response.on('close', () => listeners.delete(response));
    }
    const [, , , id, ...rest] = url.pathname.split('/');
    const shape = id && !['lint'].includes(id) ? `/v1/${url.pathname.split('/')[2]}/:id${rest.map(part => `/${part}`).join('')}` : url.pathname;
    const route = routes[`${request.method} ${shape}`];
    if (!route) return send(404, { error: `nothing is at ${url.pathname}` });
    try {
        const value = route({ id: decodeURIComponent(id ?? ''), query: url.searchParams, body, person, response });
        return value ? send(200, value) : send(404, { error: 'not found' });
    } catch (error) {
        return send(error.status ?? 500, { error: error.message });
    }
}

let server;
const listen = port => new Promise(done => {
    server = http.createServer((request, response) => serve(request, response));
    server.listen(port, '127.0.0.1', () => done(server.address().port));
});
const port = await listen(Number(process.argv[2] ?? 0));

const orders = {
    put, record,
    down: () => new Promise(done => { server.close(done); server.closeAllConnections(); }),
    up: () => listen(port),
};

const say = value => process.stdout.write(`${JSON.stringify(value)}\n`);
say({ url: `http://127.0.0.1:${port}`, link: `http://127.0.0.1:${port}/#sign-in=letmein` });
for await (const line of readline.createInterface({ input: process.stdin })) {
    const { order, ...given } = JSON.parse(line);
    say({ ok: (await orders[order](given)) ?? null });
}
