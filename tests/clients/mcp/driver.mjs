// The gateway between the official TypeScript client and published servers.
//
// Every way of connecting is put through the same calls, once directly and once through the gateway: what the two
// give must be equal, except where a call is decided. Prints one line per check; exits with 1 when one fails.
//
// Variables: MAYI_BINARY the program, MAYI_CLIENT_PREFIX where the npm packages are, MAYI_CLIENT_SCRATCH a folder to
// write in. `node driver.mjs latency` measures instead: what a call costs through the gateway, beside a direct one.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import net from 'node:net';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const { MAYI_BINARY: mayi, MAYI_CLIENT_PREFIX: prefix, MAYI_CLIENT_SCRATCH: scratch } = process.env;
assert(mayi && prefix && scratch, 'MAYI_BINARY, MAYI_CLIENT_PREFIX and MAYI_CLIENT_SCRATCH must be set');
const require = createRequire(path.join(prefix, 'package.json'));
const load = name => import(pathToFileURL(require.resolve(`@modelcontextprotocol/sdk/${name}`)));
const { Client } = await load('client/index.js');
const { StdioClientTransport } = await load('client/stdio.js');
const { StreamableHTTPClientTransport } = await load('client/streamableHttp.js');
const types = await load('types.js');

const everything = [path.join(prefix, 'node_modules/@modelcontextprotocol/server-everything/dist/index.js')];
const filesystem = [path.join(prefix, 'node_modules/@modelcontextprotocol/server-filesystem/dist/index.js')];
const home = path.join(scratch, 'home');
fs.mkdirSync(home, { recursive: true });
const env = { PATH: process.env.PATH, HOME: home };

const HIDDEN = 'get-env';
const UNRULED = 'get-tiny-image';
const RULES = { permissions: { allow: ['mcp__everything'], ask: [`mcp__everything__${UNRULED}`], deny: [`mcp__everything__${HIDDEN}`] } };

// ---- processes and ways to connect ----

const running = new Set();
process.on('exit', () => running.forEach(child => child.kill('SIGKILL')));

/** Starts a program and waits for a line on its standard error or output that matches. */
async function start(command, args, extra, ready) {
    const child = spawn(command, args, { env: { ...env, ...extra }, stdio: ['ignore', 'pipe', 'pipe'] });
    running.add(child);
    child.on('exit', () => running.delete(child));
    const matched = await new Promise((found, failed) => {
        let said = '';
        const hear = piece => {
            said += piece;
            const match = said.match(ready);
            if (match) found(match);
        };
        child.stdout.on('data', hear);
        child.stderr.on('data', hear);
        child.on('exit', code => failed(new Error(`${command} ${args.join(' ')} ended with ${code}: ${said}`)));
    });
    return { child, matched, stop: () => new Promise(gone => (child.on('exit', gone), child.kill('SIGTERM'))) };
}

const freePort = () => new Promise(done => {
    const probe = net.createServer().listen(0, '127.0.0.1', () => {
        const { port } = probe.address();
        probe.close(() => done(port));
    });
});

async function remoteEverything() {
    const port = await freePort();
    const server = await start(process.execPath, [...everything, 'streamableHttp'], { PORT: String(port) }, /listening on port/i);
    return { ...server, url: `http://127.0.0.1:${port}/mcp` };
}

const gatewayArgs = (name, settings, more) => ['gateway', '--name', name, '--cwd', scratch, '--settings', JSON.stringify(settings), ...more];

const stdio = (command, args) => new StdioClientTransport({ command, args, env, stderr: process.env.VERBOSE ? 'inherit' : 'ignore' });

