// Draws the report: DATA is what sim/report.cpp has written, times in seconds since the first
// submission. uPlot (README.md) draws the axes, the curves and the bars, and zooms; the picture of
// the machine is drawn here on its canvas, since a curve library has no rectangles.
'use strict';
const COLOURS = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9', '#6a3d9a', '#7f7f7f'];
// From light to dark: what is larger is darker, in print, too.
const RAMP = ['#d9ecd0', '#a6d8a8', '#5fbfa2', '#2a9fa8', '#2b6f9e', '#2f3f86', '#3b0f55'];
const colour = i => COLOURS[i % COLOURS.length];
const main = document.querySelector('main'), tip = document.getElementById('tip');
const shown = Math.max(...DATA.policies.map(p => p.length), 1e-3);

// ---- units ----

const UNITS = [[86400, 'days', 'd'], [3600, 'hours', 'h'], [60, 'minutes', 'min'], [1, 'seconds', 's'], [1e-3, 'milliseconds', 'ms']];
// The largest unit of which three fit into the time shown.
const unit = UNITS.find(u => shown >= 3 * u[0]) || UNITS[4];
const INCREMENTS = [];
for (let power = -3; power <= 6; ++power) for (const m of [1, 2, 5]) INCREMENTS.push(m * 10 ** power);
if (unit[1] === 'hours') INCREMENTS.push(3, 6, 12, 24, 48);
if (unit[1] === 'minutes' || unit[1] === 'seconds') INCREMENTS.push(15, 30, 60, 120);
if (unit[1] === 'days' && shown < 60 * 86400) INCREMENTS.push(7, 14);
INCREMENTS.sort((a, b) => a - b);

function span(seconds) {
  if (seconds < 1) return seconds === 0 ? '0 s' : Math.round(seconds * 1000) + ' ms';
  if (seconds < 10) return +seconds.toFixed(2) + ' s';
  const s = Math.round(seconds), d = Math.floor(s / 86400), h = Math.floor(s / 3600) % 24, m = Math.floor(s / 60) % 60;
  if (d) return d + ' d' + (h ? ' ' + h + ' h' : '');
  if (h) return h + ' h' + (m ? ' ' + m + ' min' : '');
  return m ? m + ' min' + (s % 60 ? ' ' + s % 60 + ' s' : '') : s + ' s';
}
function rough(seconds) {
  const u = UNITS.find(u => seconds >= u[0]) || UNITS[3], n = seconds / u[0];
  return (n < 10 && n !== Math.round(n) ? n.toFixed(1) : Math.round(n)) + ' ' + u[2];
}
const short = n => String(+n.toPrecision(3));
const count = n => n >= 1e6 ? short(n / 1e6) + 'M' : n >= 1e4 ? short(n / 1e3) + 'k' : String(n);

// ---- what all plots have ----

const FONT = '11px system-ui, sans-serif';
function timeAxis(title = true) {
  return { scale: 'x', incrs: INCREMENTS, space: 70, font: FONT, labelFont: FONT, stroke: '#444', grid: { stroke: '#e4e4e4', width: 1 }, ticks: { stroke: '#ccc' },
           size: 26, label: title ? unit[1] + ' since the first submission' : undefined, labelSize: title ? 18 : 0, values: (u, all) => all.map(v => String(+v.toFixed(6))) };
}
const upAxis = (label, more = {}) => ({ scale: 'y', font: FONT, labelFont: FONT, stroke: '#444', label, labelSize: 18, size: 64, grid: { stroke: '#e4e4e4', width: 1 }, ticks: { stroke: '#ccc' }, ...more });
const inUnits = seconds => seconds / unit[0];

