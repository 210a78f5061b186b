// A certified OpenID provider on loopback, with a model's API behind its tokens.
//
// Standard input takes one JSON order a line, standard output gives one JSON answer a line; the first line says where
// the provider is. Everything about tokens is the provider's own doing: this file configures it, writes down what
// was asked of it and which secrets were in use, and can put its clock forward or take it off the network.

import { createHash } from 'node:crypto';
import http from 'node:http';
import { pathToFileURL } from 'node:url';
import { require, serve as converse } from './companion.mjs';

const load = name => import(pathToFileURL(require.resolve(name)));

// The provider reads the time from here, so a test can let an hour pass in no time.
let ahead = 0;
const now = Date.now.bind(Date);
Date.now = () => now() + ahead * 1000;

// Its remarks about defaults would end up among the answers.
console.info = console.warn = () => {};

const { Provider } = await load('oidc-provider');
const { jwtVerify, createLocalJWKSet } = await load('jose');

const lifetimes = { AccessToken: 3600, AuthorizationCode: 60, DeviceCode: 600, RefreshToken: 86_400, IdToken: 3600 };
let format = 'opaque';
let reticent = false;
const requests = [];
const secrets = new Set();
let faults = [];

// What is claimed of people beyond what is claimed of everybody.
const people = {};
const claimsOf = id => ({ sub: id, name: `${id} Example`, email: `${id}@example.com`, email_verified: true });

const client = {
    client_id: 'mayi',
    application_type: 'native',
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
    response_types: ['code'],
    // The port is the program's choice, as RFC 8252 wants it.
    redirect_uris: ['http://127.0.0.1/callback'],
};

const configuration = {
    clients: [client],
    // Long enough for any test, and not the sign-in page's business.
    cookies: { keys: ['a key for cookies that live for one test'] },
    claims: { openid: ['sub'], profile: ['name'], email: ['email', 'email_verified'], groups: ['groups'] },
    scopes: ['openid', 'offline_access', 'model'],
    ttl: Object.fromEntries(Object.keys(lifetimes).map(name => [name, () => lifetimes[name]])),
    issueRefreshToken: (_, client) => client.grantTypeAllowed('refresh_token'),
    rotateRefreshToken: true,
    pkce: { required: () => true },
    findAccount: (_, id) => ({ accountId: id, claims: () => ({ ...claimsOf(id), ...people[id] }) }),
    features: {
        devInteractions: { enabled: true },
        deviceFlow: { enabled: true },
        revocation: { enabled: true, allowedPolicy: (_, client, token) => token.clientId === client.clientId },
        resourceIndicators: {
            enabled: true,
            defaultResource: () => (format === 'jwt' ? 'urn:model' : undefined),
            useGrantedResource: () => true,
            getResourceServerInfo: () => ({ scope: 'model', accessTokenFormat: 'jwt', accessTokenTTL: lifetimes.AccessToken }),
        },
    },
};

// ---- what is asked of it ----

/** The secrets among the fields of a request or an answer. */
function note(fields) {
    for (const name of ['access_token', 'refresh_token', 'id_token', 'code', 'code_verifier', 'device_code', 'token']) {
        if (typeof fields?.[name] === 'string') secrets.add(fields[name]);
    }
}

const mark = token => token && createHash('sha256').update(token).digest('hex').slice(0, 12);

/** The fault that a request runs into, if it does. */
function faulty(path) {
    const fault = faults.find(fault => path.endsWith(fault.path));
    if (fault && --fault.times === 0) faults = faults.filter(other => other !== fault);
    if (fault) requests.push({ path, status: fault.status });
    return fault;
}

async function record(context, next) {
    const fault = faulty(context.path);
    if (fault) {
        context.status = fault.status;
        context.type = fault.type ?? 'application/json';
        context.body = fault.body ?? '{"error":"server_error"}';
        return;
    }
    await next();
    if (reticent) delete context.body?.expires_in;
    const asked = context.oidc?.params ?? {};
    note(asked);
    note(context.body);
    requests.push({
        path: context.path,
        status: context.status,
        grant: asked.grant_type,
        challenge: asked.code_challenge_method,
        error: context.body?.error,
        // Tokens are told apart by their marks, so that the list can be printed.
        given: mark(context.body?.access_token),
        scope: asked.scope,
    });
}

// ---- the model's API ----

/** Whose token it is, if it is good. */
async function bearer(provider, header) {
    const token = header?.match(/^Bearer (.+)$/)?.[1];
    if (!token) return undefined;
    if (token.split('.').length === 3) {
        const keys = createLocalJWKSet(await (await fetch(`${provider.issuer}/jwks`)).json());
        const checks = { issuer: provider.issuer, audience: 'urn:model', currentDate: new Date(Date.now()) };
        return jwtVerify(token, keys, checks).then(({ payload }) => ({ who: payload.sub, token }), () => undefined);
    }
    const found = await provider.AccessToken.find(token);
    return found?.isValid ? { who: found.accountId, token } : undefined;
}

