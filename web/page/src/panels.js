// The status line (A), the tree (B) and what is selected (D).
import { html } from './html.js';
import { clock, count, duration, isBad, isOver, number, parent, stateClass, stateWord } from './format.js';
import { Answers } from './figures.js';
import { Grants } from './grants.js';
import { partAt, records } from './frozen.js';
import { search } from './queue.js';
import { ask, at, change, choose, drawLater, instances, kAgain, line, mayWrite, now, open, said, selected, tick, version } from './state.js';

const percent = (part, whole) => whole > 0 ? Math.max(0, Math.min(100, part / whole * 100)) : 0;

// Parts of a whole, one behind the other: [[share, class]].
function Bar({ parts, whole, label, kind = '', grow }) {
  return html`<span class=${`bar ${kind}`} role=${label && 'img'} aria-label=${label} title=${label} style=${{ flexGrow: grow }}>
    ${parts.filter(([share]) => share > 0).map(([share, name]) => html`<i class=${name} style=${{ width: `${percent(share, whole)}%` }}></i>`)}</span>`;
}

function Spark({ ends }) {
  const most = Math.max(1, ...ends), sum = ends.reduce((a, b) => a + b, 0);
  const points = ends.map((n, i) => `${i},${15 - 14 * n / most}`).join(' ');
  const rate = sum / ends.length;
  return html`<span class="fact" title=${`${sum} jobs ended in the last minute`}><svg class="spark" viewBox="0 0 60 16" preserveAspectRatio="none" aria-hidden="true">
    <polyline points=${points} /></svg> ${rate >= 10 ? rate.toFixed(0) : rate.toFixed(1)} jobs/s</span>`;
}

const coresOf = i => {
  const { given = 0, extra = 0, lent = 0 } = i, busy = Math.max(0, i.cores - i.free - given - lent);
  return { given, extra, lent, busy, own: i.cores - extra,
    label: `${busy} of ${i.cores} cores busy${given ? `, ${given} with children` : ''}${lent ? `, ${lent} lent to them beyond that` : ''}, ${i.free} free${extra ? `; ${i.cores - extra} its own, ${extra} extra` : ''}` };
};
// What it owns is framed, what is extra stands beyond the frame, what is lent is an outline.
const cores = i => {
  const { busy, given, extra, lent, own, label } = coresOf(i), inOwn = Math.min(busy, Math.max(0, own - given - lent));
  return html`<span class="cores" role="img" aria-label=${label} title=${label}>
    <${Bar} whole=${own} grow=${own} parts=${[[inOwn, 'busy'], [given, 'given'], [lent, 'lent']]} />
    ${extra > 0 && html`<${Bar} kind="extra" whole=${extra} grow=${extra} parts=${[[busy - inOwn, 'busy']]} />`}</span>`;
};

// Of a page in a file: what it is about, and when it was made.
const FrozenStatus = ({ i }) => html`<header class="status"><h1>${records.title}</h1>
  ${records.parts.length > 1 && html`<span class="fact">${i.name}</span>`}
  <span class="fact">${count(i.cores, records.elapsed ? 'processor' : 'core')}</span>
  <span class="fact"><b>${number(partAt(i.path).jobs.length)}</b> jobs</span>
  <span class=${`fact ${i.failed ? 'bad' : ''}`}><b>${number(i.failed)}</b> failed</span>
  <span class="last">${records.elapsed ? 'times since the first submission' : `as of ${clock(records.now, 0)}`}</span></header>`;

const lines = { connecting: 'connecting', live: '', lost: 'no connection: what is shown is what was', over: 'the instance has ended' };

