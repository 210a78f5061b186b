// The view of the policy: every rule in force by its layer, with the place where it stands; what the linter and the
// reader found; and a playground that decides a typed call without any trace of it.

import { ask, load } from './api.js';
import { h, fill, joined, search } from './dom.js';
import { line, prose, word } from './inert.js';
import { cap } from './keys.js';
import { listen } from './live.js';
import { map, path } from './pipeline.js';
import { LAYERS, LAYER_WORDS, MODES, VERDICTS, verdict } from './words.js';

/** Tools to try: their name, the member of the input that is typed, an example, the other members. */
const TOOLS = [
  ['Bash', 'command', 'git push --force origin main', {}],
  ['Write', 'file_path', '/home/me/project/.git/config', { content: '' }],
  ['Edit', 'file_path', 'src/main.rs', { old_string: 'a', new_string: 'b' }],
  ['Read', 'file_path', '~/.ssh/id_ed25519', {}],
  ['WebFetch', 'url', 'https://example.org', { prompt: 'read it' }],
  ['PowerShell', 'command', 'Remove-Item -Recurse build', {}],
];
const TYPED = { command: 'Command', file_path: 'File', url: 'Address' };
const toolNamed = name => TOOLS.find(([known]) => known === name) ?? TOOLS[0];

/** A file and a line, as text: where things stand on the server is no address for a browser. */
function origin(from) {
  if (!from?.file) return h('span.faint', {}, LAYER_WORDS[from?.layer] ?? '');
  return h('span.origin', {}, word(from.line ? `${from.file}:${from.line}` : from.file));
}

function ruleRow(entry) {
  const isOff = Boolean(entry.status) && entry.status !== 'active';
  return h('tr', { 'data-off': isOff },
    h('td', {}, verdict(entry.list)),
    h('td.rule', {}, word(entry.rule), isOff ? h('span.tag', {}, line(String(entry.status), 80)) : null),
    h('td', {}, origin(entry.origin)));
}

function layerTable(layer, entries) {
  const heads = ['List', 'Rule', 'Where'].map(name => h('th', { scope: 'col' }, name));
  return h('section.layer', {},
    h('h3', {}, LAYERS[layer], ' ', h('span.faint', {}, LAYER_WORDS[layer]), ' ', h('span.count', {}, entries.length)),
    h('div.scroll', { tabindex: 0, role: 'group', 'aria-label': `Rules of the layer ${LAYERS[layer]}` },
      h('table', {}, h('thead.unseen', {}, h('tr', {}, heads)), h('tbody', {}, entries.map(ruleRow)))));
}

function rulesList(policy, text) {
  const fits = entry => !text || JSON.stringify(entry).toLowerCase().includes(text.toLowerCase());
  const rules = policy.rules.filter(fits);
  if (!rules.length) {
    return h('div.empty', {}, h('p.big', {}, text ? 'No rule fits.' : 'No rules yet.'),
      text ? null : h('p', {}, 'Without rules, reads run and everything else asks.'));
  }
  return Object.keys(LAYERS).map(layer => {
    const found = rules.filter(entry => entry.origin?.layer === layer);
    return found.length ? layerTable(layer, found) : null;
  });
}

/** Something that the linter or the reader of settings says. */
function finding(one) {
  const by = (one.by ?? []).map(rule => word(typeof rule === 'string' ? rule : rule.rule ?? JSON.stringify(rule)));
  return h('li.finding', { 'data-severity': String(one.severity ?? 'error') },
    h('p', {}, one.code ? h('span.tag', {}, line(one.code, 40)) : null, ' ', prose(one.message ?? JSON.stringify(one), 800)),
    one.rule || one.origin ? h('p.small', {}, one.rule ? word(one.rule) : null, ' ', origin(one.origin)) : null,
    by.length ? h('p.small.faint', {}, 'because of ', joined(by, ', ')) : null,
    one.fix ? h('p.small', {}, h('strong', {}, 'Fix '), prose(one.fix, 600)) : null);
}

function findings(title, all, otherwise) {
  if (!all.length && !otherwise) return null;
  return h('section.card', {},
    h('h2', {}, title, ' ', all.length ? h('span.count', {}, all.length) : null),
    all.length ? h('ul.findings', {}, all.map(finding)) : h('p.faint', {}, otherwise));
}

