// The page as a file, without a server: what the server would answer is worked out here, from the records in the page.
export let records = null;  // what cli/report/page.cpp has written

const kParts = 240, kMostLanes = 256;
const instanceOf = path => path.slice(0, path.lastIndexOf('/')) || '/';
export const partAt = path => records.parts.find(part => part.path === path);

export async function thaw() {
  const bytes = Uint8Array.from(atob(document.getElementById('frozen').textContent), c => c.charCodeAt(0));
  records = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))).json();
  for (const part of records.parts) part.jobs = part.jobs.map((row, i) => job(part, row, i));
  return records;
}

// A row holds numbers, and places in the list of texts; times count from the one before them.
function job(part, row, i) {
  const made = { places: part.places[i] || [] };
  records.columns.forEach(([name, isText], n) => { made[name] = isText ? records.texts[row[n] || 0] : row[n] || 0; });
  made.submit += part.first;
  for (const name of ['start', 'end', 'until']) made[name] = made[name] ? made.submit + made[name] - 1 : 0;
  made.label ||= String(made.id);
  made.path = `${part.path === '/' ? '' : part.path}/${made.number || made.id}`;
  made.id = made.label;
  return made;
}

export const isRunning = job => job.state === 'RUN' || job.state === 'CLEANUP';
export const isOver = job => ['COMPLETED', 'FAILED', 'CANCELED', 'TIMEOUT', 'REJECTED', 'INACTIVE'].includes(job.state);
const endOf = job => job.end || records.now;
const hasHost = (part, job, host) => job.places.some((row, i) => i % 3 === 0 && part.rows[row][0] === host);

// ---- the words of the filter (web/listing.cpp has the same) ----

const groups = { running: ['RUN', 'CLEANUP'], pending: ['NEW', 'DEPEND', 'PRIORITY', 'SCHED'], cancelled: ['CANCELED'] };
const states = ['completed', 'failed', 'canceled', 'timeout', 'rejected', 'run', 'sched', 'suspended', ...Object.keys(groups)];
function matcher(part, text) {
  const tests = (text || '').split(/\s+/).filter(word => word).map(word => {
    const [, key, value] = word.match(/^(\w+):(.*)$/) || [], all = word.toLowerCase().split(',');
    if (key === 'user' || key === 'queue') return job => job[key] === value;
    if (key === 'name') { const pattern = new RegExp(`^${value.split('*').map(RegExp.escape || (t => t.replace(/[^\w]/g, '\\$&'))).join('.*')}$`); return job => pattern.test(job.name); }
    if (key === 'node') return job => hasHost(part, job, value);
    if (key === 'exit') {
      if (!/^\d+$/.test(value)) throw new Error('exit: is followed by a number, as exit:1');
      return job => job.exit === Number(value) && isOver(job);
    }
    if (all.every(state => states.includes(state))) return job => all.some(state => (groups[state] || [state.toUpperCase()]).includes(job.state));
    return job => [job.name, job.command, job.reason, job.entry].some(t => t?.includes(word)) || job.id === word;
  });
  return job => tests.every(test => test(job));
}

// ---- colours and rows (web/rows.cpp) ----

const step = (value, ...steps) => steps.filter(from => value >= from).length;
const ends = { COMPLETED: 2, CANCELED: 3, TIMEOUT: 4 };
const colourings = {
  result: [['waiting', 'running', 'completed', 'cancelled', 'time limit', 'failed'], job => isOver(job) ? ends[job.state] || 5 : isRunning(job) ? 1 : 0],
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
  for (const job of jobs.filter(job => job.start).sort((a, b) => a.start - b.start)) {
    const name = nameOf(job);
    if (!rows.has(name)) rows.set(name, { number: rows.size, until: [] });
    const { number, until } = rows.get(name), wanted = Math.min(kMostLanes, Math.max(1, job.cores)), lanes = [];
    for (let lane = 0; lane < kMostLanes && lanes.length < wanted; lane++) if (!(until[lane] > job.start)) lanes.push(lane);
    if (!lanes.length) lanes.push(kMostLanes - 1);
    for (const lane of lanes) until[lane] = endOf(job);
    for (let i = 0, next; i < lanes.length; i = next) {
      for (next = i + 1; lanes[next] === lanes[next - 1] + 1;) next++;
      pieces.push([number, lanes[i], next - i, job]);
    }
  }
  return { rows: [...rows].map(([name, { until }]) => [name, until.length || 1]), pieces };
}

const layouts = {
  nodes: (part, jobs) => ({ rows: part.rows, pieces: jobs.flatMap(job => job.start ? Array.from({ length: job.places.length / 3 }, (_, i) => [...job.places.slice(3 * i, 3 * i + 3), job]) : []) }),
  jobs: (part, jobs) => ({ rows: jobs.map(job => [job.id, 1]), pieces: jobs.map((job, i) => [i, 0, 1, job]) }),
  users: (part, jobs) => packed(jobs, job => job.user || 'nobody'),
  instances: (part, jobs) => packed(jobs, job => instanceOf(job.path)),
  grants: part => ({ rows: part.grants.rows, pieces: part.grants.pieces }),
};

const ran = 0, planned = 1, waited = 3;
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
  if (by === 'grants') for (const [row, lane, lanes, begin, end, colour, label] of layout.pieces) add(row, lane, lanes, part.first + begin, part.first + end, ran, colour, '', label);
  else for (const [row, lane, lanes, job] of layout.pieces) {
    const label = `${job.id}${job.name && ` ${job.name}`}`, colour = colourOf(job);
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
    if (job.start) addTo(busy, from, to, job.start, endOf(job), Math.max(1, job.cores));
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

const rank = job => isRunning(job) ? 0 : isOver(job) ? 2 : 1;
const order = job => rank(job) === 2 ? -endOf(job) : rank(job) === 1 ? job.submit : -job.start;
function list(part, { filter, first, most }) {
  const jobs = part.jobs.filter(matcher(part, filter)).sort((a, b) => rank(a) - rank(b) || order(a) - order(b));
  return { version: 1, all: jobs.length, first, jobs: jobs.slice(first, first + most) };
}

function oneJob(path) {
  const job = partAt(instanceOf(path)).jobs.find(job => job.path === path);
  return { id: job.id, state: job.state, tasks: job.tasks, output: '', life: [[job.start, 'start'], [job.end, 'finish']].filter(([time]) => time), job: {
    ...job, t_submit: job.submit, t_start: job.start, t_finish: job.end, nodelist: job.nodes, exit_code: isOver(job) && job.start ? job.exit : -1, state: isOver(job) ? 'INACTIVE' : job.state, is_instance: false } };
}
function node(part, name) {
  const host = part.hosts.find(host => host.name === name), here = part.jobs.filter(job => hasHost(part, job, name));
  return { cores: 0, gpus: 0, state: 'free', ...host, name, jobs: here.filter(isRunning), over: here.filter(isOver).length, failed: here.filter(job => ['FAILED', 'TIMEOUT'].includes(job.state)).length };
}

export function answerFrom(page, query) {
  const part = partAt(query.at || instanceOf(query.path));
  switch (page) {
    case 'time': return time(part, query);
    case 'jobs': return list(part, query);
    case 'failures': return { groups: part.failures };
    case 'job': return oneJob(query.path);
    default: return node(part, query.name);
  }
}