const plots = [];
function figure(title, keys, height, build, choices) {
  const f = document.createElement('figure');
  const heading = document.createElement('h2');
  heading.textContent = title;
  f.append(heading);
  const row = document.createElement('div');
  row.className = 'keys';
  const plot = document.createElement('div');
  plot.className = 'plot';
  f.append(row, plot);
  main.append(f);
  let picked = choices ? choices[0] : null;
  const legend = () => {
    row.replaceChildren();
    if (choices && choices.length > 1) row.append(chooser(choices, picked, choice => { picked = choice; legend(); draw(); }));
    for (const [name, paint] of keys(picked)) {
      const key = document.createElement('span'), box = document.createElement('i');
      key.className = 'key';
      box.style.background = paint;
      key.append(box, name);
      row.append(key);
    }
  };
  let drawn = null;
  const draw = () => {
    const before = drawn && drawn.scales.x && picked && { x: [drawn.scales.x.min, drawn.scales.x.max], y: [drawn.scales.y.min, drawn.scales.y.max] };
    if (drawn) drawn.destroy();
    drawn = build(plot, Math.max(280, plot.clientWidth), height, picked);
    if (before && drawn.keepsZoom) for (const s of ['x', 'y']) drawn.setScale(s, { min: before[s][0], max: before[s][1] });
  };
  legend();
  draw();
  plots.push({ draw, node: plot, width: plot.clientWidth });
}
let names = 0;
function chooser(choices, picked, choose) {
  const all = document.createElement('span'), name = 'choice' + ++names;
  all.className = 'choice';
  for (const choice of choices) {
    const label = document.createElement('label'), input = document.createElement('input');
    input.type = 'radio';
    input.name = name;
    input.checked = choice === picked;
    input.onchange = () => choose(choice);
    label.append(input, ' ' + choice.name);
    all.append(label);
  }
  return all;
}

// ---- numbers ----

// A narrow page has the numbers upright: a line for each, a column for each policy.
function upright(table) {
  const groups = [...table.tHead.rows[0].cells], second = [...table.tHead.rows[1].cells], names = [];
  for (const head of groups)
    if (head.colSpan === 1) names.push(head.innerHTML.replace('-<br>', ''));
    else for (const below of second.splice(0, head.colSpan)) names.push(head.textContent + ', ' + below.textContent);
  const turned = document.createElement('table'), rows = [...table.tBodies[0].rows];
  names.forEach((name, column) => {
    const row = (column ? turned.tBodies[0] || turned.createTBody() : turned.createTHead()).insertRow();
    const head = document.createElement('th');
    head.textContent = name;
    row.append(head, ...rows.map(from => from.cells[column].cloneNode(true)));
  });
  turned.className = 'numbers upright';
  return turned;
}
const numbers = document.querySelector('table.numbers');
numbers.after(upright(numbers));

// ---- curves ----

// Each value holds over a slice of the policy's length: a step, not a slope.
function curve(policy, key) {
  const n = policy[key].length, x = [], y = [];
  for (let i = 0; i <= n; ++i) {
    x.push(inUnits(i / n * policy.length));
    y.push(policy[key][Math.min(i, n - 1)]);
  }
  return [x, y];
}
const stepped = (u, i, from, to) => uPlot.paths.stepped({ align: 1 })(u, i, from, to);

DATA.policies.forEach((policy, i) => {
  const last = i === DATA.policies.length - 1;
  figure((i ? '' : 'Processors in use') + (DATA.policies.length > 1 ? (i ? 'Processors in use' : '') + ' under ' + policy.name : ''), () => [], last ? 150 : 132, (node, width, height) =>
    new uPlot({ width, height, legend: { show: false }, cursor: { drag: { x: true, y: false }, sync: { key: 'time' } },
                scales: { x: { time: false, range: (u, lo, hi) => zoomed(u, lo, hi, 0, inUnits(shown)) }, y: { range: [0, DATA.procs] } },
                axes: [timeAxis(last), upAxis('processors', { splits: () => processorTicks() })],
                series: [{}, { stroke: colour(i), fill: colour(i) + '55', width: 1, paths: stepped, points: { show: false } }] },
              curve(policy, 'busy'), node));
});
function zoomed(u, lo, hi, least, most) {
  return u.data && u.data[0] && u.data[0].length && (lo !== u.data[0][0] || hi !== u.data[0][u.data[0].length - 1]) && hi > lo ? [lo, hi] : [least, most];
}
function processorTicks() {
  let step = 1;
  for (let i = 0; DATA.procs / step > 4; ++i) step *= [2, 2.5, 2][i % 3];
  const all = [];
  for (let v = 0; v < DATA.procs - step / 3; v += step) all.push(v);
  return [...all, DATA.procs];
}

