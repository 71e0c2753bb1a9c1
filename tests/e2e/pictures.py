#!/usr/bin/env python3
"""Draws what the guides show: the status page, and leatctl top on a terminal. Needs chromium and tmux.

    pictures.py BIN [FOLDER]

Writes FOLDER/page.png and FOLDER/top.png (default: daemon/guide/pictures). A daemon with the streams of config serves three
trainers meanwhile, which pull some hundreds of batches a second.
"""

import base64
import contextlib
import html
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

import browser
from leat_harness import BIN, ROOT, Daemon, wait_until

COLUMNS, LINES = 108, 30
SECONDS = 75  # of history in the picture of the page
LARGEST = 200_000
PAGE = (1000, 720)  # the top of the status page
COLORS = ["#16191d", "#e5534b", "#57ab5a", "#c69026", "#539bf5", "#b083f0", "#39c5cf", "#d7dce2"]


def configuration(folder, port):
    shutil.copytree(ROOT / "config", folder, dirs_exist_ok=True)
    streams = [(ROOT / "config" / f"{name}.yaml").read_text() for name in ("titanic", "sentences", "chat")]
    return f"http_listen: 127.0.0.1:{port}\nworkers: 2\n" + "streams:\n" + "".join(text.partition("\nstreams:\n")[2] for text in streams)


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def trainer(daemon, stream, rank, world, pause_us):
    command = [BIN.parent / "tests" / "e2e" / "steady", stream, str(rank), str(world), "0", str(pause_us), "0"]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, env={**os.environ, "LEAT_SOCKET": str(daemon.sockets)})


def tmux(folder, *words):
    return subprocess.run(["tmux", "-S", str(folder / "tmux"), *words], check=True, capture_output=True, text=True).stdout


def on_a_terminal(folder, daemon):
    """The screen of leatctl top, with its colours as escape sequences."""
    command = f"LEAT_SOCKET={daemon.sockets} exec {BIN / 'leatctl'} top"
    tmux(folder, "-f", "/dev/null", "new-session", "-d", "-x", str(COLUMNS), "-y", str(LINES), "-s", "top", command)
    try:
        tmux(folder, "set", "-g", "status", "off")
        tmux(folder, "resize-window", "-t", "top", "-x", str(COLUMNS), "-y", str(LINES))
        wait_until(lambda: "trainer of" in tmux(folder, "capture-pane", "-p", "-t", "top"), "top is on the screen")
        time.sleep(3)
        return tmux(folder, "capture-pane", "-p", "-e", "-t", "top")
    finally:
        tmux(folder, "kill-server")


def style_of(codes, held):
    for code in [int(code or 0) for code in codes.split(";")]:
        if code == 0:
            held.clear()
        elif code in (1, 2, 7):
            held[code] = {1: "font-weight:bold", 2: "opacity:.65", 7: "background:#d7dce2;color:#16191d"}[code]
        elif 30 <= code <= 37 or 90 <= code <= 97:
            held["color"] = f"color:{COLORS[code % 10]}"
        elif code == 39:
            held.pop("color", None)
        elif code in (22, 27):
            for each in (1, 2) if code == 22 else (7,):
                held.pop(each, None)


def as_page(screen):
    held, spans = {}, []
    for found in re.finditer(r"([^\x1b]*)(?:\x1b\[([\d;]*)m)?", screen):
        text, codes = found.groups()
        if text:
            spans.append(f'<span style="{";".join(held.values())}">{html.escape(text)}</span>')
        if codes is not None:
            style_of(codes, held)
    return (f'<body style="margin:0;background:{COLORS[0]}"><pre style="margin:14px;font:14px/18px DejaVu Sans Mono,monospace;'
            f'color:{COLORS[7]}">{"".join(spans)}</pre>')


def picture(page, path, width, height):
    clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
    path.write_bytes(base64.b64decode(page.do("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)["data"]))
    size = path.stat().st_size
    assert size < LARGEST, f"{path} has {size:,} bytes"
    print(f"{path}: {size:,} bytes")


def main():
    target = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else ROOT / "daemon" / "guide" / "pictures")
    target.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="leat-pictures-") as name, contextlib.ExitStack() as stack:
        folder, port = pathlib.Path(name), free_port()
        daemon = stack.enter_context(Daemon(folder, configuration(folder, port)))
        trainers = [trainer(daemon, "titanic", 0, 2, 1000), trainer(daemon, "titanic", 1, 2, 1300),
                    trainer(daemon, "sentences", 0, 1, 3000)]
        stack.callback(lambda: [(each.kill(), each.wait()) for each in trainers])
        time.sleep(SECONDS)
        screen = on_a_terminal(folder, daemon)
        page = stack.enter_context(browser.Browser(folder))
        size = (round(COLUMNS * 8.43) + 32, len(screen.rstrip().split("\n")) * 18 + 28)
        page.resize(*size, is_dark=True)
        (folder / "top.html").write_text(as_page(screen.rstrip() + "\n"), encoding="utf-8")
        page.do("Page.navigate", url=f"file://{folder}/top.html")
        page.wait("document.querySelector('pre')")
        picture(page, target / "top.png", *size)
        page.resize(*PAGE, is_dark=False)
        page.do("Page.navigate", url=f"http://127.0.0.1:{port}/")
        page.wait("Number(document.documentElement.dataset.drawn) >= 3")
        page.wait("document.getElementById('bounds').textContent.startsWith('titanic: bounded by ')")
        picture(page, target / "page.png", *PAGE)


if __name__ == "__main__":
    main()
