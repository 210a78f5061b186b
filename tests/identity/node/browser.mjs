// A real browser that signs in where it is told, as a person would: it reads pages, types and clicks.
//
// Standard input takes one JSON order a line, standard output gives one JSON answer a line; the first says that the
// browser is there. Every order has a fresh profile: no cookie of one is seen by the next.

import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import readline from 'node:readline';

const require = createRequire(path.join(process.env.MAYI_IDENTITY_PACKAGES, 'package.json'));
const { chromium } = require('playwright-core');

const flags = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-dev-shm-usage',
    '--disable-background-networking', '--disable-component-update', '--disable-sync'];
const program = process.env.PATH.split(':').map(folder => path.join(folder, 'chromium')).find(fs.existsSync);
const browser = await chromium.launch({ executablePath: program, args: flags, chromiumSandbox: false });

/** Opens a page where nothing is loaded from beyond loopback, and lets the order use it. */
async function visit(url, use) {
    const context = await browser.newContext();
    context.setDefaultTimeout(20_000);
    await context.route(url => url.hostname !== '127.0.0.1', route => route.abort());
    const page = await context.newPage();
    try {
        await page.goto(url);
        return await use(page, context);
    } finally {
        await context.close();
    }
}

async function enter(page, login) {
    await page.fill('input[name=login]', login);
    await page.fill('input[name=password]', 'any will do');
    await page.click('button[type=submit]');
}

const seen = async page => ({ url: page.url(), text: await page.innerText('body') });
const isCallback = url => url.pathname === '/callback';

/** Follows a request from redirect to redirect until one leads back to the program. */
async function followed(route, context) {
    let answer = await route.fetch({ maxRedirects: 0 });
    for (;;) {
        const next = new URL(answer.headers().location, answer.url());
        if (isCallback(next)) return next.href;
        answer = await context.request.get(next.href, { maxRedirects: 0 });
    }
}

const orders = {
    /** Signs in and agrees; answers with the page that the program shows. */
    agree: ({ url, login }) => visit(url, async page => {
        await enter(page, login);
        await page.getByRole('button', { name: 'Continue' }).click();
        await page.waitForURL(isCallback);
        return seen(page);
    }),
    /** Signs in and agrees, but keeps the way back to itself: answers with the address that would have been opened. */
    intercept: ({ url, login }) => visit(url, async (page, context) => {
        await enter(page, login);
        const button = page.getByRole('button', { name: 'Continue' });
        await button.waitFor();
        const kept = new Promise((done, failed) => context.route(/interaction/, route => {
            followed(route, context).then(done, failed).finally(() => route.abort());
        }));
        await button.click();
        return { url: await kept };
    }),
    /** Does not want to. */
    refuse: ({ url }) => visit(url, async page => {
        await page.getByText('Cancel').click();
        await page.waitForURL(isCallback);
        return seen(page);
    }),
    /** Enters a device's code, signs in and agrees. */
    device: ({ url, code, login, agree }) => visit(url, async page => {
        if (code) {
            await page.fill('input[name=user_code]', code);
            await page.click('button[type=submit]');
        }
        await page.click(agree ? 'button[autofocus], button[type=submit]' : 'button[name=abort], button:has-text("Abort")');
        if (agree) {
            await enter(page, login);
            await page.getByRole('button', { name: 'Continue' }).click();
        }
        await page.waitForLoadState();
        return seen(page);
    }),
    /** Only looks. */
    open: ({ url }) => visit(url, seen),
};

const say = value => process.stdout.write(`${JSON.stringify(value)}\n`);
say({ version: browser.version() });
for await (const line of readline.createInterface({ input: process.stdin })) {
    const { order, ...given } = JSON.parse(line);
    try {
        say({ ok: await orders[order](given) });
    } catch (error) {
        say({ error: String(error?.stack ?? error) });
    }
}
await browser.close();
process.exit(0);
