// Looks at pages in one file, as holon report and holon simulate make them: a line of JSON for each check, {"check", "good",
// "seen"}. Arguments: the page of a campaign, that of three policies, that of a tree, that of many jobs under three policies,
// that of a job that lost a run of 10 s on all four processors, a folder for pictures ("-": none), and the folder of npm's
// packages.
import { look } from './looker.mjs';

const [campaign, policies, tree, many, preempted, pictures, modules] = process.argv.slice(2);
const looker = await look({ modules, pictures, files: true });
const { page, check, wait, text, has, accessible, scheme, finish } = looker, picture = name => looker.picture(name, true);
const open = async (file, width, height) => {
  await page.setViewport({ width, height });
  await page.goto(`file://${file}`);
  await wait('bars', () => window.holonTime?.data?.bars.length > 0);
};
// What is in the page, as its scripts read it.
const frozen = () => page.evaluate(async () => {
  const bytes = Uint8Array.from(atob(document.getElementById('frozen').textContent), c => c.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))).json();
});
// What lies under the curves: processors in use, and jobs waiting, times ms.
const areas = () => page.evaluate(() => {
  const { busy, waiting, from, to } = window.holonTime.data, under = means => means.reduce((sum, mean) => sum + mean, 0) / means.length * (to - from);
  return { busy: under(busy), waiting: under(waiting) };
});
const isNear = (a, b) => Math.abs(a - b) <= 1e-6 * Math.max(Math.abs(a), Math.abs(b));
const sideways = () => page.evaluate(() => document.documentElement.scrollWidth - innerWidth);

// ---- a campaign: its answers, failures, nodes ----
await open(campaign, 1280, 720);
await has('#detail', 'completed');
check('outcomes and core hours', /failed\s+4/.test(await text('#detail')) && (await text('#detail')).includes('core hours'), await text('#detail'));
check('failures by their last line', (await text('.failures')).includes('No such dataset: <west>') && /3 exit code 2/.test((await text('.failures')).replace(/\s+/g, ' ')), await text('.failures'));
check('clock times', /as of \d{4}-\d\d-\d\d \d\d:\d\d/.test(await text('.status')), await text('.status'));
check('real nodes', await page.evaluate(() => window.holonTime.data.rows.map(([name]) => name).join()) === 'node0,node1', await page.evaluate(() => JSON.stringify(window.holonTime.data.rows)));
check('colour by outcome', (await text('#legend')).includes('failed'), await text('#legend'));
check('an array is drawn as its tasks', await page.evaluate(() => window.holonTime.data.subjects.filter(([, label]) => label.includes('swept')).length) === 5, await page.evaluate(() => JSON.stringify(window.holonTime.data.subjects)));
check('the child has a line of its own', (await text('#tree')).includes('inner'), await text('#tree'));
await picture('report');
await accessible('report');
await page.keyboard.press('/');
await page.keyboard.type('failed name:load*');
await wait('the filter', () => { const rows = [...document.querySelectorAll('.space [role=row]')]; return rows.length === 3 && rows.every(row => row.innerText.includes('failed')); });
await page.click('.space [role=row]');
await has('#detail', 'exit code');
await page.keyboard.press('Escape');
await page.keyboard.press('Escape');
for (const rows of ['jobs', 'users']) {
  await page.keyboard.press('r');
  await wait(`rows: ${rows}`, rows => window.holonTime.what?.includes(rows) && window.holonTime.data.bars.length > 0, rows);
}
await page.evaluate(() => { const field = document.querySelector('#filter'); field.value = ''; field.dispatchEvent(new Event('input', { bubbles: true })); });
await page.click('#tree button:not(.here)');
await has('.list', 'inside');
await page.setViewport({ width: 600, height: 900 });
check('600 px: nothing sideways', await sideways() <= 0, await sideways());
await picture('report-600');
await accessible('report 600');

