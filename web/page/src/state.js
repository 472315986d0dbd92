// What the page knows and shows, as signals; and how it talks to the server. All addresses are relative: a proxy may show
// the page anywhere.
import { batch, signal } from '@preact/signals-core';
import { elapsedFrom } from './format.js';
import { answerFrom, records, thaw } from './frozen.js';

export const instances = signal(new Map());  // by path
export const at = signal('/');               // the instance that is looked at
export const version = signal(0);            // of the server's model
export const mayWrite = signal(false);
export const line = signal('connecting');    // connecting, live, lost, over
export const selected = signal(null);        // {kind: job | node | instance, name}
export const typed = signal('');             // into the filter's field
export const filter = signal('');            // the same, once the typing pauses
export const rows = signal('nodes');
export const colour = signal('result');
export const help = signal(false);
export const said = signal(null);            // what the last command wrote: {good, said}
export const tick = signal(0);               // a second has passed

export const rowChoices = FROZEN ? ['nodes', 'jobs', 'users'] : ['nodes', 'jobs', 'instances', 'users'];
export const colourChoices = ['result', 'user', 'queue', 'wait', 'size', ...(FROZEN ? ['start'] : [])];

const thawed = FROZEN ? thaw() : null;  // the records of a page in a file are there
let ahead = 0;  // of the server's clock, against this machine's
export const now = () => FROZEN && records ? records.now : Date.now() + ahead;

export async function ask(page, query = {}) {
  if (FROZEN) return thawed.then(() => answerFrom(page, query));
  const answer = await fetch(`${page}?${new URLSearchParams(query)}`);
  const json = await answer.json();
  if (!answer.ok) throw new Error(json.error);
  return json;
}

export async function change(verb, what) {
  try {
    const answer = await fetch('do', { method: 'POST', headers: { 'X-Holon': '1' }, body: JSON.stringify({ verb, at: at.value, what }) });
    const json = await answer.json();
    said.value = answer.ok ? json : { good: false, said: json.error };
  } catch (error) {
    said.value = { good: false, said: String(error) };
  }
}

// Not more often than so the same is asked for again; what has changed meanwhile is drawn when it may be.
export const kAgain = 500;  // ms
let later = 0;
export const drawLater = (draw, asked) => { later ||= setTimeout(() => { later = 0; draw(); }, Math.max(0, kAgain - (Date.now() - asked))); };

export const choose = (kind, name) => { selected.value = kind ? { kind, name } : null; };
export const next = (choice, choices) => { choice.value = choices[(choices.indexOf(choice.value) + 1) % choices.length]; };
export function open(path) {
  batch(() => { at.value = path; selected.value = null; });
}

function take(state) {
  const known = state.anew ? new Map() : new Map(instances.value);
  for (const instance of state.instances) known.set(instance.path, instance);
  ahead = state.now - Date.now();
  batch(() => {
    if (!known.has(at.value) || line.value === 'connecting') at.value = known.has(state.at) ? state.at : at.value;
    instances.value = known;
    version.value = state.version;
    mayWrite.value = state.write;
    line.value = 'live';
  });
}

// The page in a file: all at once, and nothing afterwards.
async function show() {
  const { now, parts, best } = await thawed;
  if (records.elapsed) elapsedFrom(parts[0].first);
  if (parts.some(part => part.grants)) rowChoices.unshift('grants');
  rows.value = rowChoices[0];
  colour.value = records.colour;
  take({ anew: true, now, at: best, version: 1, write: false, instances: parts.map(part => part.instance) });
}

// The browser connects again by itself, and says what it has seen.
export function connect() {
  if (FROZEN) return show();
  const events = new EventSource('events');
  events.addEventListener('state', event => take(JSON.parse(event.data)));
  events.addEventListener('over', () => { line.value = 'over'; events.close(); });
  events.onerror = () => { if (line.value === 'live') line.value = 'lost'; };
  setInterval(() => { tick.value++; }, 1000);
}
