// The page as a file, without a server: what the server would answer is worked out here, from the records in the page.
import { isOver, parent } from './format.js';
export let records = null;  // what cli/report/page.cpp has written

const kParts = 240, kMostLanes = 256;
export const partAt = path => records.parts.find(part => part.path === path);

export async function thaw() {
  const bytes = Uint8Array.from(atob(document.getElementById('frozen').textContent), c => c.charCodeAt(0));
  records = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))).json();
  for (const part of records.parts) {
    part.jobs = part.jobs.map((row, i) => job(part, row, i));
    for (const [i, start, end, ...places] of part.lost || []) part.jobs[i].lost = [...part.jobs[i].lost, { job: part.jobs[i], start, end, places, lost: true }];
  }
  return records;
}

const none = [];
// A row holds numbers, and places in the list of texts; times count from the one before them.
function job(part, row, i) {
  const made = { places: part.places[i] || [], lost: none };
  records.columns.forEach(([name, isText], n) => { made[name] = isText ? records.texts[row[n] || 0] : row[n] || 0; });
  made.submit += part.first;
  for (const name of ['start', 'end', 'until']) made[name] = made[name] ? made.submit + made[name] - 1 : 0;
  const above = part.path === '/' ? '' : part.path;
  made.path = `${above}/${made.id}`;
  made.id = made.label || String(made.id);
  made.shown = `${above}/${made.id}`;
  made.exit -= 1;
  return made;
}

export const isRunning = job => ['RUN', 'CLEANUP'].includes(job.state) || (job.state === 'SUSPENDED' && job.start > 0);
const endOf = job => job.end || records.now;
// Those that were lost, as another job took the place, and the last one.
export const runsOf = job => job.start ? [...job.lost, { job, start: job.start, end: endOf(job), places: job.places, lost: false }] : job.lost;
const hasHost = (part, job, host) => job.places.some((row, i) => i % 3 === 0 && part.rows[row][0] === host);

// ---- the words of the filter (web/listing.cpp; tests/cli/pages/filter_words_test.cpp has a table for both) ----

const pending = job => !isRunning(job) && !isOver(job.state);
const states = {
  ...Object.fromEntries(['COMPLETED', 'FAILED', 'CANCELED', 'TIMEOUT', 'REJECTED', 'NEW', 'DEPEND', 'PRIORITY', 'SCHED', 'CLEANUP', 'SUSPENDED'].map(state => [state, job => job.state === state])),
  // One that is suspended runs, or may.
  RUN: job => isRunning(job) && job.state !== 'CLEANUP', RUNNING: isRunning, PENDING: pending, INACTIVE: job => isOver(job.state),
};
const classes = { alpha: 'A-Za-z', digit: '\\d', alnum: 'A-Za-z0-9', upper: 'A-Z', lower: 'a-z', space: '\\s', punct: '!-\\/:-@\\[-`{-~', xdigit: '0-9A-Fa-f' };
const quoted = text => text.replace(/\W/g, '\\$&');
// A pattern of names as fnmatch(3) reads it: brackets, what a backslash makes plain, * and ?.
function globbed(glob) {
  const text = glob.replace(/\[([!^]?)(\](?:\[:\w+:\]|\\.|[^\]\\])*|(?:\[:\w+:\]|\\.|[^\]\\])+)\]|\\(.)|\W/gs, (all, not, set, plain) => {
    if (set) return `[${not && '^'}${set.replace(/\[:(\w+):\]|\\(.)|[[\]^]/gs, (one, name, escaped) => name ? classes[name] || '' : quoted(escaped || one))}]`;
    if (all === '[' || all === '\\') throw new Error(`name: ${glob} is no pattern`);
    return plain ? quoted(plain) : all === '*' ? '.*' : all === '?' ? '.' : quoted(all);
  });
  return new RegExp(`^${text}$`, 's');
}

// Of what may be said once the last word counts; states are alternatives, other words have all to be met.
function matcher(part, text) {
  const tests = {}, found = [], keys = {
    user: value => job => job.user === value, queue: value => job => job.queue === value, node: value => job => hasHost(part, job, value),
    name: value => { const pattern = globbed(value); return job => pattern.test(job.name); },
    exit: value => { if (!/^\d+$/.test(value)) throw new Error('exit: is followed by a number, as exit:1'); return job => job.exit === Number(value); },
  };
  for (const word of (text || '').split(/[ \t\n\v\f\r]+/).filter(word => word)) {
    const [, key, value] = word.match(/^(\w+):(.*)$/) || [], all = word.toUpperCase().replace(/,$/, '').split(',');
    if (Object.hasOwn(keys, key)) tests[key] = value || key === 'exit' ? keys[key](value) : () => true;
    else if (all.every(state => Object.hasOwn(states, state))) found.push(...all);
    else tests[`word ${word}`] = job => [job.name, job.command, job.reason, job.entry].some(t => t.includes(word)) || job.id === word || job.shown === word;
  }
  return job => (!found.length || found.some(state => states[state](job))) && Object.values(tests).every(test => test(job));
}

