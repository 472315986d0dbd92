// Types filters into a page in one file: a line of JSON for each, {"check", "good", "seen"}. Arguments: the page, the filters
// as [{words, shown}] (shown: the ids of jobs in their order, null: the filter cannot be read), a folder for pictures, which is
// not used, and the folder of npm's packages.
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';

const [file, cases, , modules] = process.argv.slice(2);
const puppeteer = createRequire(`${modules}/`)('puppeteer-core');
const browser = await puppeteer.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'], headless: true });
process.on('exit', () => browser.process()?.kill());
const page = await browser.newPage();
await page.goto(`file://${file}`);
await page.waitForFunction(() => window.holonTime?.data?.bars.length > 0);
await page.keyboard.press('r');  // a row a job

const settled = words => {
  const [, rows, , filter] = window.holonTime.what.split('\n');
  return rows === 'jobs' && filter === words;
};
const type = words => page.$eval('#filter', (field, words) => { field.value = words; field.dispatchEvent(new Event('input', { bubbles: true })); }, words);
let bad = 0;
for (const { words, shown } of JSON.parse(readFileSync(cases, 'utf8'))) {
  if (!shown) {  // what is said is not of the filter before
    await type('');
    await page.waitForFunction(() => !document.querySelector('.none'));
  }
  await type(words);
  const seen = shown
    ? await page.waitForFunction(settled, { timeout: 10000 }, words).then(() => page.evaluate(() => window.holonTime.data.rows.map(([name]) => name)), error => error.message)
    : await page.waitForFunction(() => /exit: is followed|is no pattern/.test(document.querySelector('.none')?.innerText), { timeout: 10000 }).then(() => null, () => 'no error is said');
  const good = JSON.stringify(seen) === JSON.stringify(shown);
  if (!good) bad++;
  console.log(JSON.stringify({ check: `filter ${words}`, good, seen: { seen, shown } }));
}
await browser.close();
process.exit(bad ? 1 : 0);
