// The queue as a list of which only the rows in sight are there, its filter (E), and failures that are alike as one line (F).
import { Component } from 'preact';
import { html } from './html.js';
import { clock, count, duration, isOver, stateClass, stateWord } from './format.js';
import { ask, at, change, choose, drawLater, filter, kAgain, mayWrite, now, open, selected, typed, version } from './state.js';

const kRow = 22, kBeyond = 8, kPage = 100;

// The lines that are known of the list, a page of them at once.
const list = { key: '', all: 0, pages: new Map(), error: '', asked: new Map() };
let draw = () => {};
export const whenListChanges = callback => { draw = callback; };

function want(page) {
  const key = `${at.value}\n${filter.value}`;
  if (key !== list.key) Object.assign(list, { key, pages: new Map(), asked: new Map() });
  const last = list.asked.get(page);
  const due = !last || (last.version !== version.value && !last.open && Date.now() - last.time >= kAgain);
  if (last && last.version !== version.value && !due) drawLater(draw, last.time);
  if (!due) return;
  const mine = { version: version.value, time: Date.now(), open: true };
  list.asked.set(page, mine);
  ask('jobs', { at: at.value, filter: filter.value, first: page * kPage, most: kPage }).then(json => {
    if (key !== list.key) return;
    mine.open = false;
    list.all = json.all;
    list.error = '';
    list.pages.set(page, json.jobs);
    draw();
  }, error => {
    mine.open = false;
    if (key !== list.key) return;
    list.error = error.message;
    list.all = 0;
    draw();
  });
}

export const jobAt = index => list.pages.get(Math.floor(index / kPage))?.[index % kPage];
export const listed = () => list.all;

const waitOf = job => (job.start || job.end || now()) - job.submit;
const runOf = job => job.start ? (job.end || now()) - job.start : NaN;
const note = job => job.tasks || job.reason || (job.estimate && !job.start ? `planned ${clock(job.estimate)}` : '') || (job.exit > 0 ? `exit code ${job.exit}` : '');
const columns = [
  ['job', job => job.id, 'id'], ['state', job => html`<span class=${stateClass(job.state)}>${stateWord(job.state)}</span>`],
  ['name', job => job.name], ['user', job => job.user], ['cores', job => job.cores, 'number'],
  ['waited', job => duration(waitOf(job)), 'number'], ['ran', job => duration(runOf(job)), 'number'],
  ['ended', job => clock(job.end), 'wide'], ['nodes', job => job.nodes, 'wide'], ['why', note, 'rest'],
];

let mounted = null;
export function showLine(index) {
  const box = mounted?.element;
  if (!box) return;
  box.scrollTop = Math.min(index * kRow, Math.max(box.scrollTop, (index + 1) * kRow - box.clientHeight));
}

export class Queue extends Component {
  componentDidMount() {
    mounted = this;
    new ResizeObserver(() => this.setState({})).observe(this.element);
  }

  render() {
    want(0);
    const { scrollTop = 0, clientHeight = 0 } = this.element || {}, first = Math.max(0, Math.floor(scrollTop / kRow) - kBeyond), last = Math.min(list.all, Math.ceil((scrollTop + clientHeight) / kRow) + kBeyond);
    const items = Array.from({ length: Math.max(0, last - first) }, (_, i) => first + i), chosen = selected.value?.kind === 'job' ? selected.value.name : '';
    for (const page of new Set(items.map(index => Math.floor(index / kPage)))) want(page);
    return html`<div class="list" role="grid" aria-label="Jobs" aria-rowcount=${list.all + 1}>
      <div role="rowgroup" class="head"><div role="row" class="row">${columns.map(([name, , kind]) => html`<span role="columnheader" class=${kind || ''}>${name}</span>`)}</div></div>
      <div role="rowgroup" class="scroll" tabindex="0" ref=${element => { this.element = element; }} onScroll=${() => this.setState({})}>
        <div role="presentation" style=${{ height: `${list.all * kRow}px` }} class="space">
        ${items.map(index => {
          const job = jobAt(index);
          return html`<div role="row" aria-rowindex=${index + 2} key=${index} class=${`row ${job && job.path === chosen ? 'chosen' : ''}`} aria-selected=${job && job.path === chosen ? 'true' : 'false'}
            style=${{ transform: `translateY(${index * kRow}px)` }} onClick=${() => job && choose('job', job.path)} onDblClick=${() => job?.instance && !isOver(job.state) && open(job.path)}>
            ${columns.map(([name, text, kind]) => { const value = job ? text(job) : ''; return html`<span role="gridcell" class=${kind || ''} title=${typeof value === 'string' ? value : null}>${value}</span>`; })}</div>`;
        })}
        ${list.all === 0 && html`<div role="row" class="row"><span role="gridcell" class="none">${list.error || (filter.value ? 'no job meets the filter' : 'no job has been submitted yet')}</span></div>`}
      </div></div></div>`;
  }
}

