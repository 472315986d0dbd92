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

export function clock(ms, now = Date.now()) {
  if (!ms) return '';
  const d = new Date(ms), time = `${two(d.getHours())}:${two(d.getMinutes())}`;
  if (d.toDateString() === new Date(now).toDateString()) return `${time}:${two(d.getSeconds())}`;
  return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())} ${time}`;
}

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
