// Looks at pages in one file, as holon report and holon simulate make them: a line of JSON for each check, {"check", "good",
// "seen"}. Arguments: the page of a campaign, that of three policies, that of a tree, a folder for pictures ("-": none), and the
// folder of npm's packages.
import { createRequire } from 'node:module';
import { mkdirSync, readFileSync } from 'node:fs';

const [campaign, policies, tree, pictures, modules] = process.argv.slice(2);
const require = createRequire(`${modules}/`);
const puppeteer = require('puppeteer-core');
const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

let bad = 0;
const check = (name, good, seen = '') => {
  if (!good) bad++;
  console.log(JSON.stringify({ check: name, good: Boolean(good), seen }));
};
const browser = await puppeteer.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'], headless: true });
process.on('exit', () => browser.process()?.kill());
const page = await browser.newPage();
const asked = [], errors = [];
page.on('request', request => asked.push(request.url()));
page.on('pageerror', error => errors.push(error.message));
page.on('console', message => { if (message.type() === 'error') errors.push(message.text()); });

const wait = (what, test, ...args) => page.waitForFunction(test, { timeout: 20000 }, ...args).then(() => check(what, true), () => check(what, false, 'not in 20 s'));
const text = selector => page.$eval(selector, element => element.innerText).catch(() => '');
const has = (selector, words) => wait(`${selector} has ${words}`, (selector, words) => document.querySelector(selector)?.innerText.includes(words), selector, words);
const picture = async name => { if (pictures !== '-') { mkdirSync(pictures, { recursive: true }); await page.screenshot({ path: `${pictures}/${name}.png`, fullPage: true }); } };
const accessible = async name => {
  // The page lets nothing else run; the browser's own tools may.
  const found = await page.evaluate(`${axe}; axe.run(document, { resultTypes: ['violations'] })`);
  check(`axe: ${name}`, found.violations.length === 0, found.violations.map(v => `${v.id}: ${v.nodes.slice(0, 3).map(n => n.html.slice(0, 120)).join(' | ')}`));
};
const open = async (file, width, height) => {
  await page.setViewport({ width, height });
  await page.goto(`file://${file}`);
  await wait('bars', () => window.holonTime?.data?.bars.length > 0);
};
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
const lengths = await page.$$eval('.sizes tr', rows => rows.map(row => [row.querySelector('i').getBoundingClientRect().width, row.lastElementChild.innerText]));
check('bars are linear', lengths.length > 1, lengths);
check('times without a clock', (await text('.status')).includes('since the first submission'));
await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: 'dark' }]);
await picture('policies-dark');
await accessible('policies, dark');
await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: 'light' }]);
await picture('policies');
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

check('no request but for the files', asked.every(url => url.startsWith('data:') || url.startsWith('file:')), asked.filter(url => !url.startsWith('data:') && !url.startsWith('file:')));
check('no error of a script', errors.length === 0, errors.slice(0, 5));
await browser.close();
process.exit(bad ? 1 : 0);
