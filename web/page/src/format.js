// Times, lengths and numbers as people read them; the same words as the commands have.
const two = n => String(n).padStart(2, '0');

export function duration(ms) {
  if (!(ms >= 0)) return '-';
  const s = ms / 1000;
  if (s < 10) return `${s.toFixed(s < 1 ? 2 : 1)}s`;
  if (s < 60) return `${Math.floor(s)}s`;
  if (s < 3600) return `${Math.floor(s / 60)}m${two(Math.floor(s % 60))}s`;
  if (s < 86400) return `${Math.floor(s / 3600)}h${two(Math.floor(s % 3600 / 60))}m`;
  return `${Math.floor(s / 86400)}d${two(Math.floor(s % 86400 / 3600))}h`;
}

// Where there is no clock on the wall, times count from this one: "2d 04:30:00".
let origin = null;
export const elapsedFrom = ms => { origin = ms; };
const kDay = 86400000;
const since = (ms, places) => { const s = Math.round((ms - origin) / 1000), d = Math.floor(s / 86400), time = [s % 86400 / 3600, s % 3600 / 60, s % 60].map(n => two(Math.floor(n))); return [d, time.slice(0, places).join(':')]; };

export function clock(ms, now = Date.now()) {
  if (!ms) return '';
  if (origin !== null) return since(ms, 3).map((part, i) => i ? part : part ? `${part}d` : '').filter(part => part).join(' ');
  const d = new Date(ms), time = `${two(d.getHours())}:${two(d.getMinutes())}`;
  if (d.toDateString() === new Date(now).toDateString()) return `${time}:${two(d.getSeconds())}`;
  return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())} ${time}`;
}

// Multiples of the step by the clock on the wall.
export function axisTicks(min, max, step) {
  const zone = origin ?? new Date(min).getTimezoneOffset() * 60000, all = [];
  for (let time = Math.ceil((min - zone) / step) * step + zone; time <= max; time += step) all.push(time);
  return all;
}
// A time at the axis, as finely as the steps are; the day where it begins.
export function tickText(time, step, withDay) {
  const places = step < 60000 ? 3 : 2;
  if (origin !== null) {
    const [d, text] = since(time, places);
    return step >= kDay ? `${d}d` : withDay && d ? `${d}d ${text}` : text;
  }
  const d = new Date(time), day = `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())}`;
  if (step >= kDay) return day;
  const text = [d.getHours(), d.getMinutes(), d.getSeconds()].map(two).slice(0, places).join(':');
  return withDay && day !== new Date().toLocaleDateString('sv') ? `${day} ${text}` : text;
}

// The path of the instance that has a job, or another instance; null of the root.
export const parent = path => path === '/' ? null : path.slice(0, path.lastIndexOf('/')) || '/';

export const number = n => n.toLocaleString('en');
export const count = (n, word) => `${number(n)} ${word}${n === 1 ? '' : 's'}`;

// What a state is called, and the class that colours it.
const words = {
  NEW: 'waiting', DEPEND: 'waits for jobs', PRIORITY: 'waiting', SCHED: 'waiting', RUN: 'running', CLEANUP: 'ending',
  COMPLETED: 'completed', FAILED: 'failed', CANCELED: 'cancelled', TIMEOUT: 'time limit', REJECTED: 'refused', SUSPENDED: 'suspended',
};
const classes = { RUN: 'running', CLEANUP: 'running', COMPLETED: 'completed', FAILED: 'failed', REJECTED: 'failed', TIMEOUT: 'limit', CANCELED: 'cancelled' };
export const stateWord = state => words[state] || state.toLowerCase();
export const stateClass = state => `state ${classes[state] || 'waiting'}`;
export const isOver = state => ['COMPLETED', 'FAILED', 'CANCELED', 'TIMEOUT', 'REJECTED', 'INACTIVE'].includes(state);
export const isBad = state => ['FAILED', 'TIMEOUT', 'REJECTED'].includes(state);
