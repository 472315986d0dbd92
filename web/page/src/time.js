// The middle of the page (C): utilization and waiting jobs over time, and below it, by the same axis, the jobs on their nodes.
// The server has put together what falls under one pixel; here it is drawn, moved and zoomed.
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { ask, at, choose, colour, filter, instances, now, rows, version } from './state.js';
import { axisTicks, clock, count, duration, tickText } from './format.js';

const kLeft = 96, kRight = 44, kMargin = 1;  // windows that are loaded beside the one that is seen
const kinds = ['', 'planned, until its limit', 'reserved', 'waits', 'advance reservation', 'with a child instance', 'lost: another job took its place'];
const ran = 0, planned = 1, reserved = 2, waited = 3, advance = 4, given = 5, lost = 6;
const kDay = 86400000, kShortest = 2000;  // ms

// By colour scheme: outcomes have names, other meanings the places of a palette.
const palettes = {
  light: { completed: '#3b7fb5', running: '#86bfe6', failed: '#c8391f', 'time limit': '#e08a00', cancelled: '#a0a4aa', waiting: '#c9ced6', text: '#51565e', grid: '#e6e8ec', now: '#c8391f', wall: '#20242a',
    others: ['#3b7fb5', '#e08a00', '#2f9e77', '#b2519b', '#8a6d3b', '#57b3d9', '#c8391f', '#7a7fd1', '#a0a4aa'], busy: '#3b7fb5', wait: '#e08a00', row: '#f4f5f7' },
  dark: { completed: '#4f93c9', running: '#a5d3f2', failed: '#ef6a4e', 'time limit': '#f0a83a', cancelled: '#7d838c', waiting: '#596069', text: '#a9b0ba', grid: '#2b3038', now: '#ef6a4e', wall: '#e4e7eb',
    others: ['#4f93c9', '#f0a83a', '#45b98f', '#cf78ba', '#b59458', '#79c8ea', '#ef6a4e', '#989de6', '#7d838c'], busy: '#4f93c9', wait: '#f0a83a', row: '#1d2127' },
};
const isDark = matchMedia('(prefers-color-scheme: dark)');
const palette = () => isDark.matches ? palettes.dark : palettes.light;
export const others = () => palette().others;
const colourOf = (names, index) => palette()[names[index]] || palette().others[index % palette().others.length];

export class TimeView {
  constructor(box, tip) {
    Object.assign(this, { box, tip });
    this.live = true;       // the window ends a little behind now, and moves along
    this.length = 0;        // of the window in ms; 0: all there is so far
    this.window = [now() - 3600000, now()];
    this.data = null;
    this.loading = false;
    this.frames = [];       // how long the last frames took to draw, for measurements
    isDark.addEventListener('change', () => { this.build(); this.draw(); });
    new ResizeObserver(() => this.resize()).observe(box);
    this.build();
  }

  size() {
    const width = Math.max(200, this.box.clientWidth), height = Math.max(120, this.box.clientHeight), top = Math.max(60, Math.min(110, height * .25));
    return { width, top, bottom: height - top };
  }
  resize() {
    const { width, top, bottom } = this.size();
    this.curves.setSize({ width, height: top });
    this.chart.setSize({ width, height: bottom });
    requestAnimationFrame(() => this.load());  // uPlot has its new size only then
  }

  build() {
    this.curves?.destroy();
    this.chart?.destroy();
    const { width, top, bottom } = this.size(), p = palette(), axis = { stroke: p.text, grid: { stroke: p.grid, width: 1 }, ticks: { show: false }, font: '11px system-ui, sans-serif' };
    const times = { ...axis, size: 22, space: 76, splits: (u, i, min, max, step) => axisTicks(min, max, step), values: (u, all, i, space, step) => all.map((time, n) => tickText(time, step, n === 0 || new Date(time).getDate() !== new Date(all[n - 1]).getDate())) };
    const common = { width, ms: 1, legend: { show: false }, cursor: { drag: { setScale: false, x: false, y: false }, points: { show: false }, y: false, sync: { key: 'time' } } };
    const scales = { x: { time: true, range: () => this.window } };
    this.curves = new uPlot({
      ...common, height: top, scales: { ...scales, percent: { range: [0, 100] }, jobs: { range: (u, low, high) => [0, Math.max(4, high * 1.1)] } }, padding: [6, 0, 0, 0],
      series: [{}, { scale: 'percent', stroke: p.busy, fill: `${p.busy}33`, width: 1, points: { show: false } }, { scale: 'jobs', stroke: p.wait, width: 1.25, points: { show: false } }],
      axes: [{ ...axis, show: true, size: 4, values: () => [] }, { ...axis, scale: 'percent', size: kLeft, splits: [0, 50, 100], values: (u, all) => all.map(v => `${v} %`), stroke: p.busy },
        { ...axis, scale: 'jobs', side: 1, size: kRight, grid: { show: false }, space: 26, stroke: p.wait, values: (u, all) => all.map(v => !Number.isInteger(v) ? '' : v < 10000 ? v : `${v / 1000}k`) }],
    }, [[], [], []], this.box);
    this.chart = new uPlot({
      ...common, height: bottom, scales: { ...scales, y: { range: [0, 1] } }, padding: [2, kRight, 0, 0], series: [{}, { points: { show: false } }],
      axes: [times, { ...axis, size: kLeft, values: () => [], grid: { show: false } }],
      hooks: { draw: [u => this.paint(u)], setCursor: [u => this.hover(u)] },
    }, [[], []], this.box);
    this.handle(this.chart.over);
    this.handle(this.curves.over);
    if (this.data) this.fill();
  }

