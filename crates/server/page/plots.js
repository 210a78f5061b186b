// Plots, drawn by hand: columns over time and bars by name, each with axes, a word beside the pointer or the focus, and
// a table with the same numbers.

import { h, fill } from './dom.js';
import { line } from './inert.js';

const HEIGHT = 220;
const LEFT = 44;
const BOTTOM = 26;
const TOP = 12;

const plain = value => value.toLocaleString('en');
const sum = values => values.reduce((total, value) => total + value, 0);

/** A round number that is not below the greatest, and the steps on the way there. */
function scale(greatest, wanted = 4) {
  const most = Math.max(greatest, 1e-9);
  const power = 10 ** Math.floor(Math.log10(most / wanted));
  const step = [1, 2, 2.5, 5, 10].map(factor => factor * power).find(size => size * wanted >= most) ?? most;
  const whole = Number.isInteger(greatest) ? Math.max(1, Math.ceil(step)) : step;
  const top = Math.ceil(most / whole) * whole;
  return { top, steps: Array.from({ length: Math.round(top / whole) + 1 }, (_, index) => index * whole) };
}

/** A box that follows what is pointed at. */
function pointer(figure) {
  const tip = h('div.tip', { hidden: true });
  figure.append(tip);
  const show = (target, content) => {
    fill(tip, content);
    tip.hidden = false;
    const outer = figure.getBoundingClientRect();
    const inner = target.getBoundingClientRect();
    const x = Math.min(Math.max(inner.left + inner.width / 2 - outer.left, 70), outer.width - 70);
    tip.style.left = `${x}px`;
    tip.style.top = `${inner.top - outer.top}px`;
  };
  return { show, hide: () => { tip.hidden = true; } };
}

/** The same numbers, for those who read rather than look. */
function table(caption, heads, rows) {
  const head = heads.map(name => h('th', { scope: 'col' }, name));
  const body = rows.map(([first, ...rest]) => h('tr', {}, h('th', { scope: 'row' }, first), rest.map(cell => h('td', {}, cell))));
  return h('details.numbers', {}, h('summary', {}, 'The numbers'),
    h('div.scroll', { tabindex: 0, role: 'group', 'aria-label': `${caption}, as a table` },
      h('table', {}, h('caption.unseen', {}, caption), h('thead', {}, h('tr', {}, head)), h('tbody', {}, body))));
}

const swatch = tone => h('span.swatch', { 'data-tone': tone, 'aria-hidden': 'true' });

function frame(title, words, series) {
  const legend = series.length > 1 ? h('p.legend', {}, series.map(({ name, tone }) => h('span', {}, swatch(tone), name))) : null;
  return h('figure.plot', { 'aria-label': title },
    h('figcaption', {}, h('h2', {}, title), words ? h('p.faint.small', {}, words) : null, legend));
}

function nothing(figure) {
  figure.append(h('p.empty.small', {}, 'Nothing to show for this time.'));
  return figure;
}

/** The width that a plot will have, so that its letters are as large as all others. */
function room(isWide) {
  const page = Math.min(innerWidth, 1280);
  return Math.round(innerWidth < 960 ? innerWidth - 62 : isWide ? page - 84 : (page - 60) / 2 - 42);
}

function axes({ steps, top }, { y, width, format }) {
  return steps.map(value => {
    const level = y(value / top);
    return [
      h('line', { class: value === 0 ? 'axis' : 'grid', x1: LEFT, x2: width, y1: level, y2: level }),
      h('text.tick', { x: LEFT - 8, y: level + 4, 'text-anchor': 'end' }, format(value)),
    ];
  });
}