// The values below a picture are those at the pointer.
function valuesWherePointed(u) { u.root.classList.toggle('away', !(u.cursor.left >= 0)); }

// Few and many jobs in one picture: a scale that is that of a logarithm above 1 and has a 0.
const linear = { name: 'linear' }, logarithmic = { name: 'logarithmic' };
figure('Jobs waiting', () => DATA.policies.map((p, i) => [p.name, colour(i)]), 240, (node, width, height, picked) => {
  const most = Math.max(1, ...DATA.policies.flatMap(p => p.queued));
  const ticks = [0];
  for (let power = 1; power <= most; power *= 10) for (const m of most < 500 ? [1, 2, 5] : [1]) if (m * power <= most * 1.3) ticks.push(m * power);
  const all = uPlot.join(DATA.policies.map(p => curve(p, 'queued')));
  return new uPlot({ width, height, cursor: { drag: { x: true, y: false }, sync: { key: 'time' } }, legend: { show: DATA.policies.length > 1, live: true },
    scales: { x: { time: false, range: (u, lo, hi) => zoomed(u, lo, hi, 0, inUnits(shown)) },
              y: picked === logarithmic ? { distr: 4, asinh: 1, range: [0, most * 1.15] } : { range: [0, most * 1.05] } },
    axes: [timeAxis(), upAxis('jobs waiting', picked === logarithmic ? { splits: () => ticks, filter: (u, v) => v, values: (u, v) => v.map(count) } : { values: (u, v) => v.map(count) })],
    series: [{ label: unit[1], value: (u, v) => v == null ? '' : +v.toFixed(2) }, ...DATA.policies.map((p, i) =>
      ({ label: p.name, stroke: colour(i), width: 1.4, paths: stepped, points: { show: false }, spanGaps: true, value: (u, v) => v == null ? '' : +v.toFixed(1) }))],
    hooks: { ready: [valuesWherePointed], setCursor: [valuesWherePointed] } }, all, node);
}, [logarithmic, linear]);

// ---- waits by size ----

const rank = s => s.startsWith('>') ? Infinity : parseInt(s, 10);
const sizes = [...new Set(DATA.policies.flatMap(p => p.sizes.map(s => s.size)))].sort((a, b) => rank(a) - rank(b));
const jobsOf = size => Math.max(...DATA.policies.map(p => (p.sizes.find(s => s.size === size) || { jobs: 0 }).jobs));
const MARKS = [[0, '0'], [1, '1 s'], [60, '1 min'], [3600, '1 h'], [86400, '1 d'], [864000, '10 d'], [8640000, '100 d']];
const SHORT_MARKS = [[0, '0'], [1, '1 s'], [10, '10 s'], [60, '1 min'], [300, '5 min']];
if (sizes.length) figure('Mean wait by processors of the job', () => DATA.policies.map((p, i) => [p.name, colour(i)]), 260, (node, width, height) => {
  const n = DATA.policies.length, x = [], rows = DATA.policies.map(() => []);
  sizes.forEach((size, s) => DATA.policies.forEach((p, i) => {
    x.push(s - .4 + (i + .5) * .8 / n);
    rows.forEach((row, r) => row.push(r === i ? (p.sizes.find(o => o.size === size) || { wait: null }).wait : null));
  }));
  const most = Math.max(10, ...rows.flat().filter(v => v != null)), marks = (most < 600 ? SHORT_MARKS : MARKS).filter(m => m[0] <= most * 1.2);
  const bars = uPlot.paths.bars({ size: [n === 1 ? .5 : .92, 90], align: 0 });
  return new uPlot({ width, height, legend: { show: false }, cursor: { show: false },
    scales: { x: { time: false, range: [-.6, sizes.length - .4] }, y: { distr: 4, asinh: 1, range: [0, most * 2] } },
    axes: [{ ...timeAxis(), label: 'processors of the job', splits: () => sizes.map((s, i) => i), grid: { show: false }, size: 50, labelGap: 4,
             values: () => sizes.map(s => s + '\n' + count(jobsOf(s)) + (jobsOf(s) === 1 ? ' job' : ' jobs')) },
           upAxis('mean wait', { size: 62, splits: () => marks.map(m => m[0]), values: () => marks.map(m => m[1]) })],
    series: [{}, ...DATA.policies.map((p, i) => ({ label: p.name, stroke: colour(i), fill: colour(i), width: 0, paths: bars, points: { show: false } }))],
    hooks: { draw: [u => labels(u, x, rows)] } }, [x, ...rows], node);
});
// All bars have their value above them, or none has: a text that is wider than a bar would run into the next one. Narrow bars have the
// unit in a line of its own.
function labels(u, x, rows) {
  const g = u.ctx, ratio = devicePixelRatio, texts = x.map((_, i) => rough(rows.map(row => row[i]).find(v => v != null) ?? 0));
  const wide = x.length > 1 ? Math.abs(u.valToPos(x[1], 'x', true) - u.valToPos(x[0], 'x', true)) : u.bbox.width;
  g.save();
  g.font = 11 * ratio + 'px system-ui, sans-serif';
  g.fillStyle = '#444';
  g.textAlign = 'center';
  g.textBaseline = 'alphabetic';
  const ways = [texts.map(text => [text]), texts.map(text => text.split(' '))];
  const lines = ways.find(way => way.flat().every(line => g.measureText(line).width < wide - 3 * ratio));
  if (lines) rows.forEach(row => row.forEach((v, i) => {
    if (v == null) return;
    const left = u.valToPos(x[i], 'x', true), bottom = u.valToPos(v, 'y', true) - 4 * ratio;
    lines[i].forEach((line, k) => g.fillText(line, left, bottom - (lines[i].length - 1 - k) * 12 * ratio));
  }));
  g.restore();
}