  // ---- which part of time ----

  // Called once a second, and when something has changed.
  turn() {
    if (this.live) this.follow();
    this.load();
  }
  follow() {
    const to = now(), past = FROZEN ? .99 : .86, length = this.length || Math.max(FROZEN ? kShortest : 60000, (to - (this.data?.first ?? to - 600000)) * 1.01 / past);
    this.show(to - length * past, to + length * (1 - past), true);
  }
  show(from, to, live = false) {
    this.live = live;
    this.window = [from, to];
    if (!this.frame) this.frame = requestAnimationFrame(() => { this.frame = 0; this.draw(); });
    this.load();
  }
  draw() {
    const began = performance.now();
    const [min, max] = this.window;
    for (const plot of [this.curves, this.chart]) plot.batch(() => plot.setScale('x', { min, max }));
    this.frames.push(performance.now() - began);
    if (this.frames.length > 600) this.frames.shift();
  }
  zoom(length) {  // 0: all
    this.length = length;
    this.follow();
  }
  zoomAt(time, factor) {
    const [from, to] = this.window, length = Math.min(3650 * kDay, Math.max(kShortest, (to - from) * factor)), share = (time - from) / (to - from);
    this.show(time - share * length, time + (1 - share) * length);
  }

  handle(over) {
    let start = null;
    over.style.touchAction = 'pan-y';
    over.addEventListener('wheel', event => {
      event.preventDefault();
      this.zoomAt(this.timeAt(event), Math.exp(Math.max(-1, Math.min(1, event.deltaY / 240))));
    }, { passive: false });
    over.addEventListener('pointerdown', event => {
      start = { x: event.clientX, window: this.window, moved: false };
      over.setPointerCapture(event.pointerId);
    });
    over.addEventListener('pointermove', event => {
      if (!start) return;
      const shift = (start.x - event.clientX) / over.clientWidth * (start.window[1] - start.window[0]);
      this.dragged = start.moved ||= Math.abs(event.clientX - start.x) > 3;
      if (start.moved) this.show(start.window[0] + shift, start.window[1] + shift);
    });
    over.addEventListener('pointerup', event => {
      if (start && !start.moved && over === this.chart.over) this.click(event);
      start = null;
      this.dragged = false;
    });
    over.addEventListener('dblclick', () => this.zoom(0));
    over.addEventListener('mouseleave', () => { this.tip.hidden = true; });
  }
  timeAt(event) {
    const box = this.chart.over.getBoundingClientRect();
    return this.window[0] + (event.clientX - box.left) / box.width * (this.window[1] - this.window[0]);
  }

  // ---- what the server knows of it ----