// ---- colours and rows (web/rows.cpp) ----

const step = (value, ...steps) => steps.filter(from => value >= from).length;
const ends = { COMPLETED: 2, CANCELED: 3, TIMEOUT: 4 };
const colourings = {
  result: [['waiting', 'running', 'completed', 'cancelled', 'time limit', 'failed'], job => isOver(job.state) ? ends[job.state] || 5 : isRunning(job) ? 1 : 0],
  wait: [['below 1 min', 'below 10 min', 'below 1 h', '1 h or more'], job => step((job.start || endOf(job)) - job.submit, 60000, 600000, 3600000)],
  size: [['1 core', 'below 8 cores', 'below 64 cores', '64 cores or more'], job => step(job.cores, 2, 8, 64)],
  start: [['in turn', 'backfilled', 'as reserved'], job => job.how],
};
function colouring(part, by) {
  if (colourings[by]) return colourings[by];
  const counts = new Map();
  for (const job of part.jobs) counts.set(job[by], (counts.get(job[by]) || 0) + 1);
  const names = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 8).map(([name]) => name);
  return [[...names, ...(counts.size > 8 ? ['others'] : [])], job => names.includes(job[by]) ? names.indexOf(job[by]) : names.length];
}

// Rows with as many lanes as their jobs need at once; a job has the lowest lanes that are free.
function packed(jobs, nameOf) {
  const rows = new Map(), pieces = [];
  for (const run of jobs.flatMap(runsOf).sort((a, b) => a.start - b.start)) {
    const { job } = run, name = nameOf(job);
    if (!rows.has(name)) rows.set(name, { number: rows.size, until: [] });
    const { number, until } = rows.get(name), wanted = Math.min(kMostLanes, Math.max(1, job.cores)), lanes = [];
    for (let lane = 0; lane < kMostLanes && lanes.length < wanted; lane++) if (!(until[lane] > run.start)) lanes.push(lane);
    if (!lanes.length) lanes.push(kMostLanes - 1);
    for (const lane of lanes) until[lane] = run.end;
    for (let i = 0, next; i < lanes.length; i = next) {
      for (next = i + 1; lanes[next] === lanes[next - 1] + 1;) next++;
      pieces.push([number, lanes[i], next - i, job, run.lost && run]);
    }
  }
  return { rows: [...rows].map(([name, { until }]) => [name, until.length || 1]), pieces };
}

// Pieces are row, lane, lanes, job, and the run where it was lost; those of a lane by their beginnings.
const layouts = {
  nodes: (part, jobs) => ({ rows: part.rows, pieces: jobs.flatMap(runsOf).sort((a, b) => a.start - b.start).flatMap(run => Array.from({ length: run.places.length / 3 }, (_, i) => [...run.places.slice(3 * i, 3 * i + 3), run.job, run.lost && run])) }),
  jobs: (part, jobs) => ({ rows: jobs.map(job => [job.id, 1]), pieces: jobs.flatMap((job, i) => [[i, 0, 1, job, false], ...job.lost.map(run => [i, 0, 1, job, run])]) }),
  users: (part, jobs) => packed(jobs, job => job.user || 'nobody'),
  grants: part => ({ rows: part.grants.rows, pieces: part.grants.pieces }),
};

