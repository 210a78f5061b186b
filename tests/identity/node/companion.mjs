// What every companion of a test has in common: packages from the folder that it is told, a browser that loads nothing
// from beyond loopback, and a conversation of one JSON order and one JSON answer a line.

import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import readline from 'node:readline';

/** Finds packages in the folder that the test names. */
export const require = createRequire(path.join(process.env.MAYI_BROWSER_PACKAGES, 'package.json'));

const flags = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-dev-shm-usage',
    '--disable-background-networking', '--disable-component-update', '--disable-sync'];

/** Opens the browser of the search path. */
export function launch() {
    const { chromium } = require('playwright-core');
    const program = process.env.PATH.split(':').map(folder => path.join(folder, 'chromium')).find(fs.existsSync);
    return chromium.launch({ executablePath: program, args: flags, chromiumSandbox: false });
}

/** A person of their own: no cookie of one is seen by another, and nothing is loaded from beyond loopback. */
export async function person(browser, { patience, ...looks }) {
    const context = await browser.newContext(looks);
    context.setDefaultTimeout(patience);
    await context.route(url => url.hostname !== '127.0.0.1', route => route.abort());
    return context;
}

const say = value => process.stdout.write(`${JSON.stringify(value)}\n`);

/** Says that it is there, and then does what it is told until nobody tells it anything; `failed` adds to what is said of
 * an order that did not work. */
export async function serve(first, act, failed = () => ({})) {
    say(first);
    for await (const line of readline.createInterface({ input: process.stdin })) {
        const { order, ...given } = JSON.parse(line);
        try {
            say({ ok: (await act(order, given)) ?? null });
        } catch (error) {
            say({ error: String(error?.stack ?? error), ...await failed(given) });
        }
    }
}