  load() {
    const [from, to] = this.window, length = to - from, width = this.chart.over.clientWidth, height = this.chart.over.clientHeight;
    if (width < 10 || height < 10 || !instances.value.has(at.value)) return;
    const grid = Math.max(1, length / 50), first = Math.floor((from - kMargin * length) / grid) * grid, last = Math.ceil((to + kMargin * length) / grid) * grid;
    const what = [at.value, rows.value, colour.value, filter.value, width, height].join('\n');
    const moving = this.live && (instances.value.get(at.value)?.running > 0 || this.data?.version !== version.value);
    const due = !this.data || what !== this.what || this.data.version !== version.value || (moving && now() - this.data.now > Math.max(1000, length / 400));
    const outside = this.data && (from < this.data.from || to > this.data.to || length < (this.data.to - this.data.from) / (1 + 2 * kMargin) * .7 || length > (this.data.to - this.data.from) / (1 + 2 * kMargin) * 1.4);
    if (!due && !outside) return;
    if (this.loading) return void (this.again = true);
    const wait = what === this.what && !outside ? 250 - (Date.now() - this.loaded) : 0;
    if (wait > 0) return void (this.timer ||= setTimeout(() => { this.timer = 0; this.load(); }, wait));
    this.loading = true;
    ask('time', { at: at.value, rows: rows.value, colour: colour.value, filter: filter.value, from: Math.max(0, Math.round(first)), to: Math.round(last),
      width: Math.round(width * (last - first) / length), height: Math.round(height) }).then(data => {
      const fresh = !this.data;
      Object.assign(this, { data, what });
      this.fill();
      if (this.live && fresh) this.follow();
    }, () => {}).then(() => {
      this.loading = false;
      this.loaded = Date.now();
      if (this.again) { this.again = false; this.load(); }
    });
  }

  // The answer as series; bars are drawn by paint().
  fill() {
    const d = this.data, n = d.busy.length, step = (d.to - d.from) / n, x = d.busy.map((_, i) => d.from + (i + .5) * step), gone = i => Math.min(1, (d.now - d.from) / step - i), upToNow = (values, whole) => values.map((v, i) => gone(i) > 0 ? whole(v / gone(i)) : null);
    this.curves.setData([x, upToNow(d.busy, v => d.cores > 0 ? Math.min(100, v / d.cores * 100) : 0), upToNow(d.waiting, v => v)], false);
    this.chart.setData([[d.from, d.to], [0, 0]], false);
    // What a child has is behind what is in it; the others by their look (paint).
    d.bars.sort((a, b) => (b[4] === given) - (a[4] === given) || a[4] - b[4] || a[5] - b[5] || a[6] - b[6]);
    let lane = 0;
    this.rowTops = d.rows.map(([, lanes]) => { const top = lane / d.band; lane += lanes; return top; });
    this.rowTops.push(lane / d.band);
    const used = new Set(d.bars.filter(bar => bar[4] === ran).map(bar => bar[5]));
    const pale = [[planned, 'until its limit', .28], [given, 'a child has it', .18]].filter(([kind]) => d.bars.some(bar => bar[4] === kind));
    document.getElementById('legend').replaceChildren(...d.colours.flatMap((name, i) => used.has(i) ? [key(colourOf(d.colours, i), name)] : []), ...pale.map(([, name, alpha]) => key(palette().running, name, alpha)));
    this.draw();
  }

  laneHeight(height) { return Math.min(22, height / Math.max(1, this.data.bands)); }

  paint(u) {
    if (!this.data) return;
    const { ctx, bbox } = u, d = this.data, p = palette(), lane = this.laneHeight(bbox.height / devicePixelRatio) * devicePixelRatio, gap = lane > 5 * devicePixelRatio ? devicePixelRatio : 0;
    const scale = bbox.width / (this.window[1] - this.window[0]), pixel = (d.to - d.from) / d.width;
    const x = px => bbox.left + (d.from + px * pixel - this.window[0]) * scale;
    ctx.save();
    this.paintRows(ctx, bbox, lane, p);
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    // Whole pixels are several times quicker to fill than parts of them, and so are bars of one colour behind each other.
    let before = -1;
    for (const [y, lanes, x0, x1, kind, index, level] of d.bars) {
      const left = Math.round(x(x0)), right = Math.round(x(x1)), look = (kind * 256 + index) * 16 + level;
      if (right < bbox.left || left > bbox.left + bbox.width) continue;
      const top = Math.round(bbox.top + y * lane), width = Math.max(right - left - (right - left > 3 ? gap : 0), devicePixelRatio), height = Math.max(Math.round(bbox.top + (y + lanes) * lane) - top - gap, devicePixelRatio);
      if (look !== before) {
        before = look;
        ctx.globalAlpha = kind === planned ? .28 : kind === advance ? .25 : kind === given ? .18 : d.band > 1 ? .25 + .75 * level / 8 : 1;
        ctx.fillStyle = ctx.strokeStyle = kind === waited || kind === advance || kind === lost ? p.waiting : kind === reserved ? p.text : colourOf(d.colours, index);
      }
      if (kind === reserved) {
        ctx.setLineDash([3 * devicePixelRatio, 2 * devicePixelRatio]);
        ctx.strokeRect(left + .5, top + .5, width - 1, height - 1);
        ctx.setLineDash([]);
      } else if (kind === waited) {
        ctx.fillRect(left, top + height / 2 - devicePixelRatio, width, 2 * devicePixelRatio);
      } else {
        ctx.fillRect(left, top, width, height);
      }
    }
    ctx.globalAlpha = 1;
    for (const [time, style, width] of [[now(), p.now, 1], [d.ends, p.wall, 3]]) {
      const at = Math.round(bbox.left + (time - this.window[0]) * scale);
      ctx.fillStyle = style;
      if (time > 0 && at >= bbox.left && at < bbox.left + bbox.width) ctx.fillRect(at, bbox.top, width * devicePixelRatio, bbox.height);
    }
    ctx.restore();
  }