export function Status() {
  tick.value;
  const i = instances.value.get(at.value);
  if (!i) return html`<header class="status"><h1>holon</h1><span>${lines[line.value] || 'waiting for the instance'}</span></header>`;
  if (FROZEN) return html`<${FrozenStatus} i=${i} />`;
  const left = i.expires ? i.expires - now() : 0, whole = i.expires - i.started;
  const { busy, given, lent } = coresOf(i);
  return html`<header class="status">
    <h1>${i.path}${i.name && html` <small>${i.name}</small>`}</h1>
    ${i.health !== 'up' && html`<strong class="alarm">${i.health || 'no answer'}</strong>`}
    <span class="fact">${i.policy}, up ${duration(now() - i.started)}</span>
    ${i.expires > 0 && html`<span class=${`fact ${left < whole / 20 ? 'alarm' : ''}`} title=${`ends ${clock(i.expires)}`}>
      <${Bar} whole=${whole} label=${`${duration(left)} of its lease left`} parts=${[[left, 'lease']]} /> ${duration(left)} left</span>`}
    <span class="fact">${cores(i)} <b>${number(busy + given + lent)}</b> of ${count(i.cores, 'core')} in use${i.gpus > 0 && `, ${i.gpus - i.gpus_free} of ${count(i.gpus, 'GPU')}`}</span>
    ${i.down > 0 && html`<span class="fact alarm">${count(i.down, 'node')} down</span>`}
    ${i.drained > 0 && html`<span class="fact warn">${count(i.drained, 'node')} drained</span>`}
    <span class="fact"><b>${number(i.running)}</b> running</span>
    <span class="fact"><b>${number(i.pending)}</b> waiting</span>
    <span class=${`fact ${i.failed ? 'bad' : ''}`}><b>${number(i.failed)}</b> failed</span>
    <${Spark} ends=${i.ends} />
    ${i.trouble && html`<span class="fact alarm">policy: ${i.trouble}</span>`}
    <span class="last">${line.value === 'live' ? i.said && `${clock(i.said_at)} ${i.said}` : html`<strong class="alarm">${lines[line.value]}</strong>`}</span>
  </header>`;
}

const byPath = (a, b) => {
  const x = a.path.split('/').slice(1), y = b.path.split('/').slice(1);
  for (let n = 0; n < Math.min(x.length, y.length); n++) if (x[n] !== y[n]) return x[n] - y[n];
  return x.length - y.length;
};

export function Tree() {
  tick.value;
  const all = [...instances.value.values()].sort(byPath);
  const shown = all.filter(i => i.health !== 'ended' || i.path === at.value), ended = all.length - shown.length;
  if (FROZEN && all.length < 2) return null;
  return html`<nav class="tree panel" aria-label="Instances" id="tree">
    <h2>${FROZEN && records.elapsed ? 'Policies' : 'Instances'}</h2>
    <ul>${shown.map(i => html`<li key=${i.path}>
      <button class=${i.path === at.value ? 'here' : ''} aria-current=${i.path === at.value ? 'true' : null} data-path=${i.path}
        onClick=${() => open(i.path)} style=${{ paddingLeft: `${6 + 12 * (i.path === '/' ? 0 : i.path.split('/').length - 1)}px` }}>
        <span class="name">${FROZEN && records.elapsed ? '' : i.path === '/' ? '/' : i.path.slice(i.path.lastIndexOf('/') + 1)} ${i.name}</span>
        <span class="wait">${i.health !== 'up' ? html`<em class=${i.health === 'ended' ? '' : 'alarm'}>${i.health}</em>`
          : html`<em class="moved">${[i.extra > 0 && `+${number(i.extra)}`, i.lent > 0 && `${number(i.lent)} lent`].filter(part => part).join(', ')}</em>`}${i.health === 'up' && i.pending > 0 && html`${i.extra + i.lent > 0 && ', '}${number(i.pending)} wait${i.oldest > 0 && html`, ${duration(now() - i.oldest)}`}`}</span>
        ${i.health === 'up' && !FROZEN && cores(i)}
      </button></li>`)}</ul>
    ${ended > 0 && html`<p class="note">${count(ended, 'instance')} ended</p>`}
  </nav>`;
}

// ---- what is selected ----

const shown = { key: '', json: null, error: '' };  // the answer for what is selected
const kLook = 5000;  // ms
let last = { key: '' };                             // what was asked for

const keyOf = what => `${what.kind} ${what.kind === 'job' ? '' : at.value} ${what.name}`;
const queries = { job: name => ['job', { path: name }], node: name => ['node', { at: at.value, name }], instance: () => ['grants', { at: at.value }] };
const looked = () => selected.value || { kind: 'instance', name: '' };

// What is not over may have got on though nothing has happened.
const isDue = () => !FROZEN && Date.now() - last.time >= kLook && looked().kind === 'job' && !isOver(shown.json?.state || '');
function load(draw) {
  const what = looked(), key = keyOf(what);
  if (FROZEN && what.kind === 'instance') return void (last = { key });
  if (key === last.key) {
    if (last.open || (last.version === version.value && !isDue())) return;
    if (Date.now() - last.time < kAgain) return drawLater(draw, last.time);
  }
  const mine = last = { key, version: version.value, time: Date.now(), open: true };
  const take = answer => {
    mine.open = false;
    if (mine.key !== last.key) return;  // something else is selected
    Object.assign(shown, { key, ...answer });
    draw();
  };
  ask(...queries[what.kind](what.name)).then(json => take({ json, error: '' }), error => take({ json: null, error: error.message }));
}

