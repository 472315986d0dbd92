// What the live page costs its browser, for web.py: a line of JSON. Arguments: the page's address, a folder of npm's packages that
// has puppeteer-core, and a command that submits a job and prints its number. Needs Debian's chromium.
import { execFileSync } from 'node:child_process';
import { createRequire } from 'node:module';

const [address, modules, ...submit] = process.argv.slice(2), puppeteer = createRequire(`${modules}/`)('puppeteer-core');
const browser = await puppeteer.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'], headless: true });
process.on('exit', () => browser.process()?.kill());
const page = await browser.newPage(), devtools = await page.createCDPSession();
const p = (all, share) => { const sorted = [...all].sort((a, b) => a - b); return Math.round(sorted[Math.floor(sorted.length * share)] * 10) / 10; };
const out = {};

// ---- the first look ----
let bytes = 0;
page.on('response', response => { bytes += Number(response.headers()['content-length'] || 0); });
await page.setViewport({ width: 1280, height: 720 });
await page.goto('about:blank');  // the browser itself has begun
await page.goto(address);
await page.waitForFunction(() => window.holonTime?.data?.bars.length > 0, { timeout: 60000 });
const paints = [];
for (let i = 0; i < 9; i++) {
  await page.goto(address);
  await page.waitForFunction(() => performance.getEntriesByName('first-contentful-paint').length > 0, { timeout: 60000 });
  paints.push(await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0].startTime));
  if (i === 0) bytes = 0;
  if (i === 1) out['bytes of the page'] = bytes;
}
Object.assign(out, { 'first paint, ms, median of 9': p(paints, .5), 'slowest': p(paints, .99) });

// ---- from an event to the screen ----
const shown = () => page.evaluate(() => Number(document.querySelector('#queue-title small')?.innerText.replaceAll(',', '') || 0));
await page.waitForFunction(() => Number(document.querySelector('#queue-title small')?.innerText.replaceAll(',', '')) > 0, { timeout: 60000 });
const delays = [];
for (let i = 0; i < 40; i++) {
  const before = await shown();
  await page.evaluate(before => {  // the frame in which the count is drawn
    window.seen_ = 0;
    const turn = () => {
      if (Number(document.querySelector('#queue-title small').innerText.replaceAll(',', '')) > before) window.seen_ = Date.now();
      else requestAnimationFrame(turn);
    };
    requestAnimationFrame(turn);
  }, before);
  const id = execFileSync(submit[0], submit.slice(1), { encoding: 'utf8' }).trim();
  await page.waitForFunction(() => window.seen_ > 0, { timeout: 60000 });
  delays.push(await page.evaluate(async id => window.seen_ - (await (await fetch(`job?path=/${id}`)).json()).job.t_submit, id));
}
Object.assign(out, { 'event to screen, ms, p50': p(delays, .5), 'event to screen, p95': p(delays, .95) });

// ---- frames while it is panned, and what they are made of ----
const box = await (await page.$$('.plot .u-over'))[1].boundingBox();
await page.evaluate(() => {
  window.frames_ = [];
  window.holonTime.frames.length = 0;
  let last = performance.now();
  const turn = now => { window.frames_.push(now - last); last = now; requestAnimationFrame(turn); };
  requestAnimationFrame(turn);
});
await page.tracing.start({ categories: ['devtools.timeline', 'disabled-by-default-devtools.timeline', 'toplevel', 'cc', 'blink', 'gpu', '__metadata'] });
await page.mouse.move(box.x + 500, box.y + 60);
await page.mouse.down();
for (let i = 0; i < 300; i++) await page.mouse.move(box.x + 500 - 200 * Math.sin(i / 15), box.y + 60);
await page.mouse.up();
const trace = JSON.parse(new TextDecoder().decode(await page.tracing.stop())).traceEvents;
const [between, drawing, bars] = await page.evaluate(() => [window.frames_, window.holonTime.frames, window.holonTime.data.bars.length]);
Object.assign(out, { frames: between.length, bars, 'between two frames, ms, p50': p(between, .5), 'between, p95': p(between, .95), 'our drawing, ms, p50': p(drawing, .5), 'our drawing, p95': p(drawing, .95) });

// The time of each kind of work that is in no other one, over all threads of the page and of the browser's own drawing.
const kinds = [['script', /^(FunctionCall|FireAnimationFrame|EventDispatch|RunMicrotasks|V8\.|MinorGC|MajorGC|TimerFire|EvaluateScript|Blink GC|BlinkGC)/], ['style and layout', /^(UpdateLayoutTree|Layout|ScheduleStyle|HitTest|Document::|LocalFrameView::(performLayout|updateStyle))/],
  ['paint', /^(PrePaint|Paint|Layerize|UpdateLayer|Commit|CompositingCommit|LocalFrameView|PaintArtifact|ProxyMain)/], ['raster', /^(RasterTask|RasterBufferProvider|Raster|ImageDecode|.*Canvas.*|.*[Rr]aster.*|DisplayItemList|SoftwareRenderer|.*SoftwareOutput.*|Display::|DrawFrame|.*Playback)/]];
const threads = new Map();
for (const event of trace) {
  if (event.ph !== 'X' || !(event.dur > 0)) continue;
  const thread = `${event.pid} ${event.tid}`;
  if (!threads.has(thread)) threads.set(thread, []);
  threads.get(thread).push(event);
}
const names = new Map();
for (const events of threads.values()) {
  const open = [];
  for (const event of events.sort((a, b) => a.ts - b.ts || b.dur - a.dur)) {
    while (open.length && open.at(-1).ts + open.at(-1).dur <= event.ts) open.pop();
    if (open.length) names.set(open.at(-1).name, names.get(open.at(-1).name) - event.dur);
    names.set(event.name, (names.get(event.name) || 0) + event.dur);
    open.push(event);
  }
}
const split = new Map();
for (const [name, us] of names) {
  const kind = kinds.find(([, pattern]) => pattern.test(name))?.[0] || 'the rest of the browser';
  split.set(kind, (split.get(kind) || 0) + us);
}
out['a frame, ms'] = Object.fromEntries([...split].map(([kind, us]) => [kind, Math.round(us / 100 / between.length) / 10]));
if (process.env.TRACE_NAMES) out.names = Object.fromEntries([...names].sort((a, b) => b[1] - a[1]).slice(0, 30).map(([name, us]) => [name, Math.round(us / 10 / between.length) / 100]));

// ---- memory ----
for (let i = 0; i < 2; i++) await devtools.send('HeapProfiler.collectGarbage');
const { JSHeapUsedSize, Nodes } = await page.metrics();
Object.assign(out, { 'heap of the tab, MB': Math.round(JSHeapUsedSize / 1e5) / 10, elements: Nodes });
console.log(JSON.stringify(out, null, 1));
await browser.close();