/** Each way from the client to the server: how to open it, and what to stop afterwards. */
const WAYS = {
    'a child, directly': async () => ({ transport: stdio(process.execPath, [...everything, 'stdio']), stop: [] }),
    'HTTP, directly': async () => {
        const remote = await remoteEverything();
        return { transport: new StreamableHTTPClientTransport(new URL(remote.url)), stop: [remote] };
    },
    'stdio before a child': async () => ({
        transport: stdio(mayi, gatewayArgs('everything', RULES, ['--', process.execPath, ...everything, 'stdio'])), stop: [],
    }),
    'stdio before HTTP': async () => {
        const remote = await remoteEverything();
        return { transport: stdio(mayi, gatewayArgs('everything', RULES, ['--url', remote.url])), stop: [remote] };
    },
    'HTTP before a child': async () => {
        const more = ['--listen', '127.0.0.1:0', '--', process.execPath, ...everything, 'stdio'];
        const gateway = await start(mayi, gatewayArgs('everything', RULES, more), {}, /listening at (\S+)/);
        return { transport: new StreamableHTTPClientTransport(new URL(gateway.matched[1])), stop: [gateway] };
    },
    'HTTP before HTTP': async () => {
        const remote = await remoteEverything();
        const more = ['--listen', '127.0.0.1:0', '--url', remote.url];
        const gateway = await start(mayi, gatewayArgs('everything', RULES, more), {}, /listening at (\S+)/);
        return { transport: new StreamableHTTPClientTransport(new URL(gateway.matched[1])), stop: [gateway, remote] };
    },
};

/** A client with everything a client can offer. `person` answers the gateway's questions. */
async function connect(transport, person) {
    const capabilities = { sampling: {}, roots: { listChanged: true }, ...(person ? { elicitation: {} } : {}) };
    const client = new Client({ name: 'driver', version: '1.0.0' }, { capabilities });
    const heard = [];
    client.setRequestHandler(types.CreateMessageRequestSchema, request => ({
        role: 'assistant', model: 'stand-in', stopReason: 'endTurn',
        content: { type: 'text', text: `sampled: ${JSON.stringify(request.params.messages).length > 2}` },
    }));
    client.setRequestHandler(types.ListRootsRequestSchema, () => ({ roots: [{ uri: 'file:///driver', name: 'driver' }] }));
    if (person) {
        client.setRequestHandler(types.ElicitRequestSchema, (request, extra) => {
            if (request.params.message.startsWith('May `')) return person(request.params, extra);
            heard.push('elicited by the server');
            return { action: 'decline' };
        });
    }
    client.fallbackNotificationHandler = async notification => void heard.push(notification.method);
    await client.connect(transport);
    return { client, heard };
}

const call = (client, name, args = {}, options) => client.callTool({ name, arguments: args }, undefined, options);
const textOf = result => result.content.map(part => part.text ?? part.type).join('\n');

async function until(what, condition) {
    for (let tries = 0; tries < 300; tries += 1) {
        if (condition()) return;
        await new Promise(wait => setTimeout(wait, 100));
    }
    assert.fail(`${what} did not happen within 30 seconds`);
}

// ---- what is checked ----

let failures = 0;
async function check(name, body) {
    try {
        await body();
        console.log(`ok      ${name}`);
    } catch (error) {
        failures += 1;
        console.log(`FAILED  ${name}\n${String(error.stack ?? error).replace(/^/gm, '        ')}`);
    }
}

/** Everything that must be the same with and without the gateway. */
async function account(client, heard) {
    const all = async (list, key) => {
        const found = [];
        let cursor;
        do {
            const page = await list({ cursor });
            found.push(...page[key]);
            cursor = page.nextCursor;
        } while (cursor);
        return found;
    };
    const progress = [];
    await call(client, 'trigger-long-running-operation', { duration: 0.2, steps: 4 }, { onprogress: at => progress.push(at) });
    return {
        capabilities: client.getServerCapabilities(),
        version: client.getServerVersion(),
        instructions: client.getInstructions(),
        tools: (await all(page => client.listTools(page), 'tools')).filter(tool => tool.name !== HIDDEN),
        echo: await call(client, 'echo', { message: 'grüße\n\u2028"\\' }),
        structured: await call(client, 'get-structured-content', { location: 'Chicago' }),
        annotated: await call(client, 'get-annotated-message', { messageType: 'error', includeImage: true }),
        invalid: await call(client, 'get-sum', { a: 'no number' }).catch(error => error.message),
        unknown: await call(client, 'there-is-no-such-tool').catch(error => error.message),
        method: await client.request({ method: 'no/such' }, types.ResultSchema).catch(error => [error.code, error.message]),
        // The client may take the answer before the last of them, which comes in the same breath.
        progress: progress.slice(0, 3),
        resources: await all(page => client.listResources(page), 'resources'),
        templates: await all(page => client.listResourceTemplates(page), 'resourceTemplates'),
        missing: await client.readResource({ uri: 'demo://nothing' }).catch(error => [error.code, error.message]),
        read: (await client.readResource({ uri: 'demo://resource/dynamic/text/1' })).contents.map(content => content.mimeType),
        subscribed: await client.subscribeResource({ uri: 'demo://resource/dynamic/text/1' }),
        prompts: await all(page => client.listPrompts(page), 'prompts'),
        prompt: await client.getPrompt({ name: 'args-prompt', arguments: { city: 'Bremen' } }),
        completion: await client.complete({
            ref: { type: 'ref/prompt', name: 'completable-prompt' }, argument: { name: 'department', value: 'S' },
        }),
        sampled: textOf(await call(client, 'trigger-sampling-request', { prompt: 'hello' })).includes('sampled: true'),
        elicited: textOf(await call(client, 'trigger-elicitation-request')).slice(0, 40) + heard.includes('elicited by the server'),
        roots: textOf(await call(client, 'get-roots-list')).includes('file:///driver'),
        logging: await client.setLoggingLevel('debug'),
        ping: await client.ping(),
    };
}