/** One column: its pieces from below, and the stretch that reacts to a pointer. */
function column(row, place, { series, y, top, tip, label, format }) {
  const { left, apart, width } = place;
  const x = left + (apart - width) / 2;
  let below = 0;
  const pieces = row.values.map((value, at) => {
    const [from, to] = [y(below / top), y((below + value) / top)];
    below += value;
    return value > 0 ? h('rect', { 'data-tone': series[at].tone, x, y: to, width, height: Math.max(0.5, from - to) }) : null;
  });
  const said = series.map(({ name }, at) => `${name} ${format(row.values[at])}`);
  const group = h('g.column', { tabindex: below ? 0 : null, role: 'img', 'aria-label': `${label(row.at)}: ${said.join(', ')}` },
    h('rect.reach', { x: left, y: TOP, width: apart, height: HEIGHT - TOP - BOTTOM }), pieces);
  const content = () => [h('strong', {}, label(row.at)), series.map(({ tone }, at) => h('span', {}, swatch(tone), said[at]))];
  for (const event of ['pointerenter', 'focus']) group.addEventListener(event, () => tip.show(group, content()));
  for (const event of ['pointerleave', 'blur']) group.addEventListener(event, tip.hide);
  return group;
}

/** Stacked columns over time. `series`: [{ name, tone }]; `rows`: [{ at, values }], a value for each series. */
export function columns({ title, words, series, rows, label, wide = false, format = plain }) {
  const figure = frame(title, words, series);
  const totals = rows.map(row => sum(row.values));
  if (!totals.some(total => total > 0)) return nothing(figure);
  const measure = scale(Math.max(...totals));
  const y = part => TOP + (HEIGHT - TOP - BOTTOM) * (1 - part);
  const whole = room(wide);
  const apart = (whole - LEFT) / rows.length;
  const width = Math.max(1, Math.min(apart - Math.min(3, apart * 0.25), 40));
  const shared = { series, y, top: measure.top, tip: pointer(figure), label, format };
  const drawn = rows.map((row, index) => column(row, { left: LEFT + apart * index, apart, width }, shared));
  const every = Math.ceil((rows.length * 74) / (whole - LEFT));
  const ticks = rows.map((row, index) => (index % every ? null
    : h('text.tick', { x: LEFT + apart * (index + 0.5), y: HEIGHT - 8, 'text-anchor': 'middle' }, label(row.at))));
  const numbers = rows.filter((_, index) => totals[index]).map(row => [label(row.at), ...row.values.map(format)]);
  figure.append(
    h('svg', { viewBox: `0 0 ${whole} ${HEIGHT}`, role: 'group', 'aria-label': title },
      axes(measure, { y, width: whole, format }), drawn, ticks),
    table(title, ['Time', ...series.map(({ name }) => name)], numbers));
  return figure;
}

/** One bar, its pieces from the left; the name may be an agent's words. */
function bar(row, { series, most, mono }) {
  let before = 0;
  const pieces = row.values.map((value, at) => {
    const x = `${(before / most) * 100}%`;
    before += value;
    const width = `${Math.max((value / most) * 100, 0.4)}%`;
    return value > 0 ? h('rect', { 'data-tone': series[at].tone, x, y: 0, width, height: 14 }) : null;
  });
  const said = series.map(({ name }, at) => (row.values[at] ? `${name} ${plain(row.values[at])}` : null)).filter(Boolean).join(' · ');
  return h('li', {},
    h(mono ? 'span.bar-name.mono' : 'span.bar-name', {}, line(row.name, 120)),
    h('svg.bar-of', { width: '100%', height: 14, role: 'img', 'aria-label': said },
      h('rect.reach', { x: 0, y: 0, width: '100%', height: 14 }), pieces),
    h('span.bar-value', { title: said }, plain(before)),
    row.more ? h('span.bar-more.small', {}, row.more) : null);
}

/** Bars by name; `rows`: [{ name, values, more }]. */
export function bars({ title, words, series, rows, mono = false, head }) {
  const figure = frame(title, words, series);
  const most = Math.max(0, ...rows.map(row => sum(row.values)));
  if (most === 0) return nothing(figure);
  const numbers = rows.map(row => [line(row.name, 200), ...row.values.map(plain)]);
  figure.append(
    h('ul.bars', {}, rows.map(row => bar(row, { series, most, mono }))),
    table(title, [head, ...series.map(({ name }) => name)], numbers));
  return figure;
}