let typing = 0;
function set(text, wait = 150) {
  typed.value = text;
  clearTimeout(typing);
  typing = setTimeout(() => { filter.value = text; }, wait);
}
export const search = text => set(text, 0);

export function Filter() {
  const words = ['running', 'pending', 'failed,timeout', 'completed'];
  return html`<div class="filter"><h2 id="queue-title">Jobs <small>${list.all.toLocaleString('en')}</small></h2>
    <input id="filter" type="search" aria-label="Filter" placeholder="filter: failed user:ann name:train* node:n3 exit:1   ( / )" value=${typed.value} spellcheck=${false}
      onInput=${event => set(event.target.value)} />
    ${words.map(word => html`<button class=${filter.value === word ? 'on' : ''} aria-pressed=${filter.value === word} onClick=${() => set(filter.value === word ? '' : word, 0)}>${word.split(',')[0]}</button>`)}</div>`;
}

// ---- failures ----

const failures = { key: '', groups: [], time: 0, open: false };
function wantFailures() {
  const key = `${at.value} ${version.value}`;
  if (key === failures.key || failures.open) return;
  if (Date.now() - failures.time < kAgain) return drawLater(draw, failures.time);
  Object.assign(failures, { key, open: true, time: Date.now() });
  ask('failures', { at: at.value }).then(json => { failures.groups = json.groups; }, () => {}).then(() => { failures.open = false; draw(); });
}

const kMostKinds = 50;  // that are drawn: where each failure has a line of its own there is no end of them
const kindOf = group => group.result === 'TIMEOUT' ? 'time limit' : group.result === 'REJECTED' ? 'refused' : group.exit > 128 ? `signal ${group.exit - 128}` : `exit code ${group.exit}`;

export function Failures() {
  wantFailures();
  const all = failures.groups.reduce((sum, group) => sum + group.jobs, 0);
  return html`<section class="failures panel" aria-label="Failures">
    <h2>Failures <small>${all ? `${all.toLocaleString('en')} of ${count(failures.groups.length, 'kind')}` : ''}</small></h2>
    ${!failures.groups.length && html`<p class="note">Nothing has failed.</p>`}
    <ul tabindex="0" aria-label="Kinds of failures">${failures.groups.slice(0, kMostKinds).map(group => html`<li>
      <div class="first"><b>${group.jobs.toLocaleString('en')}</b> <span class=${stateClass(group.result)}>${kindOf(group)}</span>
        ${mayWrite.value && html`<button class="act" onClick=${() => change('retry', group.named.map(job => job.id))} title=${`holon retry, of ${count(group.named.length, 'job')}`}>Retry these</button>`}</div>
      <code>${group.line || 'no output was found'}</code>
      <div class="named">${group.named.slice(0, 6).map(job => html`<a href="#" onClick=${event => { event.preventDefault(); choose('job', job.path); }}>${job.id} ${job.name}</a> `)}${group.jobs > 6 && '…'}</div></li>`)}
      ${failures.groups.length > kMostKinds && html`<li class="note">and ${count(failures.groups.length - kMostKinds, 'other kind')}; the filter <code>failed</code> lists them all</li>`}</ul>
  </section>`;
}
