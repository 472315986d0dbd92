// What the scripts of this folder have in common: a browser with one page, and checks, each of which is a line of JSON
// {"check", "good", "seen"}. A request to another host, an error of a script, a dialog or a call of window.hacked() is a bad one.
import { createRequire } from 'node:module';
import { mkdirSync, readFileSync } from 'node:fs';

const kPatience = 60000;  // ms: other programs may run on the machine

// `modules`: the folder of npm's packages; `pictures`: where they go, "-": nowhere; `files`: pages are files, not a server's.
export async function look({ modules, pictures = '-', files = false, args = [] }) {
  const require = createRequire(`${modules}/`), axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
  const browser = await require('puppeteer-core').launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', ...args], headless: true });
  process.on('exit', () => browser.process()?.kill());
  const page = await browser.newPage(), asked = [], errors = [];
  let bad = 0;
  const check = (name, good, seen = '') => {
    if (!good) bad++;
    console.log(JSON.stringify({ check: name, good: Boolean(good), seen }));
    return Boolean(good);
  };
  page.on('request', request => asked.push(request.url()));
  page.on('pageerror', error => errors.push(error.message));
  page.on('console', message => { if (message.type() === 'error' && !message.text().includes('status of 400')) errors.push(message.text()); });
  page.on('dialog', dialog => { errors.push(`a dialog: ${dialog.message()}`); dialog.dismiss(); });
  await page.exposeFunction('hacked', from => { errors.push(`something was executed: ${from}`); });

  const wait = (what, test, ...args) => page.waitForFunction(test, { timeout: kPatience }, ...args).then(() => check(what, true), () => check(what, false, `not in ${kPatience / 1000} s`));
  const text = selector => page.$eval(selector, element => element.innerText).catch(() => '');
  const has = async (selector, words) => {
    const good = await page.waitForFunction((selector, words) => document.querySelector(selector)?.innerText.includes(words), { timeout: kPatience }, selector, words).then(() => true, () => false);
    return check(`${selector} has ${words}`, good, good ? '' : await text(selector));
  };
  const picture = async (name, fullPage = false) => {
    if (pictures === '-') return;
    mkdirSync(pictures, { recursive: true });
    await page.screenshot({ path: `${pictures}/${name}.png`, fullPage });
  };
  // The page lets nothing else run; the browser's own tools may.
  const accessible = async name => {
    const found = await page.evaluate(`${axe}; axe.run(document, { resultTypes: ['violations'] })`);
    return check(`axe: ${name}`, found.violations.length === 0, found.violations.map(v => `${v.id}: ${v.nodes.slice(0, 3).map(n => n.html.slice(0, 120)).join(' | ')}`));
  };
  const scheme = value => page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value }]);
  // A click at the row of the list that has these words.
  const chooseRow = async words => {
    const find = words => [...document.querySelectorAll('.space [role=row]')].find(row => row.innerText.includes(words)) || null;
    if (await wait(`a row with ${words}`, find, words)) await (await page.evaluateHandle(find, words)).asElement().click();
  };
  // Ends the script; `host` may be asked.
  const finish = async host => {
    const others = asked.filter(url => !url.startsWith('data:') && (files ? !url.startsWith('file:') : new URL(url).host !== host));
    check('no request to another host', others.length === 0, others);
    check('no error of a script, and nothing executed', errors.length === 0, errors.slice(0, 5));
    await browser.close();
    process.exit(bad ? 1 : 0);
  };
  return { browser, page, check, wait, text, has, picture, accessible, scheme, chooseRow, finish };
}

// Looks again until `test` holds, for what is seen from outside of the page; `patience` in ms.
export async function until(test, patience = kPatience) {
  const end = Date.now() + patience;
  while (Date.now() < end) {
    if (await test()) return true;
    await new Promise(done => setTimeout(done, 20));
  }
  return false;
}