const ran = 0, planned = 1, waited = 3, gaveWay = 6;
// Bars in fractions of a pixel; what falls under one pixel of a lane is one bar with a count.
function barsOf(part, layout, by, from, to, width) {
  const [colours, colourOf] = colouring(part, by), tops = [], last = new Map(), bars = [], subjects = [];
  let top = 0;
  for (const [, lanes] of layout.rows) { tops.push(top); top += lanes; }
  const add = (row, lane, lanes, begin, end, kind, colour, path, label) => {
    if (end < from || begin > to) return;
    const y = tops[row] + lane, x0 = Math.max(0, (begin - from) / (to - from) * width), x1 = Math.min(width, (end - from) / (to - from) * width), key = (y * 65536 + lanes) * 8 + kind, before = last.get(key);
    if (before && x0 < Math.floor(before[2]) + 1 && x1 <= Math.floor(before[2]) + 1) {
      before[7]++;
      before[3] = Math.max(before[3], x1);
      before[5] = Math.max(before[5], colour);
      return;
    }
    const bar = [y, lanes, x0, Math.max(x1, x0 + .5), kind, colour, 8, 1, subjects.length];
    subjects.push([path, label]);
    last.set(key, bar);
    bars.push(bar);
  };
  if (by === 'grants') for (const [row, lane, lanes, begin, end, colour, label] of layout.pieces) add(row, lane, lanes, begin, end, ran, colour, '', label);
  else for (const [row, lane, lanes, job, lost] of layout.pieces) {
    const label = `${job.id}${job.name && ` ${job.name}`}`, colour = colourOf(job);
    if (lost) { add(row, lane, lanes, lost.start, lost.end, gaveWay, 0, job.path, label); continue; }
    if (layout.waits && (job.start || endOf(job)) > job.submit) add(row, lane, lanes, job.submit, job.start || endOf(job), waited, 0, job.path, label);
    if (!job.start) continue;
    add(row, lane, lanes, job.start, endOf(job), ran, colour, job.path, label);
    if (isRunning(job) && job.until > records.now) add(row, lane, lanes, records.now, job.until, planned, colour, job.path, label);
  }
  return { colours: by === 'grants' ? part.grants.colours : colours, bars, subjects, bands: top, rows: layout.rows };
}

function addTo(sums, from, to, begin, end, weight) {
  const length = (to - from) / sums.length, first = Math.max(0, (begin - from) / length), last = Math.min(sums.length, (end - from) / length);
  for (let i = Math.floor(first); i < last; i++) sums[i] += weight * (Math.min(last, i + 1) - Math.max(first, i));
}
export function curves(part, jobs, from, to, parts = kParts) {
  const busy = Array(parts).fill(0), waiting = Array(parts).fill(0);
  for (const job of jobs) {
    addTo(waiting, from, to, job.submit, job.start || endOf(job), 1);
    for (const run of runsOf(job)) addTo(busy, from, to, run.start, run.end, Math.max(1, job.cores));
  }
  return { busy, waiting };
}

let kept = {};  // the layout of the last question
function time(part, query) {
  const from = Number(query.from), to = Number(query.to), width = Number(query.width), by = query.rows;
  const key = [part.path, by, query.filter].join('\n');
  if (kept.key !== key) {
    const jobs = part.jobs.filter(matcher(part, query.filter));
    kept = { key, jobs, layout: { ...layouts[by](part, jobs), waits: by === 'jobs' } };
  }
  return { version: 1, now: records.now, from, to, width, first: part.first, cores: part.instance.cores, ends: 0, band: 1,
    ...barsOf(part, kept.layout, by === 'grants' ? by : query.colour, from, to, width), ...curves(part, kept.jobs, from, to) };
}

// ---- the list, and what is selected ----

const rank = job => isRunning(job) ? 0 : isOver(job.state) ? 2 : 1;
const order = job => rank(job) === 2 ? -endOf(job) : rank(job) === 1 ? job.submit : -job.start;
function list(part, { filter, first, most }) {
  const jobs = part.jobs.filter(matcher(part, filter)).sort((a, b) => rank(a) - rank(b) || order(a) - order(b));
  return { version: 1, all: jobs.length, first, jobs: jobs.slice(first, first + most) };
}

function oneJob(path) {
  const job = partAt(parent(path)).jobs.find(job => job.path === path);
  return { id: job.id, state: job.state, tasks: job.tasks, output: '', life: [[job.start, 'start'], [job.end, 'finish']].filter(([time]) => time), job: {
    ...job, t_submit: job.submit, t_start: job.start, t_finish: job.end, nodelist: job.nodes, exit_code: job.exit, state: isOver(job.state) ? 'INACTIVE' : job.state, is_instance: false } };
}
function node(part, name) {
  const host = part.hosts.find(host => host.name === name), here = part.jobs.filter(job => hasHost(part, job, name));
  return { cores: 0, gpus: 0, state: 'free', ...host, name, jobs: here.filter(isRunning), over: here.filter(job => isOver(job.state)).length, failed: here.filter(job => ['FAILED', 'TIMEOUT'].includes(job.state)).length };
}

export function answerFrom(page, query) {
  const part = partAt(query.at || parent(query.path));
  switch (page) {
    case 'time': return time(part, query);
    case 'jobs': return list(part, query);
    case 'failures': return { groups: part.failures };
    case 'job': return oneJob(query.path);
    default: return node(part, query.name);
  }
}
