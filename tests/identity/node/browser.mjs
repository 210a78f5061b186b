// A real browser that signs in where it is told, as a person would: it reads pages, types and clicks.
//
// Standard input takes one JSON order a line, standard output gives one JSON answer a line; the first says that the
// browser is there. Every order has a fresh profile: no cookie of one is seen by the next.

import { launch, person, serve } from './companion.mjs';

const browser = await launch();

/** Opens a page, and lets the order use it. */
async function visit(url, use) {
    const context = await person(browser, { patience: 20_000 });
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
const isCallback = url => url.pathname.endsWith('/callback');

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

await serve({ version: browser.version() }, (order, given) => orders[order](given));
await browser.close();
process.exit(0);