const phases = [['submit', 'depend', 'dependency'], ['depend', 'priority', 'priority'], ['priority', 'alloc', 'resources'],
  ['alloc', 'start', 'starting'], ['start', 'finish', 'running'], ['finish', 'clean', 'ending']];

// The time from one event to the next that counts, by what it waited for.
function life(job, events) {
  const when = Object.fromEntries(events.map(([time, name]) => [name, time])), parts = [];
  let since = job.t_submit;
  for (const [, end, cause] of phases) {
    const until = when[end];
    if (until === undefined) {
      if (job.state !== 'INACTIVE') parts.push([cause, now() - since]);
      break;
    }
    parts.push([cause, until - since]);
    since = until;
  }
  return parts.filter(([, ms]) => ms >= 1);
}

function Life({ job, events }) {
  const parts = life(job, events), whole = parts.reduce((sum, [, ms]) => sum + ms, 0);
  if (!parts.length) return null;
  return html`<div class="life"><div class="line" aria-hidden="true">${parts.map(([cause, ms]) => html`<i class=${cause} style=${{ flexGrow: Math.max(ms / whole, .02) }}></i>`)}</div>
    <dl>${parts.map(([cause, ms]) => html`<div><dt><i class=${`dot ${cause}`}></i>${cause}</dt><dd>${duration(ms)}</dd></div>`)}</dl></div>`;
}

function Why({ why }) {
  const best = why.remedies.find(one => one.kind !== 'lease'), more = why.remedies.find(one => one.kind === 'lease'), ahead = why.in_the_way.slice(0, 3);
  return html`<section class="why"><h3>Why it waits</h3><p>${why.reason || 'The scheduler has not looked at it yet.'}</p>
    ${why.t_planned > 0 ? html`<p>Planned to start <b>${clock(why.t_planned)}</b>, in ${duration(why.t_planned - now())}.</p>`
      : why.t_room > 0 && html`<p>Room from <b>${clock(why.t_room)}</b> by the limits of what runs, sooner where that ends before; a job ahead of it may take the place.</p>`}
    ${ahead.length > 0 && html`<ul>${ahead.map(o => html`<li>${o.path ? html`<a href="#" onClick=${event => { event.preventDefault(); choose('job', o.path); }}>${o.path} ${o.name}</a>` : o.kind}
      ${o.user && ` of ${o.user}`}${o.until > 0 && `, until ${clock(o.until)}`}</li>`)}</ul>`}
    ${best && html`<p>It would start now with <b>${best.text}</b>.</p>`}
    ${more && html`<p>More time for this instance: <b>${more.text}</b></p>`}</section>`;
}

