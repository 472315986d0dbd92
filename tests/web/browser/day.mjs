// Leaves the page open for a day of fast motion, uses it now and then, and looks at what has become of the tab: its memory, its
// elements, its listeners. Arguments: the page's address, the jobs that the day has, a folder for pictures ("-": none), and the
// folder of npm's packages.
import { look, until } from './looker.mjs';

const [address, jobs, pictures, modules] = process.argv.slice(2);
const { page, check, wait, has, picture, finish } = await look({ modules, pictures });
const kFaster = 3000;        // than a clock
const kPatience = 120000;    // ms for a part of the day: other programs may run here
const kMoreHeap = 3e6, kMoreElements = 300, kMoreListeners = 60;  // bytes; what a longer list has
const kMostKept = 100;       // nodes that are in no document any more

// The page's clock and timers run faster; frames come as ever.
await page.evaluateOnNewDocument(faster => {
  const Real = Date, began = Real.now(), later = setTimeout, again = setInterval;
  window.turns_ = 0;
  const counted = f => () => { window.turns_++; f(); };
  window.Date = class extends Real {
    constructor(...given) { super(...(given.length ? given : [window.Date.now()])); }
    static now() { return began + (Real.now() - began) * faster; }
  };
  window.setTimeout = (f, ms = 0) => later(counted(f), ms / faster);
  window.setInterval = (f, ms) => again(counted(f), ms / faster);
}, kFaster);

const devtools = await page.createCDPSession();
await devtools.send('HeapProfiler.enable');
const state = async () => {
  for (let i = 0; i < 2; i++) await devtools.send('HeapProfiler.collectGarbage');
  const { JSHeapUsedSize, Nodes, JSEventListeners, Documents } = await page.metrics();
  const where = await page.evaluate(() => Object.fromEntries(['.status', '.tree', '.time', '.queue', '.detail', '.failures'].map(region => [region, document.querySelector(region).querySelectorAll('*').length])));
  const drawn = await page.evaluate(() => { const all = document.createNodeIterator(document); let count = 0; while (all.nextNode()) count++; return count; });
  return { heap: JSHeapUsedSize, elements: Nodes, kept: Nodes - drawn, listeners: JSEventListeners, documents: Documents, where };
};
// Jobs that the list has, or has had: the newest number.
const newest = () => page.evaluate(() => Math.max(0, ...[...document.querySelectorAll('.space .row:not(.chosen)')].slice(0, 30).map(row => Number(row.innerText.split('\n')[0].replace('/', '')) || 0)));

// All that a person may do who comes by: rows, colours, a filter, the keys, a job, a child, dark and light.
const comeBy = async turn => {
  for (const key of ['r', 'c', 'j', 'j', '?', 'Escape', '+', 'ArrowLeft', 'n']) await page.keyboard.press(key);
  await page.evaluate(words => { const field = document.querySelector('#filter'); field.value = words; field.dispatchEvent(new Event('input', { bubbles: true })); }, turn % 2 ? 'failed' : '');
  await page.evaluate(() => document.querySelectorAll('#tree button')[1]?.click());
  await page.keyboard.press('Backspace');
  await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: turn % 2 ? 'dark' : 'light' }]);
};
// The same view, however it was left.
const settle = async () => {
  await page.keyboard.press('Escape');
  await page.evaluate(() => { document.querySelector('#tree button').click(); const field = document.querySelector('#filter'); field.value = ''; field.dispatchEvent(new Event('input', { bubbles: true })); });
  await wait('all is listed', () => document.querySelectorAll('.space .row').length > 10 && document.querySelectorAll('.failures li').length > 50 && document.querySelector('#tree .here').dataset.path === '/' && document.querySelector('#filter').value === '');
};

await page.setViewport({ width: 1280, height: 720 });
await page.goto(address);
await has('.list', '<img src=x');
let turn = 0, warm = null;
const passed = share => until(async () => { await comeBy(turn++); return await newest() >= jobs * share; }, kPatience);
check('a tenth of the day', await passed(.1), await newest());
await settle();
warm = await state();
for (const share of [.3, .5, .7, .9]) check(`${share * 10} tenths of the day`, await passed(share), await newest());
await page.keyboard.press('Escape');
await settle();
await wait('the whole day', jobs => document.querySelector('.space .row').innerText.includes(`${jobs}`) || [...document.querySelectorAll('.space .row')].some(row => row.innerText.includes(`/${jobs}\n`)), jobs);
// What was drawn a moment ago may not be collected yet; what is kept never is.
let end = null;
const isFlat = () => end.kept < kMostKept && end.heap < warm.heap + kMoreHeap && end.elements < warm.elements + kMoreElements && end.listeners < warm.listeners + kMoreListeners && end.documents <= warm.documents;
await until(async () => { end = await state(); return isFlat(); });
const turns = await page.evaluate(() => window.turns_);
check('its timers have run', turns > 100, turns);
check('memory, elements and listeners are as many as after a tenth of the day', isFlat(), [warm, end]);
check('markup was text', await page.evaluate(() => !document.querySelector('img') && document.querySelector('.space').innerText.includes('<img src=x onerror=hacked(1)>')));
await picture('day');
await finish(new URL(address).host);
