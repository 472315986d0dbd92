// Looks at the live page while a grant moves and a node is lost, and asks the test for the next thing to happen (a line {"do"}).
// Arguments: the page's address to change things at, a folder for pictures ("-": none), and the folder of npm's packages.
import { look } from './looker.mjs';

const [address, pictures, modules] = process.argv.slice(2);
const { page, check, wait, text, has, picture, accessible, scheme, chooseRow, finish } = await look({ modules, pictures });
const happens = what => console.log(JSON.stringify({ do: what }));
const open = path => page.click(`#tree button[data-path="${path}"]`);
const line = path => `#tree button[data-path="${path}"]`;
const lacks = (selector, words) => wait(`${selector} has no ${words}`, (selector, words) => !document.querySelector(selector).innerText.includes(words), selector, words);
// Lanes that are drawn as a child's, and the running bars that lie within them.
const given = lanes => wait(`C: a child has ${lanes} lanes`, lanes => window.holonTime?.data?.bars.filter(bar => bar[4] === 5 && bar[3] >= (window.holonTime.data.now - window.holonTime.data.from) / (window.holonTime.data.to - window.holonTime.data.from) * window.holonTime.data.width - 3).reduce((sum, bar) => sum + bar[1], 0) === lanes, lanes);

await page.setViewport({ width: 1280, height: 720 });
await page.goto(address);
await has('#tree', 'inner');
await given(2);
check('nothing is lent yet', !(await page.$('.bar.extra, .bar .lent')));

// ---- it gets more ----
happens('ask');
await has(line('/1'), '+1');
await has(line('/'), '1 lent');
check('B: what is extra stands beyond the frame', await page.$eval(line('/1'), row => { const [own, extra] = [...row.querySelectorAll('.bar')].map(bar => bar.getBoundingClientRect()); return extra.left >= own.right && Math.abs(own.width / extra.width - 2) < .1; }));
check('B: what is lent has an outline', Boolean(await page.$(`${line('/')} .bar .lent`)));
check('B: and is said', (await page.$eval(`${line('/1')} .cores`, bar => bar.title)).includes('2 its own, 1 extra'), await page.$eval(`${line('/1')} .cores`, bar => bar.title));
await has('#detail', 'Lent: 1 core');
await has('#detail', 'lent 1 core to /1 inner until');
check('D: who has its cores', /\/1 inner\s+3 cores, 1 of them lent/.test(await text('#detail')), await text('#detail'));
await given(3);
happens('wide');
await wait('C: a job of the child lies on its own and on the lent core', () => {
  const bars = window.holonTime.data.bars, lanes = bar => Array.from({ length: bar[1] }, (_, i) => bar[0] + i), of = kind => bars.filter(bar => bar[4] === kind), child = of(5).flatMap(lanes);
  const job = of(0).filter(bar => window.holonTime.data.subjects[bar[8]][1].includes('wide')).flatMap(lanes);
  return job.length === 3 && job.every(lane => child.includes(lane));
});
await picture('lent');
await accessible('lent');
await open('/1');
await has('.status', '3 cores');
await has('#detail', 'Beyond its own: 1 core');
await has('#detail', 'got 1 core until');
await has('#detail', '2 its own, 1 extra');
await picture('extra');
await scheme('dark');
await picture('extra-dark');
await accessible('extra, dark');
await scheme('light');

// ---- it is asked back, with a reason that is markup, and goes once its job is over ----
happens('recall');
await has('#detail', 'the instance above asks 1 core back: <img src=x onerror=hacked(1)>"><script>');
await has('#detail', ', asked back: ');
await picture('recalled');
happens('end wide');
await has('#detail', 'gave 1 core back');
await lacks('#detail', 'Beyond its own');
await lacks(line('/1'), '+1');
await has('.list', '<img src=x onerror=hacked(1)>');
await chooseRow('wide');
await has('#detail', '<script>hacked(2)</script>');
await page.keyboard.press('Escape');
await open('/');
await has('#detail', '1 core back from /1 inner');
await has('#detail', 'asked 1 core back from /1 inner');
await lacks('#detail', 'Lent:');
await given(2);
check('B: nothing is lent any more', !(await page.$('.bar.extra, .bar .lent')));

// ---- more is asked for than there is ----
happens('fill');
await wait('C: all is taken', () => /\b8 of 8\s+cores in use/.test(document.querySelector('.status').innerText.replace(/\s+/g, ' ')));
happens('ask in vain');
await has('.list', 'grant');
await open('/1');
await has('#detail', 'More was asked for');
await picture('asked');
await open('/');

// ---- a node with markup as the reason of its drain, and one that is lost ----
happens('drain');
await page.evaluate(() => { window.holonTime.zoom(0); });
// The bars of a new zoom come from the server: the job is not among them at once.
const nameOf = async job => (await page.waitForFunction(job => { const { bars, subjects, rows, band } = window.holonTime.data, bar = bars.find(bar => subjects[bar[8]][1].includes(job)); let lanes = 0; return bar && rows.find(([, own]) => (lanes += own) > bar[0] * band)?.[0]; }, {}, job)).jsonValue();
const node = await nameOf('elsewhere');
const place = await page.evaluate(node => { const view = window.holonTime, box = view.chart.over.getBoundingClientRect(), i = view.data.rows.findIndex(([name]) => name === node); return { x: box.left - 20, y: box.top + (view.rowTops[i] + .5) * view.laneHeight(box.height) }; }, node);
await page.mouse.click(place.x, place.y);
await has('#detail', 'drained');
await has('#detail', '<img src=x onerror=hacked(1)>');
await has('#detail', 'elsewhere');
await picture('drained');
happens('undrain');
await lacks('#detail', 'drained');
happens('lose');
await has('.status', '1 node down');
check('A: it is red', Boolean(await page.$('.status .alarm')));
await has('#detail', 'down');
await picture('lost');
await accessible('a node is lost');
happens('kill');
await has('.failures', 'died while the job ran');
await has('#detail', '0 jobs running');
await page.keyboard.press('Escape');
await chooseRow('elsewhere');
await has('#detail', 'died while the job ran');
await picture('lost-job');
await finish(new URL(address).host);