const EXPLANATION = { explanation: 'Frobs.', reasoning: 'I need it.', risk: 'It may not.', riskLevel: 'LOW' };

/** Both protocols of the model: a word for a question, a call of the tool where one is forced. */
function model(path, tools) {
    if (path.endsWith('/messages')) {
        const content = tools
            ? { type: 'tool_use', id: '1', name: 'explain_command', input: EXPLANATION }
            : { type: 'text', text: '<block>no</block>' };
        return { type: 'message', role: 'assistant', content: [content], stop_reason: 'end_turn', usage: { input_tokens: 9, output_tokens: 1 } };
    }
    const call = { id: '1', type: 'function', function: { name: 'explain_command', arguments: JSON.stringify(EXPLANATION) } };
    const message = tools ? { role: 'assistant', content: null, tool_calls: [call] } : { role: 'assistant', content: '<block>no</block>' };
    return { object: 'chat.completion', choices: [{ index: 0, message, finish_reason: 'stop' }], usage: { prompt_tokens: 9, completion_tokens: 1, total_tokens: 10 } };
}

async function answer(provider, request, response) {
    let body = '';
    for await (const piece of request) body += piece;
    const fault = faulty(request.url);
    if (fault) return void response.writeHead(fault.status, { 'content-type': 'application/json' }).end(fault.body);
    const key = request.headers['x-api-key'] ?? request.headers.authorization?.replace(/^Bearer /, '');
    const known = keys.has(key) ? { who: 'a key', token: key } : await bearer(provider, request.headers.authorization);
    requests.push({ path: request.url, status: known ? 200 : 401, given: mark(key), who: known?.who });
    response.writeHead(known ? 200 : 401, { 'content-type': 'application/json' });
    response.end(JSON.stringify(known ? model(request.url, JSON.parse(body).tools) : { error: { message: 'no' } }));
}

const keys = new Set();

// ---- orders ----

let server;
const connections = new Set();

const listen = port => new Promise((done, failed) => {
    server = http.createServer((request, response) => serve(request, response));
    server.on('connection', connection => {
        connections.add(connection);
        connection.on('close', () => connections.delete(connection));
    });
    server.on('error', failed);
    server.listen(port, '127.0.0.1', () => done(server.address().port));
});

let serve = (_, response) => response.writeHead(503).end();
const port = await listen(0);
const provider = new Provider(`http://127.0.0.1:${port}`, configuration);
provider.use(record);
const callback = provider.callback();
serve = (request, response) => (request.url.startsWith('/model/') ? answer(provider, request, response) : callback(request, response));

const orders = {
    /** What was asked, since the last time this was asked. */
    requests: () => requests.splice(0),
    /** Every secret that was ever in use. */
    secrets: () => [...secrets],
    /** Lets so many seconds pass. */
    pass: ({ seconds }) => void (ahead += seconds),
    /** How long what is issued from now on lives. */
    lifetimes: given => void Object.assign(lifetimes, given),
    /** Issues signed access tokens from now on, and leaves it to them to say how long they live. */
    sign: () => void ((format = 'jwt'), (reticent = true)),
    /** The next requests to a path fail. */
    fault: ({ path, status, times, body, type }) => void faults.push({ path, status, times, body, type }),
    /** Takes every fault back. */
    mend: () => void (faults = []),
    /** Claims something else of somebody from now on. */
    claim: ({ login, claims }) => void (people[login] = claims),
    /** A program that signs people in by a browser of theirs, and keeps a secret. */
    enrol: ({ id, secret, redirect }) => provider.Client.adapter.upsert(id, {
        client_id: id, client_secret: secret, redirect_uris: [redirect], grant_types: ['authorization_code'], response_types: ['code'],
    }),
    /** A key that the model takes. */
    key: ({ is }) => void keys.add(is),
    /** Whether tokens are still good. */
    good: async ({ tokens }) => Promise.all(tokens.map(async token => {
        const found = (await provider.AccessToken.find(token)) ?? (await provider.RefreshToken.find(token));
        return Boolean(found?.isValid);
    })),
    /** Takes every access token back, and leaves the refresh tokens. */
    forget: async () => {
        for (const token of secrets) await (await provider.AccessToken.find(token))?.destroy();
    },
    /** Takes everything of a person back, as an administrator would. */
    revoke: async () => {
        for (const token of secrets) {
            const found = await provider.RefreshToken.find(token);
            if (found?.grantId) await provider.Grant.adapter.destroy(found.grantId);
            await found?.destroy();
        }
    },
    /** Off the network, and back. */
    down: () => new Promise(done => {
        server.close(() => done());
        connections.forEach(connection => connection.destroy());
    }),
    up: () => listen(port).then(() => undefined),
};

await converse({ issuer: provider.issuer }, (order, given) => orders[order](given));
process.exit(0);
