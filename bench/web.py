#!/usr/bin/env python3
"""web.py [BINARY] [--jobs N] [--viewers N] [--seconds N] [--browser MODULES]

What the live page costs: an instance with --jobs N jobs (100,000; a tenth of them is over or runs, the others wait) on 1,000 declared
nodes that starts and ends some a second; the processor time of its broker without a page, with one, and with --viewers N (50), each with a
stream of events, and every second the picture of time, the list, the failures and a job of its own; and what the server took for it. With --browser, a node_modules folder that has
puppeteer-core, also Debian's chromium: first paint, bytes, the heap of the tab, and how long a frame takes while it is panned.
"""
import argparse, json, os, re, shutil, socket, statistics, subprocess, sys, tempfile, threading, time

BROWSER = r"""
import { createRequire } from 'node:module';
const [address, modules] = process.argv.slice(-2), puppeteer = createRequire(`${modules}/`)('puppeteer-core');
const browser = await puppeteer.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--enable-precise-memory-info'], headless: true });
const page = await browser.newPage();
let bytes = 0;
page.on('response', response => { bytes += Number(response.headers()['content-length'] || 0); });
await page.setViewport({ width: 1280, height: 720 });
await page.goto(address);
await page.waitForFunction(() => window.holonTime?.data?.bars.length > 0, { timeout: 60000 });
const paint = await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0].startTime);
const out = { 'first paint, ms': paint, 'bytes until the picture': bytes };
await new Promise(done => setTimeout(done, 3000));
const box = await (await page.$$('.plot .u-over'))[1].boundingBox();
await page.evaluate(() => { window.frames_ = []; let last = performance.now(); const turn = now => { window.frames_.push(now - last); last = now; requestAnimationFrame(turn); }; requestAnimationFrame(turn); window.holonTime.frames.length = 0; });
await page.mouse.move(box.x + 500, box.y + 60);
await page.mouse.down();
for (let i = 0; i < 240; i++) await page.mouse.move(box.x + 500 - 200 * Math.sin(i / 15), box.y + 60);
await page.mouse.up();
const p = (all, share) => all.sort((a, b) => a - b)[Math.floor(all.length * share)];
const [between, drawing] = await page.evaluate(() => [window.frames_, window.holonTime.frames]);
Object.assign(out, { frames: between.length, 'between two frames, ms, p50': p(between, .5), 'p95': p(between, .95), 'drawing one, ms, p50': p(drawing, .5), 'drawing, p95': p(drawing, .95), bars: await page.evaluate(() => window.holonTime.data.bars.length) });
await page.evaluate(() => window.gc?.());
out['heap of the tab, MB'] = (await page.metrics()).JSHeapUsedSize / 1e6;
console.log(JSON.stringify(out));
await browser.close();
"""