// ---- the machine ----

// A row: [job, start, end, first processor, processors, how it was started, wait, user, result].
const [ID, START, END, FIRST, COUNT, HOW, WAIT, USER, RESULT] = [0, 1, 2, 3, 4, 5, 6, 7, 8];
const below = (bounds, v) => { const i = bounds.findIndex(b => v < b); return i < 0 ? bounds.length : i; };
const WAITS = [1, 60, 600, 3600, 36000, 86400], SIZES = [2, 5, 17, 65, 257, 1025];
const STARTS = [['in turn', '#8fb3d1'], ['backfilled', '#e08214'], ['as reserved', '#3f9b6c']];
const RESULTS = [['completed', '#7fbf9b'], ['failed', '#c0392b'], ['cancelled', '#999999'], ['time limit', '#e69f00'], ['runs', '#56b4e9']];
const frequent = (() => {
  const used = new Map();
  for (const p of DATA.policies) for (const r of p.gantt) used.set(r[USER], (used.get(r[USER]) || 0) + r[COUNT] * (r[END] - r[START]));
  return [...used.keys()].filter(u => DATA.users[u]).sort((a, b) => used.get(b) - used.get(a) || a - b).slice(0, 7);
})();
const WAYS = [
  { name: 'wait', keys: () => [...WAITS.map((w, i) => ['below ' + rough(w), RAMP[i]]), ['longer', RAMP[WAITS.length]]], of: r => RAMP[below(WAITS, r[WAIT])] },
  { name: 'size', keys: () => [...SIZES.map((s, i) => [i ? SIZES[i - 1] + (s - 1 > SIZES[i - 1] ? '–' + (s - 1) : '') : '1', RAMP[i]]).filter((k, i) => !i || SIZES[i - 1] <= DATA.procs),
                               ...(DATA.procs >= SIZES[SIZES.length - 1] ? [['more', RAMP[SIZES.length]]] : [])], of: r => RAMP[below(SIZES, r[COUNT])] },
  { name: 'start', keys: () => STARTS, of: r => STARTS[r[HOW]][1] },
];
if (frequent.length > 1) WAYS.push({ name: 'user', keys: () => [...frequent.map((u, i) => [DATA.users[u], colour(i)]), ['others', '#cccccc']],
  of: r => { const i = frequent.indexOf(r[USER]); return i < 0 ? '#cccccc' : colour(i); } });
