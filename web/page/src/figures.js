// What only the page in a file has: its answers for whoever submitted, and the figures of whoever studies policies.
import uPlot from 'uplot';
import { Component } from 'preact';
import { html } from './html.js';
import { axisTicks, clock, count, duration, isOver, number, stateClass, stateWord, tickText } from './format.js';
import { curves, isRunning, records, runsOf } from './frozen.js';
import { others } from './time.js';

const hours = ms => { const h = ms / 3600000; return h >= 100 ? number(Math.round(h)) : h >= 1 ? h.toFixed(1) : h.toFixed(h < .01 ? 4 : 2); };
const outcomes = ['COMPLETED', 'FAILED', 'TIMEOUT', 'CANCELED', 'REJECTED', 'RUN', 'SCHED'];

// By outcome: jobs, and the core hours that they took.
function totals(part) {
  const sums = new Map(outcomes.map(state => [state, { jobs: 0, used: 0 }]));
  for (const job of part.jobs) {
    const sum = sums.get(isOver(job.state) ? job.state : isRunning(job) ? 'RUN' : 'SCHED') || sums.get('SCHED');
    sum.jobs++;
    for (const run of runsOf(job)) sum.used += job.cores * (run.end - run.start);
  }
  return [...sums].filter(([, sum]) => sum.jobs);
}

export function Answers({ part }) {
  const sums = totals(part), all = sums.reduce((sum, [, { jobs }]) => sum + jobs, 0), used = sums.reduce((sum, [, s]) => sum + s.used, 0), good = sums.find(([state]) => state === 'COMPLETED')?.[1].jobs || 0;
  const names = new Map();
  for (const job of part.jobs) names.set(job.name, (names.get(job.name) || 0) + 1);
  return html`<h2>${good === all ? `All ${count(all, 'job')} completed.` : `${number(good)} of ${count(all, 'job')} completed.`}</h2>
    ${records.verdict && html`<p class="verdict">${records.verdict}</p>`}
    <table class="outcomes"><thead><tr><th>outcome</th><th>jobs</th><th>core hours</th></tr></thead><tbody>
      ${sums.map(([state, sum]) => html`<tr><td><span class=${stateClass(state)}>${stateWord(state)}</span></td><td>${number(sum.jobs)}</td><td>${hours(sum.used)}</td></tr>`)}
      <tr><td>together</td><td>${number(all)}</td><td>${hours(used)}</td></tr></tbody></table>
    ${names.size > 1 && html`<p class="note">${[...names].sort((a, b) => b[1] - a[1]).slice(0, 6).map(([name, n]) => `${number(n)} ${name || 'without a name'}`).join(', ')}${names.size > 6 && `, and ${count(names.size - 6, 'other name')}`}</p>`}
    <dl class="facts">${records.facts.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}

// Jobs waiting under each policy, in one picture.
class Waiting extends Component {
  shouldComponentUpdate() { return false; }
  componentDidMount() {
    const { first } = records.parts[0], last = Math.max(...records.parts.map(part => part.last)), parts = 400, colours = others();
    const make = () => {
      this.plot?.destroy();
      const style = getComputedStyle(this.box), axis = { stroke: style.color, grid: { stroke: style.getPropertyValue('--edge'), width: 1 }, ticks: { show: false }, font: '11px system-ui, sans-serif' };
      this.plot = new uPlot({ width: Math.max(260, this.box.clientWidth), height: 190, ms: 1, legend: { show: false }, cursor: { show: false },
        series: [{}, ...records.parts.map((part, i) => ({ stroke: colours[i % colours.length], width: 1.4, points: { show: false } }))],
        scales: { x: { time: true, range: [first, last] }, y: { range: (u, low, high) => [0, Math.max(4, high * 1.08)] } },
        axes: [{ ...axis, size: 22, space: 80, splits: (u, i, min, max, by) => axisTicks(min, max, by), values: (u, all, i, space, by) => all.map((time, n) => tickText(time, by, n === 0)) }, { ...axis, size: 56, label: 'jobs waiting', labelSize: 16, labelFont: axis.font }] },
      [Array.from({ length: parts }, (_, i) => first + (i + .5) / parts * (last - first)), ...records.parts.map(part => curves(part, part.jobs, first, last, parts).waiting)], this.box);
    };
    make();
    new ResizeObserver(make).observe(this.box);
  }
  render() { return html`<div class="waits" ref=${box => { this.box = box; }}></div>`; }
}

const heads = [['jobs', f => number(f.jobs)], ['mean wait', f => duration(f.wait[0])], ['median', f => duration(f.wait[1])], ['95 %', f => duration(f.wait[2])], ['longest', f => duration(f.wait[3])],
  ['mean slowdown', f => f.slowdown[0].toFixed(2)], ['median', f => f.slowdown[1].toFixed(2)], ['95 %', f => f.slowdown[2].toFixed(2)], ['largest', f => f.slowdown[3].toFixed(2)],
  ['utilization', f => `${(100 * f.utilization).toFixed(1)} %`], ['makespan', f => duration(f.makespan)], ['backfilled', f => `${(100 * f.backfilled).toFixed(1)} %`], ['overtaking', f => `${(100 * f.overtaking).toFixed(1)} %`]];

// Mean waits by the size of the job; bars begin at 0 and are linear.
function Sizes({ figures }) {
  const sizes = [...new Set(figures.flatMap(f => f.sizes.map(s => s[0])))], most = Math.max(1, ...figures.flatMap(f => f.sizes.map(s => s[2]))), colours = others();
  return html`<table class="sizes"><caption>Mean wait by the job's processors</caption><tbody>${sizes.map(size => figures.map((f, i) => {
    const found = f.sizes.find(s => s[0] === size);
    return html`<tr>${i === 0 && html`<th rowspan=${figures.length}>${size} <small>${count(found?.[1] || 0, 'job')}</small></th>`}<td>${f.name}</td>
      <td class="length"><i style=${{ width: `${(found ? found[2] : 0) / most * 100}%`, background: colours[i % colours.length] }}></i></td><td>${found ? duration(found[2]) : '-'}</td></tr>`;
  }))}</tbody></table>`;
}

export function Figures() {
  const { figures, note } = records;
  return html`<section class="figures panel" aria-labelledby="figures-title"><h2 id="figures-title">Figures</h2>
    <div class="wide" tabindex="0" role="region" aria-label="Figures of all"><table><thead><tr><th>${records.elapsed ? 'policy' : 'instance'}</th>${heads.map(([name]) => html`<th>${name}</th>`)}</tr></thead>
      <tbody>${figures.map((f, i) => html`<tr class=${f.best ? 'best' : ''}><th><i class="dot" style=${{ background: others()[i % others().length] }}></i>${f.name}</th>${heads.map(([, text]) => html`<td>${text(f)}</td>`)}</tr>`)}</tbody></table></div>
    <p class="note">Wait: from submission to start. Slowdown is bounded: (wait + run) / run, at least 1, runs shorter than 10 s taken as 10 s. 95 %: 95 of 100 jobs have this much or less. Utilization: of the processors' time until the last end. Overtaking: started while a job that was submitted earlier still waited. ${note}</p>
    <div class="pair">${records.parts.length > 1 && html`<${Waiting} />`}<${Sizes} figures=${figures} /></div></section>`;
}
