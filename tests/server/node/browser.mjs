// People before their browsers. Standard input takes one JSON order a line, standard output gives one JSON answer a
// line; the first says that the browser is there. Every window is a person of their own: no cookie of one is seen by
// another. Whatever a page asks for is noted, and nothing is loaded from beyond loopback.

import { launch, person, serve } from '../../identity/node/companion.mjs';

const browser = await launch();
const windows = new Map();

/** What is meant by an order: a role with a name, or a selector. */
function target(page, { role, name, selector }) {
    return (role ? page.getByRole(role, name ? { name, exact: false } : {}) : page.locator(selector)).first();
}

/** Elements that can be used and have no name for those who do not see them. */
async function nameless(page) {
    const client = await page.context().newCDPSession(page);
    const { nodes } = await client.send('Accessibility.getFullAXTree');
    const used = ['button', 'link', 'textbox', 'searchbox', 'combobox', 'radio', 'checkbox', 'img', 'image', 'dialog', 'figure'];
    await client.detach();
    return nodes.filter(node => !node.ignored && used.includes(node.role?.value) && !node.name?.value?.trim())
        .map(node => `${node.role.value} ${JSON.stringify(node.properties ?? [])}`.slice(0, 200));
}

/** Texts that stand out too little from what is behind them. Runs in the page. */
function pale() {
    const canvas = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
    const parse = color => {
        canvas.clearRect(0, 0, 1, 1);
        canvas.fillStyle = color;
        canvas.fillRect(0, 0, 1, 1);
        return [...canvas.getImageData(0, 0, 1, 1).data];
    };
    const light = ([r, g, b]) => [r, g, b].map(part => part / 255)
        .map(part => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
        .reduce((sum, part, index) => sum + part * [0.2126, 0.7152, 0.0722][index], 0);
    const behind = element => {
        for (let at = element; at; at = at.parentElement) {
            const color = parse(getComputedStyle(at).backgroundColor);
            if (color[3] > 250) return color;
        }
        return [255, 255, 255];
    };
    const found = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        const element = node.parentElement;
        const box = element.getBoundingClientRect();
        if (!node.data.trim() || box.width < 2 || element.closest('svg, [hidden], .unseen, :disabled, noscript, [data-ended=true]')) continue;
        const [one, other] = [parse(getComputedStyle(element).color), behind(element)].map(light);
        const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
        if (ratio < 4.5) found.push(`${ratio.toFixed(2)} ${element.tagName}.${element.className}: ${node.data.trim().slice(0, 40)}`);
    }
    return found;
}

/** Whether a page is wider than its window, and by which elements. Runs in the page. */
function tooWide() {
    if (document.documentElement.scrollWidth <= innerWidth) return [];
    return [...document.querySelectorAll('body *')].filter(one => one.getBoundingClientRect().right > innerWidth + 1)
        .slice(0, 5).map(one => `${one.tagName}.${one.getAttribute('class')}`);
}

async function open({ window, url, width = 1280, height = 860, scheme = 'light', deaf = false }) {
    const context = await person(browser, { patience: 40_000, viewport: { width, height }, colorScheme: scheme, reducedMotion: 'reduce' });
    const noted = { requests: [], problems: [] };
    if (deaf) await context.route('**/v1/events', route => route.abort());
    const page = await context.newPage();
    page.on('request', request => noted.requests.push({ method: request.method(), url: request.url(), body: request.postData() }));
    page.on('pageerror', error => noted.problems.push(String(error.stack ?? error)));
    page.on('dialog', dialog => { noted.problems.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
    page.on('console', message => { if (/content security|refused to/i.test(message.text())) noted.problems.push(message.text()); });
    windows.set(window, { page, context, noted });
    await page.goto(url);
}

/** Looks again and again: to wait inside of the page, it would have to evaluate text, which its policy forbids. */
async function wait({ page, expression }) {
    for (const end = Date.now() + 40_000; !(await page.evaluate(expression));) {
        if (Date.now() > end) throw new Error(`it never came true: ${expression}`);
        await new Promise(done => setTimeout(done, 50));
    }
}

const orders = {
    open,
    close: async ({ window }) => { await windows.get(window).context.close(); windows.delete(window); },
    go: ({ page, url }) => page.goto(url),
    click: given => target(given.page, given).click(),
    press: ({ page, key }) => page.keyboard.press(key),
    type: ({ page, text }) => page.keyboard.type(text),
    fill: given => target(given.page, given).fill(given.text),
    choose: given => target(given.page, given).selectOption(given.value),
    see: given => target(given.page, given).waitFor({ state: given.gone ? 'hidden' : 'visible' }),
    read: ({ page, words, selector }) => page.locator(selector).filter({ hasText: words }).first().waitFor(),
    text: given => target(given.page, given).innerText(),
    count: ({ page, selector }) => page.locator(selector).count(),
    attribute: given => target(given.page, given).getAttribute(given.attribute),
    wait,
    run: ({ page, expression }) => page.evaluate(expression),
    noted: ({ noted }) => ({ requests: noted.requests.splice(0), problems: noted.problems.splice(0) }),
    nameless: ({ page }) => nameless(page),
    pale: ({ page }) => page.evaluate(pale),
    tooWide: ({ page }) => page.evaluate(tooWide),
    focus: ({ page }) => page.evaluate(() => { const at = document.activeElement; return `${at.tagName.toLowerCase()} ${at.id || at.getAttribute('class') || ''}`.trim(); }),
    screenshot: ({ page, file, full = false }) => page.screenshot({ path: file, fullPage: full }).then(() => null),
};

const act = (order, given) => orders[order]({ ...windows.get(given.window), ...given });
const seen = async ({ window }) => ({ seen: (await windows.get(window)?.page.locator('body').innerText().catch(() => ''))?.slice(0, 1500) });
await serve({ version: browser.version() }, act, seen);
await browser.close();
process.exit(0);
