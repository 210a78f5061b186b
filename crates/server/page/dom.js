// Elements, made from words. The one place where nodes come into being.
//
// Text becomes text nodes and attributes come from a closed list, so nothing that an agent wrote can become markup, a
// script, a style or an address. There is no way around this file: page.rs has a test that looks for other sinks.

const SVG = 'http://www.w3.org/2000/svg';
const SVG_TAGS = new Set(['svg', 'g', 'path', 'circle', 'line', 'rect', 'text']);
const TAGS = new Set(('a article aside b br button caption code dd details dialog div dl dt em fieldset figcaption figure footer form'
  + ' h1 h2 h3 h4 header input kbd label legend li mark nav ol option p pre section select small span strong summary table tbody'
  + ' sup td textarea th thead time tr ul').split(' '));
const PLAIN = new Set(('class id type role for name value placeholder title tabindex hidden disabled checked selected open rows'
  + ' maxlength autocomplete autocapitalize spellcheck inputmode scope colspan datetime inert required'
  + ' viewBox width height x y x1 y1 x2 y2 cx cy r rx d fill stroke text-anchor transform preserveAspectRatio'
  + ' dominant-baseline stroke-dasharray').split(' '));

function isSafe(name) {
  return PLAIN.has(name) || /^(aria|data)-[a-z-]+$/.test(name);
}

/**
 * An element, `tag.class.class`. `attributes.on` holds listeners, `attributes.to` a route of this page; everything else
 * is an attribute.
 */
export function h(kind, attributes = {}, ...children) {
  const [tag, ...classes] = kind.split('.');
  if (!TAGS.has(tag) && !SVG_TAGS.has(tag)) throw new Error(`no element \`${tag}\` is made here`);
  const node = SVG_TAGS.has(tag) ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === 'on') for (const [event, listener] of Object.entries(value)) node.addEventListener(event, listener);
    else if (name === 'to') node.setAttribute('href', route(value));
    else if (!isSafe(name)) throw new Error(`no attribute \`${name}\` is set here`);
    else if (value === null || value === undefined) continue;
    else if (typeof value === 'boolean' && PLAIN.has(name)) node.toggleAttribute(name, value);
    else node.setAttribute(name, String(value));
  }
  if (classes.length) node.classList.add(...classes);
  return add(node, children);
}

/** Appends children: nodes, texts, lists of them; nothing for what is not there. */
export function add(node, ...children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return node;
}

/** Puts children in the place of what was there. */
export function fill(node, ...children) {
  node.replaceChildren();
  return add(node, children);
}

/** A button of a kind: primary, plain, quiet, allow, deny. */
export function button(kind, words, act, more = {}) {
  return h(`button.${kind}`, { type: 'button', on: { click: act }, ...more }, words);
}

/** A field to filter by. */
export function search(label, act, more = {}) {
  const plain = { type: 'search', placeholder: 'Filter', autocomplete: 'off', spellcheck: 'false' };
  return h('input', { ...plain, 'aria-label': label, on: { input: act }, ...more });
}

/** Things with something between them. */
export const joined = (things, between) => things.map((thing, index) => [index ? between : null, thing]);

/** The address of a view: within this page, every part encoded. */
export function route([view, ...parts]) {
  return `#/${[view, ...parts].map(encodeURIComponent).join('/')}`;
}

export const $ = id => document.getElementById(id);

/** Marks one of several as the open one. */
export function markCurrent(nodes, isCurrent) {
  for (const node of nodes) {
    if (isCurrent(node)) node.setAttribute('aria-current', 'page');
    else node.removeAttribute('aria-current');
  }
}

/** Shows in the icon how many wait; the server has one for every number up to nine, and one for more. */
export function markIcon(waiting) {
  const icon = waiting === 0 ? '/icon.svg' : `/icon-${Math.min(Math.trunc(waiting), 10)}.svg`;
  if ($('icon').getAttribute('href') !== icon) $('icon').setAttribute('href', icon);
}

/** Says something to people who listen to the page. */
export function announce(words) {
  const log = $('announce');
  log.append(h('p', {}, words));
  while (log.childElementCount > 5) log.firstElementChild.remove();
}

let toastEnds;
/** Shows a passing word at the edge of the page; it is a live region of its own. */
export function toast(words, tone = 'plain') {
  const box = $('toast');
  fill(box, h('p', { 'data-tone': tone }, words));
  clearTimeout(toastEnds);
  toastEnds = setTimeout(() => box.replaceChildren(), 6000);
}
