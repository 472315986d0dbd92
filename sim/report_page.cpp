#include "sim/report_page.hpp"

namespace holon::sim {

const std::string kReportHead = R"(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<style>
body { font: 14px/1.4 system-ui, sans-serif; margin: 2em auto; max-width: 1100px; color: #222; background: #fff; }
table { border-collapse: collapse; } th, td { padding: .2em .7em; border-bottom: 1px solid #ddd; text-align: right; }
th:first-child { text-align: left; } canvas { width: 100%; display: block; margin: .3em 0 1.2em; border: 1px solid #ccc; }
h2 { margin: 1.6em 0 .3em; font-size: 1.1em; } .key { margin-right: 1.2em; } .key i { display: inline-block; width: .9em;
height: .9em; margin-right: .3em; vertical-align: -.1em; } #tip { position: fixed; background: #222; color: #fff;
padding: .2em .6em; border-radius: 3px; font-size: 12px; pointer-events: none; display: none; }
</style>
)";

const std::string kReportTableHead =
    R"(<table><thead><tr><th rowspan="2">policy</th><th rowspan="2">jobs</th>
<th colspan="4">wait</th><th colspan="4">bounded slowdown</th><th rowspan="2">utilization</th>
<th rowspan="2">makespan</th><th rowspan="2">backfilled</th></tr>
<tr><th>mean</th><th>median</th><th>p95</th><th>max</th><th>mean</th><th>median</th><th>p95</th><th>max</th></tr></thead>
<tbody>
)";

const std::string kReportTableEnd = "</tbody></table>\n";

const std::string kReportScript = R"JS('use strict';
const COLOURS = ['#1f77b4', '#d62728', '#2ca02c', '#9467bd', '#ff7f0e', '#8c564b', '#17becf', '#7f7f7f'];
const colour = i => COLOURS[i % COLOURS.length];
function element(tag, parent, text) {
  const e = document.createElement(tag);
  if (text !== undefined) e.textContent = text;
  (parent || document.body).appendChild(e);
  return e;
}
function canvas(height) {
  const c = element('canvas');
  c.width = 1100 * devicePixelRatio; c.height = height * devicePixelRatio; c.style.height = height + 'px';
  const g = c.getContext('2d');
  g.scale(devicePixelRatio, devicePixelRatio);
  g.font = '11px system-ui, sans-serif';
  return { c, g, w: 1100, h: height };
}
function span(seconds) {
  return seconds >= 172800 ? (seconds / 86400).toFixed(1) + ' d' : seconds >= 7200 ? (seconds / 3600).toFixed(1) + ' h'
       : seconds >= 120 ? (seconds / 60).toFixed(1) + ' min' : seconds.toFixed(0) + ' s';
}
function legend() {
  const p = element('p');
  DATA.policies.forEach((policy, i) => {
    const k = element('span', p); k.className = 'key';
    element('i', k).style.background = colour(i);
    k.append(policy.name);
  });
}
const shown = Math.max(...DATA.policies.map(p => p.length), 1);
// Quarters of the time shown, below a drawing that ends at y.
function axis(g, w, y) {
  g.fillStyle = '#555';
  for (let i = 0; i <= 4; ++i) {
    const x = Math.min(w * i / 4, w - 1), text = i ? span(shown * i / 4) : '0';
    g.fillRect(x, y, 1, 4);
    g.fillText(text, i < 4 ? x + 3 : w - 48, y + 12);
  }
}
function curves(title, key, top) {
  element('h2', null, title);
  const { g, w, h } = canvas(160);
  const most = top || Math.max(1, ...DATA.policies.flatMap(p => p[key]));
  DATA.policies.forEach((policy, i) => {
    g.strokeStyle = colour(i); g.beginPath();
    policy[key].forEach((v, n, all) => {
      const x = (n + .5) / all.length * w * policy.length / shown, y = h - 14 - v / most * (h - 28);
      n ? g.lineTo(x, y) : g.moveTo(x, y);
    });
    g.stroke();
  });
  g.fillStyle = '#555'; g.fillText(most.toFixed(0), 4, 12);
  axis(g, w, h - 14);
}
function waits() {
  element('h2', null, 'Mean wait by processors of the job');
  const { g, w, h } = canvas(180);
  const sizes = [];
  DATA.policies.forEach(p => p.sizes.forEach(s => sizes.includes(s.size) || sizes.push(s.size)));
  const rank = s => s.startsWith('>') ? Infinity : parseInt(s);
  sizes.sort((a, b) => rank(a) - rank(b));
  const most = Math.max(1, ...DATA.policies.flatMap(p => p.sizes.map(s => s.wait)));
  const group = w / Math.max(1, sizes.length), bar = group * .8 / DATA.policies.length;
  sizes.forEach((size, s) => {
    DATA.policies.forEach((p, i) => {
      const found = p.sizes.find(x => x.size === size);
      if (!found) return;
      const tall = found.wait / most * (h - 40), x = s * group + group * .1 + i * bar;
      g.fillStyle = colour(i); g.fillRect(x, h - 18 - tall, bar - 1, tall);
      if (bar >= 40) { g.fillStyle = '#555'; g.fillText(span(found.wait), x, h - 21 - tall); }
    });
    g.fillStyle = '#222'; g.fillText(size, s * group + group * .1, h - 5);
  });
}
const tip = element('div'); tip.id = 'tip';
function gantt(policy) {
  element('h2', null, 'Machine under ' + policy.name + ' (darker: backfilled)');
  const h = Math.min(600, Math.max(120, DATA.procs * 12)), below = 16;
  const { c, g, w } = canvas(h + below);
  for (const [id, start, end, first, count, backfilled] of policy.gantt) {
    g.fillStyle = `hsl(${id * 47 % 360} ${backfilled ? '70% 40%' : '55% 65%'})`;
    g.fillRect(start / shown * w, first / DATA.procs * h, Math.max(.5, (end - start) / shown * w),
               Math.max(.5, count / DATA.procs * h));
  }
  axis(g, w, h);
  c.onmousemove = e => {
    const box = c.getBoundingClientRect();
    const t = (e.clientX - box.left) / box.width * shown, p = (e.clientY - box.top) / box.height * (h + below) / h * DATA.procs;
    const hit = policy.gantt.find(r => r[1] <= t && t < r[2] && r[3] <= p && p < r[3] + r[4]);
    tip.style.display = hit ? 'block' : 'none';
    if (!hit) return;
    tip.textContent = `job ${hit[0]}: processors ${hit[3]} to ${hit[3] + hit[4] - 1}, from ${hit[1]} to ${hit[2]} s`;
    tip.style.left = e.clientX + 12 + 'px'; tip.style.top = e.clientY + 12 + 'px';
  };
  c.onmouseleave = () => tip.style.display = 'none';
}
legend();
curves('Processors in use', 'busy', DATA.procs);
curves('Jobs waiting', 'queued');
waits();
DATA.policies.forEach(gantt);
)JS";

}  // namespace holon::sim
