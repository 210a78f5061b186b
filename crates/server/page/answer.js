// Answering: the buttons, the sheet that shows the exact rule before it is sent, the sheet for a refusal, and what the
// server made of it. What is sent is bound to the question that was shown, by its digest.

import { ask, may, now } from './api.js';
import { h, announce, button, fill, joined, toast } from './dom.js';
import { line, prose, word } from './inert.js';
import { cap, show } from './keys.js';
import { LAYERS, LAYER_WORDS, done, left, time, verdict } from './words.js';
import { fetchOne, take } from './waiting.js';

// A question that has just come up cannot be answered by a key that was meant for the one before.
const ARMED_AFTER = 400;

/** Sends an answer, and says whether ours was the first. */
async function send(approval, answer) {
  const path = `/v1/approvals/${encodeURIComponent(approval.id)}/answer`;
  try {
    const { value, headers } = await ask('POST', path, { digest: approval.question.digest, ...answer });
    const isBefore = headers.get('mayi-answered') === 'before';
    take(value);
    if (isBefore) toast(`${value.answer?.by ?? 'somebody'} answered before you: ${outcome(value)}`, 'warning');
    else announce(`${outcome(value)}, by you`);
    return true;
  } catch (failed) {
    toast(failed.help ? `${failed.message} — ${failed.help}` : failed.message, 'alarm');
    // Whatever became of it, what is shown must be how it stands.
    fetchOne(approval.id).catch(() => {});
    return false;
  }
}

const outcome = approval => (approval.state === 'answered' ? done(approval.answer?.verdict) : approval.state);

/** Offers that may be written for this long. */
function offersFor(question, remember) {
  const fits = layer => (remember === 'session') === (layer === 'session');
  const offers = (question.offers ?? []).map(offer => ({ ...offer, layers: offer.layers.filter(fits) }));
  return offers.filter(offer => offer.layers.length);
}

/** A choice of one in several, as radio buttons. */
function choice(name, legend, options) {
  return h('fieldset.choice', {}, h('legend', {}, legend), options.map(({ value, content }, index) =>
    h('label', {}, h('input', { type: 'radio', name, value, checked: index === 0 }), h('span', {}, content))));
}

function rulePicture(offer) {
  const covers = (offer.covers ?? []).slice(0, 8).map(one => prose(one, 160));
  return [h('span.rule', {}, word(offer.rule)), covers.length ? h('span.covers', {}, 'lets pass: ', joined(covers, ' · ')) : null];
}

const RULE_WORDS = {
  session: 'This rule holds until the session ends.',
  always: 'This rule is written down, exactly as it stands here. From then on, calls that it covers run without a question.',
};

/** The sheet with the exact rule and where it goes. */
function ruleSheet(approval, remember) {
  const offers = offersFor(approval.question, remember);
  const layers = h('div', {});
  const chosen = () => offers[Number(new FormData(form).get('offer') ?? 0)];
  const drawLayers = () => fill(layers, choice('layer', 'Written to', chosen().layers.map(layer => ({
    value: layer,
    content: [h('strong', {}, LAYERS[layer] ?? layer), ' ', h('span.faint', {}, LAYER_WORDS[layer] ?? '')],
  }))));
  const submit = async event => {
    event.preventDefault();
    const data = new FormData(form);
    sheet.close();
    await send(approval, { verdict: 'allow', remember, rule: chosen().rule, layer: data.get('layer') });
  };
  const form = h('form', { on: { submit, change: event => { if (event.target.name === 'offer') drawLayers(); } } },
    choice('offer', offers.length > 1 ? 'The rule, one of' : 'The rule',
      offers.map((offer, index) => ({ value: index, content: rulePicture(offer) }))),
    layers,
    h('div.actions', {},
      button('quiet', 'Cancel', () => sheet.close()),
      h('button.primary', { type: 'submit' }, 'Approve and write the rule')));
  const title = remember === 'session' ? 'Approve for this session' : 'Always approve';
  const sheet = h('dialog.sheet', { 'aria-labelledby': 'rule-title', 'data-approval': approval.id },
    h('h2', { id: 'rule-title' }, title),
    h('p', {}, RULE_WORDS[remember]),
    form);
  drawLayers();
  show(sheet);
  form.querySelector('button[type=submit]').focus();
}