function result(answer) {
  if (answer.error) return h('p.empty', { role: 'alert' }, line(answer.error, 800));
  const effects = (answer.effects ?? []).map(effect => h('li', {}, prose(effect, 300)));
  return h('div.result', {},
    h('p.outcome', {}, verdict(answer.verdict), ' at step ', word(answer.step)),
    h('p.because', {}, prose(answer.message)),
    effects.length ? h('ul.effects', {}, effects) : null,
    map({ trace: answer.trace, step: answer.step, settled: answer.verdict }),
    path(answer.trace));
}

/** The call that was typed. */
function typed(form) {
  const { tool, text, mode, cwd } = Object.fromEntries(new FormData(form));
  const [, member, , more] = toolNamed(tool);
  const call = { tool, input: { [member]: text, ...more }, mode, dry_run: true };
  return cwd.trim() ? { ...call, cwd: cwd.trim() } : call;
}

function fields(label) {
  const options = all => all.map(([value, title]) => h('option', { value }, title));
  const exact = { spellcheck: 'false', autocomplete: 'off', autocapitalize: 'off' };
  return [
    h('label.wide', {}, label,
      h('textarea', { name: 'text', id: 'playground', rows: 2, placeholder: TOOLS[0][2], ...exact })),
    h('label', {}, h('span', {}, 'Tool'), h('select', { name: 'tool' }, options(TOOLS.map(([tool]) => [tool, tool])))),
    h('label', {}, h('span', {}, 'Mode'), h('select', { name: 'mode' }, options(MODES))),
    h('label', {}, h('span', {}, 'Directory'),
      h('input', { name: 'cwd', type: 'text', placeholder: "the server's", ...exact })),
    h('button.primary', { type: 'submit' }, 'Decide ', cap('↵')),
  ];
}

/** A form that decides what is typed into it; nothing is recorded, nobody is asked. */
function playground() {
  const outcome = h('div.outcome-box', { 'aria-live': 'polite' });
  const label = h('span', {}, TYPED.command);
  const submit = async event => {
    event.preventDefault();
    if (!form.elements.text.value.trim()) return form.elements.text.focus();
    try {
      const { value } = await ask('POST', '/v1/decide', typed(form));
      return fill(outcome, result(value));
    } catch (failed) {
      return fill(outcome, h('p.empty', { role: 'alert' }, failed.message, failed.help ? ` — ${failed.help}` : null));
    }
  };
  const hint = () => {
    const [, member, example] = toolNamed(form.elements.tool.value);
    form.elements.text.placeholder = example;
    label.textContent = TYPED[member];
  };
  const hurry = event => { if (event.key === 'Enter' && !event.shiftKey && event.target.name === 'text') submit(event); };
  const form = h('form.playground', { on: { submit, keydown: hurry, change: hint } }, fields(label));
  return h('section.card', {}, h('h2', {}, 'Playground'),
    h('p.faint.small', {}, 'Decided by the policy in force. Nothing is recorded, nobody is asked.'), form, outcome);
}

/** Opens the view. */
export function open({ main }) {
  const filter = search('Filter rules', () => draw());
  const rules = h('div.layers', {}, h('p.empty', {}, 'Loading…'));
  const notes = h('div', {});
  const version = h('p.faint.small', {});
  let policy = null;
  fill(main, h('div.page.two', {},
    h('div', {}, h('header.bar', {}, h('h1', {}, 'Policy'), filter), version, rules),
    h('div', {}, playground(), notes)));

  function draw() {
    if (!policy) return;
    const tally = VERDICTS.map(list => `${policy.rules.filter(entry => entry.list === list).length} ${list}`);
    fill(version, tally.join(' · '), ' · version ', word(String(policy.version).slice(0, 12)));
    fill(rules, rulesList(policy, filter.value));
  }

  async function reload() {
    try {
      policy = await load('/v1/policy');
      draw();
      fill(notes, findings('Problems', policy.problems ?? []),
        findings('Lint', await load('/v1/policy/lint'), 'Nothing to say: every rule does something.'));
    } catch (failed) {
      fill(policy ? notes : rules, h('p.empty', { role: 'alert' }, failed.message));
    }
  }

  const unlisten = listen(event => { if (event.event === 'policy' || event.event === 'again') reload(); });
  reload();
  return {
    keys: {
      '/': { words: 'filter rules', act: () => filter.focus() },
      t: { words: 'try a command', act: () => document.getElementById('playground').focus() },
    },
    change() {},
    close: unlisten,
  };
}
