"""A headless Chromium, told what to do by its DevTools protocol through a pair of pipes: no port, no driver.

The protocol: JSON messages that end with a zero byte, commands on descriptor 3, replies and events on 4.
"""
import base64
import json
import os
import shutil
import subprocess
import zlib

from leat_harness import Skip, wait_until


def find():
    """The program, or Skip."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if path := shutil.which(name):
            return path
    raise Skip("chromium is not installed (apt-get install --no-install-recommends chromium)")


class Browser:
    """One page. Ends with the `with` block."""

    def __init__(self, folder):
        command = [find(), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                   "--disable-extensions", "--disable-background-networking", "--remote-debugging-pipe",
                   f"--user-data-dir={folder / 'browser'}", "about:blank"]
        to_browser, self.out = os.pipe()
        self.replies, from_browser = os.pipe()
        launcher = f"exec 3<&{to_browser} 4>&{from_browser}; exec \"$@\""
        env = {**os.environ, "HOME": str(folder), "LC_ALL": "C.UTF-8"}
        self.process = subprocess.Popen(["bash", "-c", launcher, "bash", *command], pass_fds=[to_browser, from_browser],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env)
        os.close(to_browser)
        os.close(from_browser)
        self.buffer, self.number, self.session, self.events = b"", 0, None, []
        target = next(t for t in self.do("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self.session = self.do("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.do(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.out)
        os.close(self.replies)

    def _next(self):
        while b"\0" not in self.buffer:
            piece = os.read(self.replies, 1 << 16)
            if not piece:
                raise AssertionError("chromium has ended")
            self.buffer += piece
        message, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(message)

    def do(self, method, **parameters):
        """The result of a command."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.out, data):]
        while True:
            reply = self._next()
            if reply.get("id") == self.number:
                if "error" in reply:
                    raise AssertionError(f"{method}: {reply['error']}")
                return reply["result"]
            self.events.append(reply)

    def run(self, script):
        """What an expression of JavaScript gives, promises awaited."""
        reply = self.do("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in reply:
            raise AssertionError(f"{script}: {reply['exceptionDetails']}")
        return reply["result"].get("value")

    def wait(self, condition):
        """Until that expression is true; while a page comes or goes it may not even be one."""
        def holds():
            reply = self.do("Runtime.evaluate", expression=f"Boolean({condition})", returnByValue=True)
            return reply["result"].get("value") is True
        wait_until(holds, condition)

    def resize(self, width, height, is_dark):
        self.do("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        self.do("Emulation.setEmulatedMedia",
                features=[{"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}])

    def screenshot(self, path):
        """The whole page as PNG; returns its pixels, as rows of bytes (three or four a pixel)."""
        data = base64.b64decode(self.do("Page.captureScreenshot", captureBeyondViewport=True)["data"])
        path.write_bytes(data)
        return decode_png(data)

    def complaints(self):
        """What the page or its policy complained of, as texts."""
        self.run("1")
        texts = [event["params"]["entry"]["text"] for event in self.events if event.get("method") == "Log.entryAdded"]
        return texts + [json.dumps(event["params"]) for event in self.events if event.get("method") == "Runtime.exceptionThrown"]

    def requests(self):
        """The addresses that were asked for."""
        return [event["params"]["request"]["url"] for event in self.events if event.get("method") == "Network.requestWillBeSent"]


def decode_png(data):
    """(width, height, bytes a pixel, rows) of a PNG of eight bits a channel without interlacing."""
    width, height = int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")
    n_channels = {2: 3, 6: 4}[data[25]]
    at, packed = 8, b""
    while at < len(data):
        n = int.from_bytes(data[at:at + 4], "big")
        if data[at + 4:at + 8] == b"IDAT":
            packed += data[at + 8:at + 8 + n]
        at += 12 + n
    raw, stride = zlib.decompress(packed), width * n_channels
    return width, height, n_channels, [raw[y * (stride + 1) + 1:(y + 1) * (stride + 1)] for y in range(height)]