const yes = () => ({ action: 'accept', content: { answer: 'allow' } });
const no = () => ({ action: 'decline' });

async function decisions(way, client, answer) {
    await check(`${way}: a tool that is denied outright is not listed`, async () => {
        const { tools } = await client.listTools();
        assert(tools.length > 10 && tools.every(tool => tool.name !== HIDDEN));
    });
    await check(`${way}: a call of a hidden tool is denied, in words for the model`, async () => {
        const result = await call(client, HIDDEN);
        assert.equal(result.isError, true);
        assert.match(textOf(result), /denied by mayi: .*mcp__everything__get-env/);
    });
    await check(`${way}: a person who says yes lets the call run`, async () => {
        answer.is = yes;
        const result = await call(client, UNRULED);
        assert(!result.isError && result.content.some(part => part.type === 'image'), textOf(result));
    });
    await check(`${way}: a person who says no does not`, async () => {
        answer.is = no;
        const result = await call(client, UNRULED);
        assert.equal(result.isError, true);
        assert.match(textOf(result), /a person was asked, and did not allow it/);
    });
    await check(`${way}: a call that is cancelled while a person thinks is dropped, and the question withdrawn`, async () => {
        let withdrawn = false;
        const stop = new AbortController();
        answer.is = (_, extra) => new Promise(never => {
            extra.signal.addEventListener('abort', () => (withdrawn = true, never({ action: 'cancel' })));
            stop.abort('on purpose');
        });
        await assert.rejects(call(client, UNRULED, {}, { signal: stop.signal }));
        await until('the withdrawal', () => withdrawn);
        await client.ping();
    });
    await check(`${way}: a running call can be cancelled`, async () => {
        const stop = new AbortController();
        const long = call(client, 'trigger-long-running-operation', { duration: 60, steps: 600 }, {
            signal: stop.signal, onprogress: () => stop.abort('on purpose'),
        });
        await assert.rejects(long);
        assert.match(textOf(await call(client, 'get-sum', { a: 2, b: 3 })), /5/);
    });
    await check(`${way}: calls at the same time get their own answers`, async () => {
        const numbers = Array.from({ length: 40 }, (_, index) => index);
        const sums = await Promise.all(numbers.map(async a => textOf(await call(client, 'get-sum', { a, b: 1000 }))));
        sums.forEach((sum, a) => assert(sum.includes(String(a + 1000)), sum));
    });
    await check(`${way}: a message of 3 million letters passes both ways`, async () => {
        const message = 'x'.repeat(3_000_000);
        assert(textOf(await call(client, 'echo', { message })).includes(message));
    });
}

async function passing(way, direct) {
    const answer = { is: no };
    const { transport, stop } = await WAYS[way]();
    const { client, heard } = await connect(transport, (params, extra) => answer.is(params, extra));
    const seen = await account(client, heard);
    if (!direct) {
        await client.close();
        return seen;
    }
    for (const [part, value] of Object.entries(direct)) {
        await check(`${way}: ${part} is what it is without the gateway`, () => assert.deepEqual(seen[part], value));
    }
    await decisions(way, client, answer);
    await check(`${way}: notifications of the server arrive`, async () => {
        await call(client, 'toggle-simulated-logging');
        await until('a log message', () => heard.includes('notifications/message'));
    });
    await client.close();
    for (const part of stop) await part.stop();
    return seen;
}

