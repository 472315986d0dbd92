// Compares the page of fixed records with what is kept of it: pictures without any text, pixel by pixel, and the places of all
// texts. Glyphs differ between browsers; colours, bars and places do not: the font is that of an npm package, and the clock
// stands still. Arguments: the page's address, the time of its records (ms), the folder of what is kept, "keep" (make it anew)
// or "compare", a folder for pictures ("-": none), and the folder of npm's packages.
import { createRequire } from 'node:module';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { look } from './looker.mjs';

const [address, now, kept, mode, pictures, modules] = process.argv.slice(2), require = createRequire(`${modules}/`);
const { PNG } = require('pngjs'), { default: pixelmatch } = await import(require.resolve('pixelmatch'));
const { page, check, wait, has, picture, accessible, chooseRow, finish } = await look({ modules, pictures, args: ['--font-render-hinting=none', '--force-color-profile=srgb', '--force-device-scale-factor=1'] });

const kTile = 16, kMostOfATile = 40, kMostOfAll = 200;  // pixels that may differ: edges that another browser smooths otherwise
const font = weight => readFileSync(require.resolve(`@fontsource/dejavu-sans/files/dejavu-sans-latin-${weight}-normal.woff2`)).toString('base64');
const fonts = [400, 700].map(weight => `@font-face { font-family: Fixed; font-weight: ${weight}; src: url(data:font/woff2;base64,${font(weight)}); }`).join('\n');
const noText = '* { color: transparent !important; caret-color: transparent !important; } ::placeholder { color: transparent !important; }';

// The clock stands still, and texts of canvases are noted instead of drawn.
await page.evaluateOnNewDocument(now => {
  const Real = Date;
  window.Date = class extends Real {
    constructor(...given) { super(...(given.length ? given : [now])); }
    static now() { return now; }
  };
  const proto = CanvasRenderingContext2D.prototype, clear = proto.clearRect;
  proto.clearRect = function (...box) { this.canvas.texts = []; clear.apply(this, box); };
  proto.fillText = function (text, x, y) { (this.canvas.texts ||= []).push([`canvas: ${text}`, Math.round(x), Math.round(y)]); };
}, Number(now));
await page.setBypassCSP(true);
await page.emulateTimezone('UTC');
const media = scheme => page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }, { name: 'prefers-reduced-motion', value: 'reduce' }]);

const open = async (width, height, scheme) => {
  await media(scheme);
  await page.setViewport({ width, height });
  await page.goto(address);
  await page.addStyleTag({ content: `${fonts} * { font-family: Fixed !important; }` });
  await page.evaluate(() => document.fonts.ready);
  await has('.failures', 'No such dataset');
  await wait('the picture of time', () => window.holonTime?.data?.bars.length > 0 && Number(window.holonTime.what.split('\n')[4]) === window.holonTime.chart.over.clientWidth && !window.holonTime.loading && !window.holonTime.timer);
};
const frames = () => page.evaluate(async () => { for (let i = 0; i < 4; i++) await new Promise(done => requestAnimationFrame(done)); });

// [text, left, top, width, height] of all that can be seen, in the order of the document; of canvases without sizes.
const texts = () => page.evaluate(() => {
  const found = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), range = document.createRange();
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    range.selectNodeContents(node);
    const box = range.getBoundingClientRect(), words = node.data.trim();
    if (words && box.width > 0 && node.parentElement.tagName !== 'OPTION') found.push([words, ...[box.left, box.top, box.width, box.height].map(Math.round)]);
  }
  for (const canvas of document.querySelectorAll('canvas')) found.push(...canvas.texts || []);
  return found;
});
const shot = async () => {
  const style = await page.addStyleTag({ content: noText });
  await frames();
  const png = PNG.sync.read(Buffer.from(await page.screenshot()));
  await style.evaluate(element => element.remove());
  return png;
};

// How two pictures differ: pixels in all, and in the worst tile.
function difference(a, b) {
  if (a.width !== b.width || a.height !== b.height) return { all: Infinity, worst: Infinity };
  const diff = new PNG({ width: a.width, height: a.height }), all = pixelmatch(a.data, b.data, diff.data, a.width, a.height, { threshold: .06, diffMask: true }), tiles = new Map();
  for (let i = 3; i < diff.data.length; i += 4) {
    if (!diff.data[i]) continue;
    const pixel = (i - 3) / 4, tile = `${Math.floor(pixel % a.width / kTile)},${Math.floor(pixel / a.width / kTile)}`;
    tiles.set(tile, (tiles.get(tile) || 0) + 1);
  }
  const [where, worst] = [...tiles].sort((x, y) => y[1] - x[1])[0] || ['', 0];
  return { all, worst, where, diff };
}
const isAlike = ({ all, worst }) => all <= kMostOfAll && worst <= kMostOfATile;
const moved = (a, b) => a.length !== b.length ? [`${a.length} texts, kept are ${b.length}`, ...a.filter(one => !b.some(other => other[0] === one[0])).slice(0, 5)]
  : a.filter((one, i) => one[0] !== b[i][0] || one.slice(1).some((value, n) => Math.abs(value - b[i][n + 1]) > 1)).slice(0, 5);

const lines = all => `[\n${all.map(one => JSON.stringify(one)).join(',\n')}\n]\n`;
async function compare(name) {
  await frames();
  const seen = await shot(), found = await texts(), png = `${kept}/${name}.png`, json = `${kept}/${name}.json`;
  if (mode === 'keep') {
    mkdirSync(kept, { recursive: true });
    writeFileSync(png, PNG.sync.write(seen, { colorType: 2, deflateLevel: 9 }));
    writeFileSync(json, lines(found));
  }
  if (!check(`${name}: something is kept`, existsSync(png) && existsSync(json))) return;
  const before = PNG.sync.read(readFileSync(png)), { diff, ...how } = difference(seen, before), others = moved(found, JSON.parse(readFileSync(json, 'utf8')));
  check(`${name}: pixel by pixel`, isAlike(how), how);
  check(`${name}: every text is in its place`, others.length === 0, others);
  if (pictures !== '-' && diff) writeFileSync(`${pictures}/${name}-differs.png`, PNG.sync.write(diff));
  await picture(`fixed-${name}`);
  return { before, found };
}

await open(1280, 720, 'light');
await chooseRow('load');
await has('#detail', 'The end of its errors');
const { before, found } = await compare('1280') || {};

// What is compared would be seen: one bar in another colour, one panel two pixels further, one word another one.
if (before) {
  await page.evaluate(() => { const view = window.holonTime, bar = view.data.bars.findLast(bar => bar[4] === 0 && bar[3] - bar[2] > 12); bar[5] = bar[5] === 5 ? 2 : 5; view.draw(); });
  check('a bar of another colour is seen', !isAlike(difference(await shot(), before)));
  await open(1280, 720, 'light');
  await chooseRow('load');
  await has('#detail', 'The end of its errors');
  check('the same again is alike', isAlike(difference(await shot(), before)));
  await page.addStyleTag({ content: '.failures { transform: translateY(2px); }' });
  check('a panel two pixels further is seen', !isAlike(difference(await shot(), before)) && moved(await texts(), found).length > 0);
}

await open(1280, 720, 'dark');
await has('#detail', 'Lent: 1 core');
await compare('dark');
await accessible('fixed, dark');
await open(600, 1100, 'light');
await has('#tree', '1 lent');
await compare('600');
await finish(new URL(address).host);
