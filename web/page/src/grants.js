// How an instance's grant stands and how it moved (D): what it has beyond its own, what it has lent to whom, and the journal's
// entries about that as sentences.
import { html } from './html.js';
import { clock, count, number } from './format.js';
import { instances, open } from './state.js';

const amount = (cores, gpus) => [cores && count(cores, 'core'), gpus && count(gpus, 'GPU')].filter(part => part).join(', ') || 'nothing';
const until = time => time > 0 && time < 4e12 ? `until ${clock(time)}` : 'to its end';
const total = parts => amount(...['cores', 'gpus'].map(key => parts.reduce((sum, part) => sum + part[key], 0)));

// The number of units in an idset: "2-5,7" are five.
const size = units => (units || '').split(',').reduce((sum, range) => { const [first, last = first] = range.split('-'); return sum + (range ? last - first + 1 : 0); }, 0);
const below = (at, id) => `${at === '/' ? '' : at}/${id}`;
const called = path => `${path} ${instances.value.get(path)?.name || ''}`.trim();

// By the name of an entry: what it says to people, if anything. `of` is a child.
const sentences = {
  began: (e, of, units) => `${of} began with ${units(e.units)}`,
  asked: () => 'asked for more',
  took: (e, of, units) => `got ${units(e.extend?.units)} ${until(e.extend?.until)}`,
  declined: (e, of, units) => `did not take ${units(e.extend?.units)}: ${e.why}`,
  settled: (e, of, units, offer) => offer && (e.taken ? `lent ${units(offer.units)} to ${of} ${until(offer.until)}` : `${of} did not take ${units(offer.units)}`),
  recall: (e, of, units) => `${e.peer === 0 ? 'the instance above asks' : 'asked'} ${units(e.recall?.units)} back${e.peer === 0 ? '' : ` from ${of}`}${e.recall?.why ? `: ${e.recall.why}` : ''}`,
  released: (e, of, units) => `gave ${units(e.release?.units)} back`,
  answered: (e, of) => e.answer?.is === 'promise' ? `${of} asked for more: it is to come` : e.answer?.is === 'no' && `refused ${of} more${e.answer.what?.why ? `: ${e.answer.what.why}` : ''}`,
  gone: (e, of, units) => size(e.units) > 0 && `${units(e.units)} back from ${of}`,
  over: (e, of) => `${of} is over`,
};

// The newest first. An offer is told once it is settled.
export function movesOf(at, history, unit) {
  const units = list => count(size(list), unit), offers = new Map(), moves = [];
  for (const { time, name, what } of history) {
    const id = what.child ?? what.peer ?? 0;
    if (name === 'offered') offers.set(`${id} ${what.extend?.op}`, what.extend);
    const said = sentences[name]?.(what, called(below(at, id)), units, offers.get(`${id} ${what.op}`));
    if (said) moves.push([time, said]);
  }
  return moves.reverse();
}

const link = path => html`<a href="#" onClick=${event => { event.preventDefault(); open(path); }}>${called(path)}</a>`;
const state = part => `${amount(part.cores, part.gpus)}${part.nodes ? ` on ${part.nodes}` : ''} ${until(part.until)}${part.state === 'held' ? '' : `, ${part.state}`}${part.why && `: ${part.why}`}`;

export function Grants({ i, json }) {
  const extra = json.held.filter(part => part.source === 'extra'), lent = json.given.filter(part => part.source === 'extra'), moves = movesOf(i.path, json.history, i.gpus > 0 ? 'unit' : 'core');
  return html`<section class="grant" aria-label="Grant">
    ${extra.length > 0 && html`<h3>Beyond its own: ${total(extra)}</h3><ul class="jobs">${extra.map(part => html`<li>${state(part)}</li>`)}</ul>`}
    ${json.promised.map(time => html`<p>More was asked for${time > 0 ? `, planned for ${clock(time)}` : ': it is not known when it comes'}.</p>`)}
    ${lent.length > 0 && html`<h3>Lent: ${total(lent)}</h3><ul class="jobs">${lent.map(part => html`<li>${link(part.path)} ${state(part)}</li>`)}</ul>`}
    ${moves.length > 0 && html`<h3>How its grant moved <small>${number(moves.length)}</small></h3><ol class="moves">${moves.slice(0, 20).map(([time, said]) => html`<li><time>${clock(time)}</time> ${said}</li>`)}</ol>`}
  </section>`;
}