if (DATA.policies.some(p => p.gantt.some(r => r[RESULT]))) WAYS.push({ name: 'result', keys: () => RESULTS, of: r => RESULTS[r[RESULT]][1] });

function paintJobs(u, policy, way) {
  const g = u.ctx, box = u.bbox, px = v => u.valToPos(v, 'x', true), py = v => u.valToPos(v, 'y', true);
  const lo = u.scales.x.min * unit[0], hi = u.scales.x.max * unit[0], ratio = devicePixelRatio;
  g.save();
  g.beginPath();
  g.rect(box.left, box.top, box.width, box.height);
  g.clip();
  for (const r of policy.gantt) {
    if (r[END] < lo || r[START] > hi) continue;
    const x = px(inUnits(r[START])), wide = px(inUnits(r[END])) - x, y = py(r[FIRST] + r[COUNT]), tall = py(r[FIRST]) - y;
    const inset = wide > 5 * ratio && tall > 5 * ratio ? .6 * ratio : 0;
    g.fillStyle = way.of(r);
    g.fillRect(x + inset, y + inset, Math.max(.7 * ratio, wide - 2 * inset), Math.max(.7 * ratio, tall - 2 * inset));
  }
  g.restore();
}
function pointAt(u, policy, e) {
  const box = u.over.getBoundingClientRect(), t = u.posToVal(e.clientX - box.left, 'x') * unit[0], p = u.posToVal(e.clientY - box.top, 'y');
  const hit = policy.gantt.find(r => r[START] <= t && t < r[END] && r[FIRST] <= p && p < r[FIRST] + r[COUNT]);
  tip.style.display = hit ? 'block' : 'none';
  if (!hit) return;
  const who = DATA.users[hit[USER]], how = hit[RESULT] ? ', ' + RESULTS[hit[RESULT]][0] : '';
  tip.textContent = `job ${hit[ID]}${who ? ' of ' + who : ''}: ${hit[COUNT]} processor${hit[COUNT] === 1 ? '' : 's'}, ran ${span(hit[END] - hit[START])} from ${span(hit[START])} on, ` +
    `${STARTS[hit[HOW]][0]} after a wait of ${span(hit[WAIT])}${how}`;
  tip.style.left = Math.min(e.clientX + 12, innerWidth - 260) + 'px';
  tip.style.top = e.clientY + 12 + 'px';
}
DATA.policies.forEach(policy => figure('The machine' + (DATA.policies.length > 1 ? ' under ' + policy.name : ''), way => way.keys(),
  Math.min(460, Math.max(150, 60 + DATA.procs * 12)), (node, width, height, way) => {
    const u = new uPlot({ width, height, legend: { show: false }, cursor: { drag: { x: true, y: true, uni: 20 }, points: { show: false } },
      scales: { x: { time: false, range: (s, lo, hi) => zoomed(s, lo, hi, 0, inUnits(shown)) }, y: { range: (s, lo, hi) => lo === 0 && hi === 0 || hi <= lo ? [0, DATA.procs] : [lo, hi] } },
      axes: [timeAxis(), upAxis('processors', { incrs: INCREMENTS.filter(i => i >= 1) })],
      series: [{}, { show: true, stroke: 'transparent', points: { show: false } }],
      hooks: { drawAxes: [s => paintJobs(s, policy, way)] } }, [[0, inUnits(shown)], [0, DATA.procs]], node);
    u.keepsZoom = true;
    u.over.addEventListener('mousemove', e => pointAt(u, policy, e));
    u.over.addEventListener('mouseleave', () => tip.style.display = 'none');
    return u;
  }, WAYS));
const hint = document.createElement('p');
hint.className = 'note';
hint.textContent = 'Drag over a picture to look at a part of it; a double click shows all again. Jobs are drawn on the lowest processors that were free, not on those that they had.';
main.append(hint);

// ---- size ----

const redraw = () => plots.forEach(p => { if (p.node.clientWidth !== p.width) { p.width = p.node.clientWidth; p.draw(); } });
addEventListener('resize', () => requestAnimationFrame(redraw));
addEventListener('beforeprint', redraw);
matchMedia('print').addEventListener('change', redraw);
document.documentElement.dataset.drawn = String(plots.length);
