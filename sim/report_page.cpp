#include "sim/report_page.hpp"

namespace holon::sim {

const std::string kReportHead = R"(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<style>
body { font: 14px/1.45 system-ui, sans-serif; margin: 0; color: #222; background: #fff; }
main { max-width: 1100px; margin: 2em auto; padding: 0 1.2em; }
h1 { font-size: 1.5em; margin: 0 0 .3em; overflow-wrap: anywhere; } h2 { font-size: 1.1em; margin: 0 0 .3em; break-after: avoid; }
dl { display: flex; flex-wrap: wrap; gap: .1em 1.6em; margin: 0 0 1.2em; color: #555; }
dl div { display: flex; gap: .4em; min-width: 0; } dt { color: #777; } dd { margin: 0; color: #222; overflow-wrap: anywhere; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-variant-numeric: tabular-nums; width: 100%; }
th, td { padding: .25em .5em; border-bottom: 1px solid #ddd; text-align: right; white-space: nowrap; }
thead th { font-weight: 600; vertical-align: bottom; } th[colspan] { text-align: center; } th:first-child { text-align: left; }
.note { color: #666; font-size: .92em; max-width: 75em; } figure { margin: 1.8em 0 0; break-inside: avoid; }
figure svg, figure canvas { display: block; width: 100%; } .key { margin-right: 1.4em; white-space: nowrap; }
.key i { display: inline-block; width: .9em; height: .9em; margin-right: .35em; vertical-align: -.1em; }
.keys { margin: .2em 0 .4em; color: #444; } text { font: 11px system-ui, sans-serif; fill: #555; }
#tip { position: fixed; background: #222; color: #fff; padding: .2em .6em; border-radius: 3px; font-size: 12px;
pointer-events: none; display: none; max-width: 30em; }
@media print { main { margin: 0; max-width: none; } table { font-size: 75%; } .wide { overflow: visible; } th, td { padding: .2em .35em; } * { print-color-adjust: exact; -webkit-print-color-adjust: exact; } }
</style>
)";

const std::string kReportTableHead =
    R"(<div class="wide"><table><thead><tr><th rowspan="2">policy</th><th rowspan="2">jobs</th>
<th colspan="4">wait</th><th colspan="4">bounded slowdown</th><th rowspan="2">utili-<br>zation</th>
<th rowspan="2">makespan</th><th rowspan="2">back-<br>filled</th><th rowspan="2">over-<br>taking</th></tr>
<tr><th>mean</th><th>median</th><th>95 %</th><th>max</th><th>mean</th><th>median</th><th>95 %</th><th>max</th></tr></thead>
<tbody>
)";

const std::string kReportTableEnd = R"(</tbody></table></div>
<p class="note">Wait: from submission to start. Bounded slowdown: (wait + run) / run, at least 1, runs shorter than 10 s taken as
10 s. 95 %: so many jobs have no more. Utilization: of the processors' time until the last end. Backfilled: started by backfill, in
front of a job that could not start. Overtaking: started while a job that was submitted earlier still waited; a policy that plans every
job, as conservative does, lets jobs overtake that it does not count as backfilled.</p>
)";

const std::string kReportScript = R"JS('use strict';
const COLOURS = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9', '#6a3d9a', '#7f7f7f'];
const HOW = [['in turn', ['#8fb3d1', '#b3cde0']], ['backfilled', ['#e08214', '#f0a94c']], ['as reserved', ['#3f9b6c', '#74bd95']]];
const LEFT = 58, RIGHT = 14;
const colour = i => COLOURS[i % COLOURS.length];
const escaped = text => String(text).replace(/[&<>"]/g, c => '&#' + c.charCodeAt(0) + ';');
const shown = Math.max(...DATA.policies.map(p => p.length), 1);
const main = document.querySelector('main'), tip = document.getElementById('tip');

const UNITS = [[86400, 'days', [1, 2, 5, 10, 20, 50, 100, 200, 500]], [3600, 'hours', [1, 2, 3, 6, 12, 24]],
               [60, 'minutes', [1, 2, 5, 10, 15, 30]], [1, 'seconds', [1, 2, 5, 10, 20, 30, 60]]];
// The largest unit of which three fit into the time shown.
const unit = UNITS.find(u => shown >= 3 * u[0]) || UNITS[3];
function span(seconds) {
  const s = Math.round(seconds), d = Math.floor(s / 86400), h = Math.floor(s / 3600) % 24, m = Math.floor(s / 60) % 60;
  if (d) return d + ' d' + (h ? ' ' + h + ' h' : '');
  if (h) return h + ' h' + (m ? ' ' + m + ' min' : '');
  return m ? m + ' min' + (s % 60 ? ' ' + s % 60 + ' s' : '') : s + ' s';
}
function rough(seconds) {
  const u = UNITS.find(u => seconds >= u[0]) || UNITS[3], n = seconds / u[0];
  return (n < 10 && u[0] > 1 ? n.toFixed(1) : Math.round(n)) + ' ' + { days: 'd', hours: 'h', minutes: 'min', seconds: 's' }[u[1]];
}
function rounded(most, count) {
  const raw = most / Math.max(count, 1), power = 10 ** Math.floor(Math.log10(raw)), m = raw / power;
  return Math.max(1, (m <= 1 ? 1 : m <= 2 ? 2 : m <= 5 ? 5 : 10) * power);
}
function timeTicks(width) {
  const most = shown / unit[0], wanted = most / Math.max(2, width / 90);
  const step = unit[2].find(s => s >= wanted) || rounded(most, width / 90), ticks = [];
  for (let t = 0; t <= most * 1.0001; t += step) ticks.push(t);
  return ticks;
}
function timeAxis(width, height, bottom, name) {
  const x = t => LEFT + t * unit[0] / shown * (width - LEFT - RIGHT);
  let out = timeTicks(width - LEFT - RIGHT).map(t => `<line x1="${x(t)}" x2="${x(t)}" y1="6" y2="${bottom + 4}" stroke="#e4e4e4"/>` +
    (name ? `<text x="${x(t)}" y="${bottom + 16}" text-anchor="middle">${t}</text>` : '')).join('');
  if (name) out += `<text x="${(LEFT + width - RIGHT) / 2}" y="${bottom + 31}" text-anchor="middle">${unit[1]} since the first submission</text>`;
  return out;
}
const grid = (width, y, text) => `<line x1="${LEFT}" x2="${width - RIGHT}" y1="${y}" y2="${y}" stroke="#e4e4e4"/>` +
  `<text x="${LEFT - 6}" y="${y + 4}" text-anchor="end">${text}</text>`;
const upright = (height, text) => `<text transform="translate(12 ${height}) rotate(-90)" text-anchor="middle">${text}</text>`;
const svg = (width, height, inner) => `<svg viewBox="0 0 ${width} ${height}" height="${height}" role="img">${inner}</svg>`;
// Each value holds over a slice of the policy's length: a step, not a slope.
function steps(policy, key, width, y) {
  const all = policy[key], at = n => (LEFT + n / all.length * policy.length / shown * (width - LEFT - RIGHT)).toFixed(1);
  return all.map((v, n) => `${n ? 'V' : 'M' + at(0) + ' '}${y(v).toFixed(1)}H${at(n + 1)}`).join('');
}
function figure(title, keys, draw) {
  const f = document.createElement('figure');
  f.innerHTML = `<h2>${escaped(title)}</h2><div class="keys">${keys.map(k =>
    `<span class="key"><i style="background:${k[1]}"></i>${escaped(k[0])}</span>`).join('')}</div><div class="plot"></div>`;
  main.appendChild(f);
  const plot = f.querySelector('.plot');
  return () => draw(plot, Math.max(320, plot.clientWidth));
}
const policies = () => DATA.policies.map((p, i) => [p.name, colour(i)]);

// One strip a policy: drawn over each other they would hide each other.
function busy(plot, width) {
  const tall = 60, gap = 15, n = DATA.policies.length, bottom = 8 + n * (tall + gap) - gap;
  let inner = timeAxis(width, 0, bottom, true) + upright(bottom / 2, 'processors');
  DATA.policies.forEach((policy, i) => {
    const base = 8 + i * (tall + gap) + tall, y = v => base - v / DATA.procs * tall;
    const end = LEFT + policy.length / shown * (width - LEFT - RIGHT);
    inner += grid(width, base, '0') + grid(width, base - tall, DATA.procs) +
      `<path d="${steps(policy, 'busy', width, y)}V${base}H${LEFT}Z" fill="${colour(i)}" fill-opacity=".55"/>` +
      `<line x1="${end}" x2="${end}" y1="${base - tall}" y2="${base}" stroke="${colour(i)}"/>`;
  });
  plot.innerHTML = svg(width, bottom + 36, inner);
}
// Few and many jobs in one picture: the scale is that of the logarithm of 1 + jobs.
function queue(plot, width) {
  const top = 8, bottom = 190, most = Math.max(1, ...DATA.policies.flatMap(p => p.queued));
  const y = v => bottom - Math.log1p(v) / Math.log1p(most) * (bottom - top);
  let inner = timeAxis(width, 0, bottom, true) + upright((top + bottom) / 2, 'jobs waiting (log)') + grid(width, bottom, '0');
  for (let t = 1; t <= most; t *= 10) for (const v of [t, 3 * t])
    if (v <= most && (v === t || most < 2000)) inner += grid(width, y(v), v);
  DATA.policies.forEach((policy, i) => inner +=
    `<path d="${steps(policy, 'queued', width, y)}" fill="none" stroke="${colour(i)}" stroke-width="1.4" stroke-opacity=".85"/>`);
  plot.innerHTML = svg(width, bottom + 36, inner);
}
const MARKS = [[10, '10 s'], [60, '1 min'], [600, '10 min'], [3600, '1 h'], [36000, '10 h'], [86400, '1 d'], [864000, '10 d'], [8640000, '100 d']];
function waits(plot, width) {
  const top = 16, bottom = 200, sizes = [];
  DATA.policies.forEach(p => p.sizes.forEach(s => sizes.some(o => o.size === s.size) || sizes.push(s)));
  const rank = s => s.size.startsWith('>') ? Infinity : parseInt(s.size);
  sizes.sort((a, b) => rank(a) - rank(b));
  const most = Math.max(60, ...DATA.policies.flatMap(p => p.sizes.map(s => s.wait)));
  const y = v => bottom - Math.log1p(v) / Math.log1p(most) * (bottom - top);
  let inner = upright((top + bottom) / 2, 'mean wait (log)') + grid(width, bottom, '0'), labels = '';
  let free = bottom - 12;  // labels must not touch
  for (const [v, text] of MARKS)
    if (v <= most && y(v) <= free) inner += grid(width, y(v), text), free = y(v) - 12;
  const group = (width - LEFT - RIGHT) / Math.max(1, sizes.length), bar = group * .8 / DATA.policies.length;
  sizes.forEach((size, s) => {
    const left = LEFT + s * group + group * .1;
    DATA.policies.forEach((p, i) => {
      const found = p.sizes.find(o => o.size === size.size);
      if (!found) return;
      const x = left + i * bar, text = span(found.wait);
      inner += `<rect x="${x}" y="${y(found.wait)}" width="${Math.max(1, bar - 1)}" height="${bottom - y(found.wait)}" fill="${colour(i)}">` +
        `<title>${escaped(p.name)}, ${size.size} processors: ${text} (${found.jobs} jobs)</title></rect>`;
      if (bar >= rough(found.wait).length * 6)
        labels += `<text x="${x + bar / 2}" y="${y(found.wait) - 4}" text-anchor="middle">${rough(found.wait)}</text>`;
    });
    inner += `<text x="${left + group * .4}" y="${bottom + 16}" text-anchor="middle">${escaped(size.size)}</text>` +
      (group > 70 ? `<text x="${left + group * .4}" y="${bottom + 30}" text-anchor="middle">${size.jobs} jobs</text>` : '');
  });
  inner += `<text x="${(LEFT + width - RIGHT) / 2}" y="${bottom + 46}" text-anchor="middle">processors of the job</text>`;
  plot.innerHTML = svg(width, bottom + 52, inner + labels);
}
function gantt(policy, plot, width) {
  const h = Math.min(460, Math.max(90, DATA.procs * 12)), w = width - LEFT - RIGHT, scale = window.devicePixelRatio || 1;
  plot.innerHTML = `<div style="position:relative">${svg(width, h + 46, timeAxis(width, 0, h + 8, true) + upright(h / 2 + 8, 'processors') +
    grid(width, 8, '0') + grid(width, h + 8, DATA.procs))}<canvas style="position:absolute;left:${LEFT}px;top:8px;width:${w}px;height:${h}px"></canvas></div>`;
  const c = plot.querySelector('canvas'), g = c.getContext('2d');
  c.width = w * scale; c.height = h * scale; g.scale(scale, scale);
  for (const [id, start, end, first, count, how] of policy.gantt) {
    const wide = (end - start) / shown * w, tall = count / DATA.procs * h, inset = wide > 4 && tall > 4 ? .5 : 0;
    g.fillStyle = HOW[how][1][id % 2];
    g.fillRect(start / shown * w + inset, first / DATA.procs * h + inset, Math.max(.6, wide - 2 * inset), Math.max(.6, tall - 2 * inset));
  }
  c.onmousemove = e => {
    const box = c.getBoundingClientRect(), t = (e.clientX - box.left) / box.width * shown, p = (e.clientY - box.top) / box.height * DATA.procs;
    const hit = policy.gantt.find(r => r[1] <= t && t < r[2] && r[3] <= p && p < r[3] + r[4]);
    tip.style.display = hit ? 'block' : 'none';
    if (!hit) return;
    tip.textContent = `job ${hit[0]}: ${hit[4]} of its processors, ran ${span(hit[2] - hit[1])} from ${span(hit[1])} on, ` +
      `${HOW[hit[5]][0]} after a wait of ${span(hit[6])}`;
    tip.style.left = Math.min(e.clientX + 12, innerWidth - 260) + 'px'; tip.style.top = e.clientY + 12 + 'px';
  };
  c.onmouseleave = () => tip.style.display = 'none';
}
const drawings = [figure('Processors in use', policies(), busy), figure('Jobs waiting', policies(), queue),
                  figure('Mean wait by processors of the job', policies(), waits),
                  ...DATA.policies.map(p => figure('The machine under ' + p.name + ', each job by how it was started',
                    HOW.map(how => [how[0], how[1][0]]), (plot, width) => gantt(p, plot, width)))];
let last = 0;
function draw() {
  if (main.clientWidth === last) return;
  last = main.clientWidth;
  drawings.forEach(f => f());
}
addEventListener('resize', () => requestAnimationFrame(draw));
draw();
)JS";

}  // namespace holon::sim