// ---- policies: who won ----
await open(policies, 1280, 720);
await has('#detail', 'won');
const span = () => page.evaluate(() => window.holonTime.window[1] - window.holonTime.window[0]);
const before = await span();
await page.keyboard.press('+');
check('+ zooms', await span() < before, [before, await span()]);
check('a part a policy', (await page.$$('#tree button')).length === 3, await text('#tree'));
check('the figures behind', /utilization/.test(await text('.figures')) && (await page.$$('.figures tbody tr')).length >= 3, await text('.figures'));
check('the winner is marked', (await page.$$('.figures .best')).length === 1 && (await text('.verdict')).startsWith((await text('.figures .best th')).trim()), await text('.figures .best'));
const { figures, parts } = await frozen();
const lengths = await page.$$eval('.sizes .length', cells => cells.map(cell => cell.querySelector('i').getBoundingClientRect().width / cell.getBoundingClientRect().width));
const waits = [...new Set(figures.flatMap(f => f.sizes.map(([size]) => size)))].flatMap(size => figures.map(f => f.sizes.find(s => s[0] === size)?.[2] || 0));
const scale = Math.max(...lengths) / Math.max(...waits);
check('bars are linear', new Set(waits).size > 2 && lengths.length === waits.length && lengths.every((length, i) => Math.abs(length - waits[i] * scale) < .01), [lengths, waits]);
await page.keyboard.press('n');
await wait('all in sight', first => window.holonTime.data.from <= first && window.holonTime.data.to >= window.holonTime.data.now, parts[0].first);
const { busy, waiting } = await areas(), [{ wait: [mean], jobs, utilization, makespan }] = figures;
check('the curves add up to what was used', isNear(busy, utilization * makespan * parts[0].instance.cores), [busy, utilization * makespan * parts[0].instance.cores]);
check('the curves add up to what was waited', isNear(waiting, mean * jobs), [waiting, mean * jobs]);
check('times without a clock', (await text('.status')).includes('since the first submission'));
await scheme('dark');
await picture('policies-dark');
await accessible('policies, dark');
await scheme('light');
await picture('policies');
const sheets = Buffer.from(await page.pdf({ format: 'A4' })).toString('latin1').match(/\/Type \/Page\n/g)?.length;
check('it prints on a few sheets', sheets >= 2 && sheets <= 8, sheets);
await page.setViewport({ width: 600, height: 900 });
await wait('600 px: drawn anew', () => window.holonTime.box.clientWidth < 600 && window.holonTime.data.bars.length > 0);
check('600 px, policies: nothing sideways', await sideways() <= 0, await sideways());
const reached = await page.$eval('.figures .wide', wide => { wide.scrollLeft = wide.scrollWidth; return [...wide.querySelectorAll('tr')].map(row => { const last = row.lastElementChild.getBoundingClientRect(); return last.left >= 0 && last.right <= innerWidth + 1; }); });
check('600 px, policies: the last column of the table is reached', reached.length === 4 && reached.every(Boolean), reached);
await picture('policies-600');
await accessible('policies 600');
await page.setViewport({ width: 1280, height: 720 });
const other = '#tree button:not(.here)';
const name = await text(`${other} .name`);
await page.click(other);
await has('.status', name.trim());

// ---- a tree: its grants ----
await open(tree, 1280, 720);
await wait('grants first', () => window.holonTime.data.colours.join() === 'owned,borrowed,lent');
check('a row an instance', await page.evaluate(() => window.holonTime.data.rows.map(([name]) => name).join()) === 'root,a,b', await page.evaluate(() => JSON.stringify(window.holonTime.data.rows)));
check('somebody borrowed', await page.evaluate(() => window.holonTime.data.bars.some(bar => bar[5] === 1)));
await picture('tree');

// ---- many jobs ----
await open(many, 1280, 720);
await wait('30,000 jobs', () => /30,000\s+jobs/.test(document.querySelector('.status').innerText));
// The picture once it has not changed for some frames.
const still = () => page.evaluate(async () => {
  const view = window.holonTime, canvas = view.chart.root.querySelector('canvas'), frame = () => new Promise(done => requestAnimationFrame(done));
  for (let before = '', same = 0; same < 20;) {
    await frame();
    const now = canvas.toDataURL();
    same = now === before && !view.loading && !view.timer ? same + 1 : 0;
    before = now;
  }
  return canvas.toDataURL();
});
await wait('drawn as finely as the window', () => Number(window.holonTime.what.split('\n')[4]) === window.holonTime.chart.over.clientWidth);
const whole = await still(), wholeSpan = await span();
const over = await page.evaluate(() => { const box = window.holonTime.chart.over.getBoundingClientRect(); return { x: box.left + .4 * box.width, y: box.top + .4 * box.height }; });
await page.mouse.move(over.x, over.y);
for (let i = 0; i < 8; i++) await page.mouse.wheel({ deltaY: -240 });
await wait('the wheel zooms', span => window.holonTime.window[1] - window.holonTime.window[0] < span / 100, wholeSpan);
const part = await still();
check('a part differs from the whole', part !== whole && await page.evaluate(() => window.holonTime.data.bars.length > 0));
await picture('many');
await page.mouse.click(over.x, over.y, { count: 2 });
await page.mouse.move(5, 5);
await page.keyboard.press('Escape');
check('a double click shows all again', await still() === whole);

// ---- a run that was lost ----
await open(preempted, 1280, 720);
await wait('drawn as finely as the window', () => Number(window.holonTime.what.split('\n')[4]) === window.holonTime.chart.over.clientWidth);
check('what was lost was busy', isNear((await areas()).busy, 4 * 100 * 1000), await areas());
check('and is drawn', await page.evaluate(() => window.holonTime.data.bars.filter(bar => bar[4] === 6).length) === 1, await page.evaluate(() => JSON.stringify(window.holonTime.data.bars)));
check('and so are the others, the second one first', await page.evaluate(() => window.holonTime.data.bars.filter(bar => bar[4] === 0).length) === 2, await page.evaluate(() => JSON.stringify(window.holonTime.data.bars)));
await picture('preempted');

await finish();