/** The sheet for a refusal, with what the agent is told. */
function denySheet(approval) {
  const submit = async event => {
    event.preventDefault();
    const comment = String(new FormData(form).get('comment') ?? '').trim();
    sheet.close();
    await send(approval, { verdict: 'deny', remember: 'once', comment: comment || null });
  };
  const hurry = event => { if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) form.requestSubmit(); };
  const form = h('form', { on: { submit, keydown: hurry } },
    h('label', { for: 'comment' }, 'What the agent is told (it can act on it)'),
    h('textarea', { id: 'comment', name: 'comment', rows: 4, maxlength: 2000, placeholder: 'Why not, and what to do instead' }),
    h('div.actions', {},
      h('span.faint.small.wide-only', {}, 'ctrl ↵ sends'),
      button('quiet', 'Cancel', () => sheet.close()),
      h('button.deny', { type: 'submit' }, 'Deny')));
  const sheet = h('dialog.sheet', { 'aria-labelledby': 'deny-title', 'data-approval': approval.id },
    h('h2', { id: 'deny-title' }, 'Deny'), form);
  show(sheet);
  form.querySelector('textarea').focus();
}

/** Takes away a sheet of a question that somebody else has settled meanwhile. */
export function closeSheets(approval) {
  const sheet = document.querySelector('dialog[data-approval]');
  if (approval.state === 'pending' || sheet?.dataset.approval !== approval.id) return;
  sheet.close();
  toast(`${approval.answer?.by ?? 'nobody'} was first: ${outcome(approval)}`, 'warning');
}

function key(name, kind, words, act) {
  return button(kind, [words, ' ', cap(name)], act, { 'data-key': name, disabled: true });
}

/** The bar with the buttons that this person may press. */
function buttons(approval, person) {
  if (!may(person.role, 'answer')) return h('p.faint', {}, `As ${person.role} you see this question, and others answer it.`);
  const isOffered = remember => offersFor(approval.question, remember).length > 0;
  const once = async event => {
    const pressed = event.currentTarget;
    pressed.disabled = true;
    if (!await send(approval, { verdict: 'allow', remember: 'once' })) pressed.disabled = false;
  };
  const all = [
    key('d', 'deny', 'Deny…', () => denySheet(approval)),
    isOffered('always') && key('w', 'plain', 'Always…', () => ruleSheet(approval, 'always')),
    isOffered('session') && key('s', 'plain', 'Session…', () => ruleSheet(approval, 'session')),
    key('a', 'allow', 'Approve once', once),
  ].filter(Boolean);
  setTimeout(() => all.forEach(one => { one.disabled = false; }), ARMED_AFTER);
  return h('div.answers', { role: 'group', 'aria-label': 'Your answer' }, all);
}

const HOW_LONG = { once: 'once', session: 'for the session', always: 'always' };

/** What became of it. */
function settled({ state, answer }) {
  const words = answer?.comment ? line(answer.comment, 2000) : null;
  if (state === 'expired') {
    return h('p.settled', {}, verdict('deny', { word: 'Expired' }), ' nobody answered in time, so it was denied.');
  }
  if (state === 'withdrawn') {
    return h('p.settled', {}, verdict('none', { word: 'Withdrawn' }), ' ', words ?? 'whoever asked took it back.');
  }
  const outcomeWord = answer.verdict === 'allow' ? `Allowed ${HOW_LONG[answer.remember] ?? ''}` : capital(done(answer.verdict));
  return h('div.settled', {},
    h('p', {}, verdict(answer.verdict, { word: outcomeWord }), ' by ', h('strong', {}, line(answer.by, 80)), ', ', time(answer.at)),
    answer.rule ? h('p', {}, 'Rule ', word(answer.rule), ` written to ${LAYERS[answer.layer] ?? answer.layer}`) : null,
    words ? h('p.comment', {}, '“', words, '”') : null);
}

const capital = text => text.charAt(0).toUpperCase() + text.slice(1);

/** The time that is left, as words and as a bar. */
export function countdown(approval) {
  if (approval.state !== 'pending') return null;
  const total = Math.max(1, approval.expires_at - approval.created_at);
  const words = h('span.words', {});
  const bar = h('span.bar', { 'aria-hidden': 'true' }, h('span', {}));
  const node = h('span.countdown', { role: 'timer', 'aria-label': 'time left to answer' }, bar, words);
  node.tick = () => {
    const rest = approval.expires_at - now();
    words.textContent = rest > 0 ? left(rest) : 'time is over';
    node.dataset.hurry = rest < 30_000;
    bar.firstChild.style.width = `${Math.max(0, Math.min(100, (rest / total) * 100))}%`;
  };
  node.tick();
  return node;
}

/** The foot of a question: buttons while it waits, the outcome afterwards. */
export function foot(approval, person) {
  return approval.state === 'pending' ? buttons(approval, person) : settled(approval);
}
