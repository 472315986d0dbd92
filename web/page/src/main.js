// The page as a whole: its regions, its keys, and when it is drawn again.
import { effect } from '@preact/signals-core';
import { Component, render } from 'preact';
import { html } from './html.js';
import { Figures } from './figures.js';
import { parent } from './format.js';
import { records } from './frozen.js';
import { Detail, Status, Tree } from './panels.js';
import { Failures, Filter, Queue, jobAt, listed, showLine, whenListChanges } from './queue.js';
import { TimeView } from './time.js';
import * as state from './state.js';
import './page.css';

let view = null;

class Time extends Component {
  shouldComponentUpdate() { return false; }
  componentDidMount() { view = window.holonTime = new TimeView(this.box, this.tip); }
  render() {
    return html`<div class="plot" ref=${box => { this.box = box; }} onClick=${event => view.rowClick(event)}>
      <div class="tip" hidden ref=${tip => { this.tip = tip; }}></div></div>`;
  }
}

const Choice = ({ label, from, choices }) => html`<label>${label} <select value=${from.value} onChange=${event => { from.value = event.target.value; }}>
  ${choices.map(choice => html`<option value=${choice} selected=${choice === from.value}>${choice}</option>`)}</select></label>`;

const lengths = FROZEN ? [['all', 0, 'all there is']] : [['10m', 600000, 'ten minutes'], ['1h', 3600000, 'an hour'], ['1d', 86400000, 'a day'], ['all', 0, 'all there is']];

const keys = [['/', 'filter'], ['j  k', 'next, previous job'], ['Enter', 'open the selected job or instance'], ['e', 'explain the selected job, or the first that waits'], ['g', 'time'], ['t', 'tree'],
  ['r', 'rows: nodes, jobs, instances, users'], ['c', 'colour: result, user, queue, wait, size'], ['+  -', 'zoom'], ['←  →', 'move in time'], ['n', 'now, all there is'], ['Backspace', 'the instance above'], ['Esc', 'nothing selected'], ['?', 'these keys']];

const Help = () => html`<div class="help" role="dialog" aria-label="Keys"><h2>Keys</h2><dl>${keys.map(([key, what]) => html`<div><dt><kbd>${key}</kbd></dt><dd>${what}</dd></div>`)}</dl>
  <button class="act" onClick=${() => { state.help.value = false; }}>Close</button></div>`;

function App({ draw }) {
  return html`<${Status} /><div class=${`regions ${FROZEN && records?.parts.length === 1 ? 'alone' : ''}`}>
    <${Tree} />
    <main class="middle">
      <section class="time panel" aria-label="Time" id="time" tabindex="-1"><div class="tools"><h2>Time ${state.filter.value && html`<small>of what the filter finds</small>`}</h2>
        <${Choice} label="rows" from=${state.rows} choices=${state.rowChoices} /><${Choice} label="colour" from=${state.colour} choices=${state.colourChoices} />
        <div class="legend" id="legend"></div><span class="zooms">${lengths.map(([name, ms, title]) => html`<button title=${title} onClick=${() => view.zoom(ms)}>${name}</button>`)}</span></div><${Time} /></section>
      <section class="queue panel" aria-labelledby="queue-title"><${Filter} /><${Queue} /></section>
    </main>
    <div class="right"><${Detail} draw=${draw} /><${Failures} /></div>
  </div>${FROZEN && records && html`<${Figures} />`}${state.help.value && html`<${Help} />`}`;
}

// ---- keys ----

let place = -1;  // of the selection in the list
function step(by) {
  place = Math.max(0, Math.min(listed() - 1, place + by));
  showLine(place);
  const job = jobAt(place);
  if (job) state.choose('job', job.path);
}
function explain() {
  if (state.selected.value?.kind !== 'job') {
    for (let i = 0; i < Math.min(listed(), 1000); i++) {
      const job = jobAt(i);
      if (job && ['SCHED', 'DEPEND', 'PRIORITY', 'NEW'].includes(job.state)) { state.choose('job', job.path); break; }
    }
  }
  document.getElementById('detail').scrollIntoView({ block: 'nearest' });
}
function enter() {
  const name = state.selected.value?.name;
  if (name && state.instances.value.has(name)) return state.open(name);
  document.getElementById('detail').scrollIntoView({ block: 'nearest' });
}
const move = by => { const [from, to] = view.window, shift = (to - from) * by; view.show(from + shift, to + shift); };
const middle = () => (view.window[0] + view.window[1]) / 2;
const actions = {
  '/': () => document.getElementById('filter').focus(), j: () => step(1), k: () => step(-1), Enter: enter, e: explain,
  g: () => document.getElementById('time').focus(), t: () => document.querySelector('#tree .here, #tree button')?.focus(),
  r: () => state.next(state.rows, state.rowChoices), c: () => state.next(state.colour, state.colourChoices),
  '+': () => view.zoomAt(middle(), .7), '-': () => view.zoomAt(middle(), 1.4), ArrowLeft: () => move(-.2), ArrowRight: () => move(.2), n: () => view.zoom(0),
  Backspace: () => { const above = parent(state.at.value); if (above && state.instances.value.has(above)) state.open(above); },
  Escape: () => { state.help.value = false; state.choose(null); document.activeElement?.blur(); }, '?': () => { state.help.value = !state.help.value; },
};
addEventListener('keydown', event => {
  const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
  if (event.ctrlKey || event.altKey || event.metaKey || (typing && event.key !== 'Escape')) return;
  if (event.key === 'Enter' && /^(BUTTON|A)$/.test(event.target.tagName)) return;
  const act = actions[event.key];
  if (!act) return;
  event.preventDefault();
  act();
});

// ---- drawing ----

let frame = 0;
const root = document.getElementById('app');
const draw = () => { frame ||= requestAnimationFrame(() => { frame = 0; render(html`<${App} draw=${draw} />`, root); }); };
whenListChanges(draw);
effect(() => {
  for (const signal of [state.instances, state.at, state.version, state.mayWrite, state.line, state.selected, state.filter, state.typed, state.rows, state.colour, state.help, state.said, state.tick]) signal.value;
  draw();
});
effect(() => {
  for (const signal of [state.tick, state.version, state.at, state.rows, state.colour, state.filter, state.instances]) signal.value;
  view?.turn();
});
effect(() => { state.at.value; state.filter.value; place = -1; });
document.documentElement.classList.toggle('frozen', FROZEN);
effect(() => { if (!FROZEN) document.title = `holon ${state.at.value}`; });
render(html`<${App} draw=${draw} />`, root);
state.connect();