const facts = list => html`<dl class="facts">${list.filter(([, value]) => value || value === 0).map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
const action = (verb, what, words) => mayWrite.value && html`<button class="act" title=${`holon ${words} ${what}`} onClick=${() => change(verb, [what])}>${verb[0].toUpperCase() + verb.slice(1)}</button>`;

function JobPanel({ json }) {
  const { job } = json, over = isOver(json.state);
  return html`<h2><span class=${stateClass(json.state)}>${stateWord(json.state)}</span> ${json.id} ${job.name}</h2>
    <div class="acts">${!over && action('cancel', json.id, 'cancel')}${over && action('retry', json.id, 'retry')}
      ${job.is_instance && instances.value.has(job.path) && html`<button class="act" onClick=${() => open(job.path)}>Open instance</button>`}</div>
    ${json.why ? html`<${Why} why=${json.why} />` : job.reason && html`<p class=${isBad(json.state) ? 'bad' : ''}>${job.reason}</p>`}
    <${Life} job=${job} events=${json.life || []} />
    ${facts([['command', html`<code>${job.command}</code>`], ['entry', job.entry], ['tasks', json.tasks], ['user', job.user], ['queue', job.queue], ['resources', job.resources], ['nodes', job.nodelist],
      ['submitted', clock(job.t_submit)], ['started', clock(job.t_start)], ['ended', clock(job.t_finish)], ['time limit', job.limit > 0 && duration(job.limit)],
      ['exit code', job.exit_code >= 0 && job.exit_code], ['attempts', job.retries > 0 && job.retries + 1], ['CPU time', job.cpu_ms > 0 && duration(job.cpu_ms)],
      ['memory', job.max_rss_kb >= 1024 && `${(job.max_rss_kb / 1024).toFixed(0)} MiB`], ['output', job.output]])}
    ${json.output && html`<h3>${isBad(json.state) ? 'The end of its errors' : 'The end of its output'}</h3><pre tabindex="0" aria-label="Output">${json.output}</pre>`}`;
}

function NodePanel({ json }) {
  const state = { free: 'completed', busy: 'running', drained: 'limit', down: 'failed' }[json.state];
  return html`<h2><span class=${`state ${state}`}>${json.state}</span> ${json.name}</h2>
    <div class="acts">${json.state === 'drained' ? action('undrain', json.name, 'resource undrain') : action('drain', json.name, 'resource drain')}</div>
    ${json.reason && html`<p>${json.reason}</p>`}
    ${facts([['cores', json.cores], ['GPUs', json.gpus > 0 && json.gpus], ['jobs ended here', json.over], ['of these failed', json.failed]])}
    <h3>${count(json.jobs.length, 'job')} running</h3>
    <ul class="jobs">${json.jobs.map(job => html`<li><a href="#" onClick=${event => { event.preventDefault(); choose('job', job.path); }}>${job.id} ${job.name}</a> ${job.user}, ${count(job.cores, 'core')}</li>`)}</ul>`;
}

function InstancePanel({ i, json }) {
  const { busy, given, lent, extra, own } = coresOf(i), children = [...instances.value.values()].filter(child => parent(child.path) === i.path && child.health === 'up');
  return html`<h2>${i.path} ${i.name}</h2>
    ${facts([['policy', i.policy], ['state', i.health], ['nodes', i.nodes], ['cores', `${number(i.cores)}: ${number(busy)} busy, ${number(given)} with children, ${lent > 0 ? `${number(lent)} lent, ` : ''}${number(i.free)} free${extra > 0 ? `; ${number(own)} its own, ${number(extra)} extra` : ''}`],
      ['jobs', [['running', i.running], ['waiting', i.pending], ['completed', i.over - i.failed - i.cancelled], ['failed', i.failed], ['cancelled', i.cancelled]].map(([word, n]) => `${number(n)} ${word}`).join(', ')],
      ['longest wait', i.oldest > 0 && duration(now() - i.oldest)], ['began', clock(i.started)], ['lease ends', i.expires > 0 && clock(i.expires)]])}
    ${i.out_of_use?.length > 0 && html`<h3>Nodes that take no work</h3><ul class="jobs">${i.out_of_use.map(node => html`<li><a href="#" onClick=${event => { event.preventDefault(); choose('node', node.name); }}>${node.name}</a> ${node.state}${node.reason && `: ${node.reason}`}</li>`)}
      ${i.down + i.drained > i.out_of_use.length && html`<li>and ${number(i.down + i.drained - i.out_of_use.length)} more</li>`}</ul>`}
    ${children.length > 0 && html`<h3>Who has its cores</h3><ul class="jobs">${busy > 0 && html`<li><a href="#" onClick=${event => { event.preventDefault(); search('running'); }}>its own jobs</a> ${count(busy, 'core')}</li>`}${children.map(child => html`<li><a href="#" onClick=${event => { event.preventDefault(); open(child.path); }}>${child.path} ${child.name}</a> ${count(child.cores, 'core')}${child.extra > 0 && `, ${number(child.extra)} of them lent`}${child.running === 0 && ', nothing runs there'}</li>`)}</ul>`}
    ${json && html`<${Grants} i=${i} json=${json} />`}
    <p class="note">Select a job, a bar or a node's name to see more of it. <kbd>?</kbd> shows the keys.</p>`;
}

export function Detail({ draw }) {
  tick.value;
  load(draw);
  const what = selected.value, i = instances.value.get(at.value), fits = shown.key === keyOf(looked());
  return html`<aside class=${`detail panel ${what ? 'open' : ''}`} aria-label="Selected" id="detail">
    ${what && html`<button class="close" aria-label="Close" onClick=${() => choose(null)}>×</button>`}
    ${FROZEN && !what ? i && html`<${Answers} part=${partAt(i.path)} />` : !what || what.kind === 'instance' ? i && html`<${InstancePanel} i=${i} json=${fits && shown.json} />`
      : !fits ? html`<p class="note">…</p>` : shown.error ? html`<p class="bad">${shown.error}</p>`
      : what.kind === 'job' ? html`<${JobPanel} json=${shown.json} />` : html`<${NodePanel} json=${shown.json} />`}
    ${said.value && html`<section class=${`said ${said.value.good ? '' : 'bad'}`} role="status"><button class="close" aria-label="Close" onClick=${() => { said.value = null; }}>×</button><pre tabindex="0" aria-label="What the command wrote">${said.value.said}</pre></section>`}
  </aside>`;
}
