// Looks at the live page in Debian's chromium, as a person would, and tells what it saw: a line of JSON for each check,
// {"check", "good", "seen"}. Arguments: the page's address, that to change things at, a folder for pictures ("-": none), and
// the folder of npm's packages.
import { look } from './looker.mjs';

const [address, writeAddress, pictures, modules] = process.argv.slice(2);
const { page, check, wait, text, has, picture, accessible, scheme, chooseRow, finish } = await look({ modules, pictures });
let bytes = 0;
page.on('response', response => { bytes += Number(response.headers()['content-length'] || 0); });
const settle = () => new Promise(done => setTimeout(done, 700));  // for pictures: nothing that is checked depends on it

// ---- first paint ----
await page.setViewport({ width: 1280, height: 720 });
await page.goto(address);
await has('.status', 'running');
// What is in the document is painted a frame later.
await wait('a first paint', () => performance.getEntriesByName('first-contentful-paint').length > 0);
const paint = await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0].startTime);
check('first paint', paint > 0 && paint < 10000, paint);
check('bytes of the page', bytes > 0 && bytes < 120 * 1024, bytes);

// ---- A to E, and failures ----
await has('.status', '8 cores');
check('A: counts', /\d+\s+running/.test(await text('.status')) && /\d+\s+failed/.test(await text('.status')), await text('.status'));
await has('#tree', 'inner');
await wait('C: bars', () => window.holonTime?.data?.bars.length > 3);
check('C: real nodes', await page.evaluate(() => window.holonTime.data.rows.length) >= 2, await page.evaluate(() => JSON.stringify(window.holonTime.data.rows)));
check('C: something is drawn', await page.evaluate(() => [...document.querySelectorAll('.time canvas')].pop().toDataURL().length) > 2000);
await has('.list', 'waiter');
await has('.failures', 'No such dataset');
check('F: three kinds', await page.$$eval('.failures li', all => all.length) >= 3, await text('.failures'));
check('F: markup is text', (await text('.failures')).includes('<script>'));
check('no button without the right', !(await page.$('.failures .act')));
await settle();
await picture('1280');
await accessible('1280');

// ---- a selection ----
await chooseRow('waiter');
await has('#detail', 'Why it waits');
check('D: why', (await text('#detail')).includes('Why it waits'), await text('#detail'));
await picture('waiting');
await chooseRow('loader');
await has('#detail', 'No such dataset');
check('D: life', (await text('#detail .life')).includes('running'), await text('#detail .life'));
await picture('failed');
await accessible('selected');

// ---- filters and keys ----
await page.keyboard.press('Escape');
await page.keyboard.press('/');
await page.keyboard.type('failed');
await wait('the filter leaves the failed ones', () => { const rows = [...document.querySelectorAll('.space [role=row]')]; return rows.length > 0 && rows.every(row => row.innerText.includes('failed')); });
await page.keyboard.type(' exit:x');
await has('.list', 'exit:');
await page.evaluate(() => { const field = document.querySelector('#filter'); field.value = ''; field.dispatchEvent(new Event('input', { bubbles: true })); });
await has('.list', 'waiter');
await page.keyboard.press('Escape');
for (const rows of ['jobs', 'instances', 'users']) {
  await page.keyboard.press('r');
  await wait(`rows: ${rows}`, rows => window.holonTime.what?.includes(rows) && window.holonTime.data.bars.length > 0, rows);
  await settle();
  await picture(`rows-${rows}`);
}
await page.keyboard.press('r');
await page.keyboard.press('c');
await wait('colour: user', () => window.holonTime.data?.colours.length && !window.holonTime.data.colours.includes('completed'));
for (let i = 0; i < 4; i++) await page.keyboard.press('c');
await page.keyboard.press('?');
check('help', await wait('help is drawn', () => document.querySelector('.help') !== null));
await picture('help');
await accessible('with the keys');
await page.keyboard.press('Escape');
await page.keyboard.press('j');
await page.keyboard.press('j');
await wait('j selects', () => document.querySelector('.row.chosen'));
const span = () => page.evaluate(() => window.holonTime.window[1] - window.holonTime.window[0]);
const before = await span();
await page.keyboard.press('+');
check('+ zooms', await span() < before);
const box = await (await page.$$('.plot .u-over'))[1].boundingBox();
const from = await page.evaluate(() => window.holonTime.window[0]);
await page.mouse.move(box.x + 300, box.y + 60);
await page.mouse.down();
await page.mouse.move(box.x + 400, box.y + 60, { steps: 5 });
await page.mouse.up();
check('a drag moves', await page.evaluate(() => window.holonTime.window[0]) < from);
await page.mouse.wheel({ deltaY: -240 });
await page.keyboard.press('n');