  paintRows(ctx, bbox, lane, p) {
    ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
    ctx.textAlign = 'right';
    ctx.textBaseline = 'middle';
    let free = bbox.top - 1;
    this.data.rows.forEach(([name, , state], i) => {
      const top = bbox.top + this.rowTops[i] * lane, bottom = bbox.top + this.rowTops[i + 1] * lane, middle = (top + bottom) / 2;
      if (i % 2 === 0 && bottom - top > 3) {
        ctx.fillStyle = p.row;
        ctx.fillRect(bbox.left, top, bbox.width, bottom - top);
      }
      if (middle - 6 * devicePixelRatio < free) return;
      free = middle + 6 * devicePixelRatio;
      ctx.fillStyle = state === 'down' ? p.failed : state ? p['time limit'] : p.text;
      ctx.fillText(name.length > 16 ? `…${name.slice(-15)}` : name, bbox.left - 6 * devicePixelRatio, middle);
    });
  }

  // ---- what is under the pointer ----

  barAt(left, top) {
    const d = this.data;
    if (!d) return null;
    const y = top / this.laneHeight(this.chart.over.clientHeight), time = this.window[0] + left / this.chart.over.clientWidth * (this.window[1] - this.window[0]), px = (time - d.from) / (d.to - d.from) * d.width;
    const near = d.width / (d.to - d.from) * (this.window[1] - this.window[0]) / this.chart.over.clientWidth;
    return d.bars.findLast(([top, lanes, x0, x1]) => y >= top && y < top + lanes && px >= x0 - near && px <= x1 + near) || null;
  }
  hover(u) {
    // What is dragged is looked at, not asked: to place the tip costs a layout of the page.
    const { left, top } = u.cursor, bar = !this.dragged && left >= 0 && this.barAt(left, top);
    this.tip.hidden = !bar;
    if (!bar) return;
    const d = this.data, [, , x0, x1, kind, index, , n, subject] = bar, time = px => d.from + px * (d.to - d.from) / d.width, lane = bar[0] * d.band;
    let lanes = 0;
    const row = d.rows.find(([, own]) => (lanes += own) > lane)?.[0] || '';
    this.tip.replaceChildren(line('b', n > 1 ? `${count(n, 'job')}, one is ${d.subjects[subject][1]}` : d.subjects[subject][1]),
      line('span', `${kinds[kind] || d.colours[index]}; ${row}`), line('span', `${clock(time(x0))} ${kind === ran && index === d.colours.indexOf('running') ? 'until now' : `to ${clock(time(x1))}`}, ${duration(time(x1) - time(x0))}`));
    const box = this.box.getBoundingClientRect(), over = u.over.getBoundingClientRect();
    this.tip.style.left = `${Math.min(left + over.left - box.left + 12, this.box.clientWidth - 250)}px`;
    this.tip.style.top = `${top + over.top - box.top + (top > u.over.clientHeight / 2 ? -66 : 14)}px`;
  }
  click(event) {
    const box = this.chart.over.getBoundingClientRect(), bar = this.barAt(event.clientX - box.left, event.clientY - box.top);
    const path = bar && this.data.subjects[bar[8]][0];
    if (path) choose('job', path);
  }
  // The node whose name stands there.
  rowClick(event) {
    const box = this.chart.over.getBoundingClientRect();
    if (!this.data || event.clientX >= box.left || rows.value !== 'nodes') return;
    const y = (event.clientY - box.top) / this.laneHeight(box.height), i = this.rowTops.findIndex((top, n) => y >= top && y < this.rowTops[n + 1]);
    if (i >= 0 && this.data.rows[i]) choose('node', this.data.rows[i][0]);
  }
}

function line(tag, text) {
  const element = document.createElement(tag);
  element.textContent = text;
  return element;
}
function key(colour, text, alpha = 1) {
  const element = line('span', text), dot = document.createElement('i');
  Object.assign(dot.style, { background: colour, opacity: alpha });
  element.prepend(dot);
  return element;
}