/** The filesystem server: what is denied leaves no trace, what is allowed does. */
async function files() {
    const folder = path.join(scratch, 'files');
    fs.mkdirSync(folder, { recursive: true });
    fs.writeFileSync(path.join(folder, 'note.txt'), 'hello');
    const at = name => path.join(folder, name);
    const rules = { permissions: { allow: ['mcp__files__read_text_file'], deny: ['mcp__files__write_*'] } };
    const open = (more, person) =>
        connect(stdio(mayi, gatewayArgs('files', rules, [...more, '--', process.execPath, ...filesystem, folder])), person);

    const answer = { is: no };
    const { client } = await open([], (params, extra) => answer.is(params, extra));
    await check('files: an allowed read reads', async () => {
        assert.match(textOf(await call(client, 'read_text_file', { path: at('note.txt') })), /hello/);
    });
    await check('files: a denied write is hidden, and leaves no file', async () => {
        const { tools } = await client.listTools();
        assert(tools.some(tool => tool.name === 'edit_file') && tools.every(tool => tool.name !== 'write_file'));
        assert.equal((await call(client, 'write_file', { path: at('no.txt'), content: 'x' })).isError, true);
        assert(!fs.existsSync(at('no.txt')));
    });
    await check('files: what a person denies leaves no trace, what they allow does', async () => {
        await call(client, 'create_directory', { path: at('denied') });
        answer.is = yes;
        await call(client, 'create_directory', { path: at('allowed') });
        assert(!fs.existsSync(at('denied')) && fs.existsSync(at('allowed')));
    });
    await client.close();

    const { client: alone } = await open([], undefined);
    await check('files: a client without questions is told which rule would allow the call', async () => {
        const words = textOf(await call(alone, 'create_directory', { path: at('alone') }));
        assert.match(words, /mayi rules add 'mcp__files__create_directory'/);
        assert(!fs.existsSync(at('alone')));
    });
    await alone.close();

    const { client: unattended } = await open(['--unattended'], yes);
    await check('files: unattended, nobody is asked', async () => {
        const result = await call(unattended, 'create_directory', { path: at('unattended') });
        assert.equal(result.isError, true);
        assert(!fs.existsSync(at('unattended')));
    });
    await unattended.close();
}

/** The median time of a call that is decided and of a ping that is not, beside the same without a gateway. */
async function latency() {
    const median = async work => {
        for (let round = 0; round < 100; round += 1) await work();
        const times = [];
        for (let round = 0; round < 500; round += 1) {
            const before = process.hrtime.bigint();
            await work();
            times.push(Number(process.hrtime.bigint() - before) / 1000);
        }
        return times.sort((a, b) => a - b)[250];
    };
    const direct = {};
    for (const way of Object.keys(WAYS)) {
        const { transport, stop } = await WAYS[way]();
        const { client } = await connect(transport, no);
        const times = [await median(() => call(client, 'echo', { message: 'x' })), await median(() => client.ping())];
        await client.close();
        for (const part of stop) await part.stop();
        const same = /^HTTP,|HTTP$/.test(way) ? 'HTTP' : 'child';
        direct[same] ??= times;
        const shown = times.map((time, at) => `${time.toFixed(0).padStart(6)} µs ${(time / direct[same][at]).toFixed(2)} ×`);
        console.log(`${way.padEnd(24)} call ${shown[0]}   ping ${shown[1]}`);
    }
}

if (process.argv[2] === 'latency') {
    await latency();
} else {
    const direct = await passing('a child, directly', undefined);
    for (const way of Object.keys(WAYS).filter(way => !way.endsWith('directly'))) {
        await passing(way, direct).catch(error => check(way, () => Promise.reject(error)));
    }
    await files();
    console.log(failures === 0 ? 'the gateway passed' : `${failures} checks FAILED`);
}
process.exit(failures === 0 ? 0 : 1);