class Instance:
    def __init__(self, binary, jobs):
        self.dir = tempfile.mkdtemp(prefix="holon-web-")
        self.holon = f"{self.dir}/holon"
        shutil.copy(os.path.realpath(binary), self.holon)
        self.env = {"PATH": "/usr/bin:/bin", "HOME": self.dir, "TMPDIR": self.dir, "XDG_RUNTIME_DIR": self.dir}
        self.ask("start", "--bg", "--state-dir", f"{self.dir}/state", "--resources", "node=1000/core=4")
        self.ask("submit", "--count", str(jobs // 10), "true")
        self.ask("job", "wait", "--all")
        self.ask("submit", "-n", "4000", "-t", "1h", "--name", "wide", "sleep", "3000")
        self.ask("submit", "--count", str(jobs - jobs // 10), "-t", "10m", "--name", "waits", "true")

    def ask(self, *words):
        return subprocess.run([self.holon, *words], env=self.env, check=True, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE).stdout

    def pid_of(self, verb):
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{name}/cmdline", "rb") as file:
                    words = file.read().decode(errors="replace").split("\0")
            except OSError:
                continue
            if os.path.realpath(words[0]) == self.holon and words[1:2] == [verb]:
                return int(name)
        raise SystemExit(f"web.py: there is no {verb}")

    def end(self):
        self.ask("shutdown")
        shutil.rmtree(self.dir, ignore_errors=True)


# ms of processor time that this process has had.
def processor_time(pid):
    with open(f"/proc/{pid}/schedstat") as file:
        return int(file.read().split()[0]) / 1e6


def memory(pid):
    with open(f"/proc/{pid}/status") as file:
        return int(re.search(r"VmRSS:\s+(\d+)", file.read()).group(1)) / 1024


# One who looks: a stream that is read, and questions as the page asks them.
class Viewer(threading.Thread):
    def __init__(self, port, token, seconds, job):
        super().__init__(daemon=True)
        self.job = job
        self.port, self.seconds, self.header = port, seconds, f"Host: x\r\nAuthorization: Bearer {token}\r\n\r\n"
        self.bytes, self.waits = 0, []

    def run(self):
        end = time.time() + self.seconds
        stream = socket.create_connection(("127.0.0.1", self.port))
        stream.sendall(f"GET /events HTTP/1.1\r\n{self.header}".encode())
        stream.settimeout(0.01)
        ask = socket.create_connection(("127.0.0.1", self.port))
        while time.time() < end:
            began = time.time()
            now = int(began / 60) * 60000
            for what in (f"time?from={now - 3600000}&to={now + 600000}&width=1200&height=300", "jobs?first=0&most=100", "failures?", f"job?path=/{self.job}"):
                ask.sendall(f"GET /{what} HTTP/1.1\r\n{self.header}".encode())
                self.bytes += self.answer(ask)
            self.waits.append((time.time() - began) * 1000)
            while time.time() < min(began + 1, end):
                try:
                    self.bytes += len(stream.recv(65536))
                except TimeoutError:
                    time.sleep(0.05)

    def answer(self, ask):
        text = b""
        while b"\r\n\r\n" not in text:
            text += ask.recv(65536)
        whole = text.index(b"\r\n\r\n") + 4 + int(re.search(rb"Content-Length: (\d+)", text).group(1))
        while len(text) < whole:
            text += ask.recv(65536)
        return whole


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("binary", nargs="?", default="build/release/bin/holon")
    words.add_argument("--jobs", type=int, default=100000)
    words.add_argument("--viewers", type=int, default=50)
    words.add_argument("--seconds", type=int, default=20)
    words.add_argument("--browser")
    asked = words.parse_args()
    instance = Instance(asked.binary, asked.jobs)
    web = None
    try:
        broker = instance.pid_of("broker")
        stop = threading.Event()

        def work():  # two jobs a second that start and end
            while not stop.wait(0.5):
                instance.ask("submit", "--urgency", "0", "true")

        threading.Thread(target=work, daemon=True).start()

        def measure(what, pids):
            before = [processor_time(pid) for pid in pids]
            time.sleep(asked.seconds)
            shares = [(processor_time(pid) - one) / asked.seconds / 10 for pid, one in zip(pids, before)]
            print(f"{what}: broker {shares[0]:.2f} % of a core" + (f", server {shares[1]:.1f} %" if shares[1:] else ""))

        measure("no page", [broker])
        web = subprocess.Popen([instance.holon, "web", "--json"], env=instance.env, stdout=subprocess.PIPE, text=True)
        said = json.loads(web.stdout.readline() + "".join(iter(web.stdout.readline, "}\n")) + "}")
        token = said["address"].split("token=")[1]
        time.sleep(3)
        measure("a page, nobody looks", [broker, web.pid])
        for viewers in (1, asked.viewers):
            all_of_them = [Viewer(said["port"], token, asked.seconds + 2, asked.jobs // 10 + 2 + number) for number in range(viewers)]
            for viewer in all_of_them:
                viewer.start()
            time.sleep(1)
            measure(f"{viewers} viewers", [broker, web.pid])
            for viewer in all_of_them:
                viewer.join()
            waits = sorted(wait for viewer in all_of_them for wait in viewer.waits)
            print(f"  four answers take {statistics.median(waits):.0f} ms, p95 {waits[int(len(waits) * .95)]:.0f} ms; "
                  f"{sum(viewer.bytes for viewer in all_of_them) / viewers / asked.seconds / 1024:.0f} KB a second and viewer")
        print(f"server: {memory(web.pid):.0f} MB")
        if asked.browser:
            ran = subprocess.run(["node", "--input-type=module", "-e", BROWSER, said["address"], os.path.realpath(asked.browser)],
                                 env={"PATH": "/usr/bin:/bin", "HOME": instance.dir}, text=True, stdout=subprocess.PIPE)
            print(ran.stdout.strip())
        stop.set()
    finally:
        if web:
            web.terminate()
            web.wait()
        instance.end()


if __name__ == "__main__":
    sys.exit(main())