// ---- a bar and a node ----
await page.keyboard.press('Escape');
// The window stands still: what is clicked does not move away.
await page.evaluate(() => window.holonTime.show(...window.holonTime.window));
await wait('a bar to click', () => window.holonTime.data.bars.some(bar => bar[4] === 0));
await settle();
const spot = await page.evaluate(() => {
  const view = window.holonTime, data = view.data, bar = data.bars.filter(b => b[4] === 0 && b[3] - b[2] > 2).pop() || data.bars.find(b => b[4] === 0), over = view.chart.over, lane = view.laneHeight(over.clientHeight), box = over.getBoundingClientRect();
  const time = data.from + (bar[2] + bar[3]) / 2 * (data.to - data.from) / data.width;
  return { x: box.left + (time - view.window[0]) / (view.window[1] - view.window[0]) * box.width, y: box.top + (bar[0] + bar[1] / 2) * lane, left: box.left - 20 };
});
await page.mouse.move(spot.x, spot.y);
await wait('hovering tells', () => !document.querySelector('.tip').hidden && document.querySelector('.tip').innerText.includes(' to '));
await picture('hover');
await page.mouse.click(spot.x, spot.y);
await has('#detail', 'command');
await page.mouse.click(spot.left, spot.y);
await has('#detail', 'jobs ended here');
check('D: node', (await text('#detail')).includes('cores'), await text('#detail'));
await picture('node');

// ---- the child ----
await page.keyboard.press('Escape');
await page.click('#tree button[data-path]:not([data-path="/"])');
await has('.status', 'inner');
await has('.list', 'inside');
await picture('child');
await page.keyboard.press('Backspace');
await has('.status', '8 cores');

// ---- dark, and small ----
await scheme('dark');
await settle();
await chooseRow('loader');
await has('#detail', 'No such dataset');
await picture('dark');
await accessible('dark');
await scheme('light');
await page.keyboard.press('Escape');
await page.setViewport({ width: 600, height: 900 });
await settle();
await wait('600 px: nothing sideways', () => innerWidth === 600 && document.documentElement.scrollWidth <= innerWidth);
await wait('600 px: A, B, E under each other', () => ['.status', '#tree', '.queue', '.time'].map(name => document.querySelector(name).getBoundingClientRect().top).every((top, i, all) => i === 0 || top > all[i - 1]));
await picture('600');
await accessible('600');
await chooseRow('loader');
await has('#detail', 'No such dataset');
await picture('600-selected');
await accessible('600, selected');
await page.keyboard.press('?');
await wait('600 px: help', () => document.querySelector('.help')?.getBoundingClientRect().right <= innerWidth);
await accessible('600, with the keys');
await scheme('dark');
await picture('600-dark-help');
await accessible('600, dark, with the keys');
await page.keyboard.press('Escape');
await accessible('600, dark');
await scheme('light');

// ---- with the right to change ----
await page.setViewport({ width: 1280, height: 720 });
await page.goto(writeAddress);
await has('.list', 'waiter');
await wait('the buttons', () => document.querySelector('.failures .act'));
const all = () => page.$eval('#queue-title small', element => Number(element.innerText.replace(',', '')));
const jobs = await all();
await page.click('.failures .act');
await wait('retried', jobs => Number(document.querySelector('#queue-title small').innerText.replace(',', '')) > jobs, jobs);
await has('.said', 'holon retry');
await picture('retried');
await chooseRow('waiter');
await has('#detail', 'Cancel');
await page.click('#detail .act');
await wait('cancelled', () => document.querySelector('#detail .state')?.innerText === 'cancelled');
await picture('cancelled');
await accessible('with buttons');

await finish(new URL(address).host);
