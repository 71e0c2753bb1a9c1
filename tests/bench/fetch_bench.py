#!/usr/bin/env python3
"""What leat-fetch costs beside bare libcurl: bytes per second out of nginx, without latency and with 50 ms of it, the second time, and
what opening 10,000 objects takes. Prints JSON.

    fetch_bench.py BIN [MIB]

curl drops what comes, or writes it into files; leat-fetch keeps all, and a client reads it. `cpu_s_of_gb` are the seconds of user and
system time that the program itself takes for 10^9 bytes, without nginx and the client; `ratio` is of bytes per second, which is
lower where processors are short, as nginx, leat-fetch and the client work at once. Needs nginx and curl. Latency is that of a proxy between, which holds back what comes for 25 ms each way; curl goes through it too.
"""
import array
import asyncio
import json
import os
import pathlib
import shutil
import signal
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from object_server import ObjectServer  # noqa: E402

BIN = pathlib.Path(sys.argv[1]).resolve()
MIB = int(sys.argv[2]) if len(sys.argv) > 2 and sys.argv[2].isdigit() else 256
BLOCK, REQUESTS, N_OBJECTS, PORT, SLOW_PORT = 4 << 20, 16, 4, 8931, 8932
DELAY_S, HELD = 0.025, 64  # HELD: pieces of a connection on their way
VERSION, URL_MAX, LIST, EXPECT, LOOK, BLOCK_VERB = 2, 2048, 1, 2, 3, 4


class Client:
    """One client of leat-fetch, as proto/fetch.h has it."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.connect(str(path))

    def ask(self, verb, url, first=0, n_bytes=0, identity=bytes(16), fd=None):
        request = struct.pack("=IIIIIIQQ16s", VERSION, verb, 0, 0, 0, 0, first, n_bytes, identity) + url.encode() + b"\0"
        ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))] if fd is not None else []
        self.socket.sendmsg([request], ancillary)
        reply, ancillary, _, _ = self.socket.recvmsg(4096, socket.CMSG_SPACE(4))
        code, _, n_bytes, block_bytes, identity = struct.unpack_from("=iIQQ16s", reply)
        if code < 0:
            raise OSError(-code, reply[40:].split(b"\0")[0].decode())
        fds = [array.array("i", data[:4])[0] for _, _, data in ancillary]
        return n_bytes, block_bytes, identity, fds[0] if fds else None

    def expect(self, urls):
        fd = os.memfd_create("urls")
        os.write(fd, b"".join(url.encode() + b"\0" for url in urls))
        self.ask(EXPECT, "", fd=fd)
        os.close(fd)

    def read(self, urls):
        """All bytes of the objects, as a worker reads them; how many there are."""
        buffer, total = bytearray(1 << 18), 0
        self.expect(urls)
        for url in urls:
            n_bytes, block_bytes, identity, _ = self.ask(LOOK, url)
            for first in range(0, n_bytes, block_bytes):
                n = min(block_bytes, n_bytes - first)
                fd = self.ask(BLOCK_VERB, url, first, n, identity)[3]
                for at in range(0, n, len(buffer)):
                    total += os.preadv(fd, [memoryview(buffer)[:min(len(buffer), n - at)]], at)
                os.close(fd)
        return total


def curl_rate(urls, folder=None):
    """Bare libcurl: the same ranges, as many at once, into files of the folder if there is one. Bytes a second, and CPU seconds a GB."""
    size = MIB * (1 << 20) // N_OBJECTS
    ranges = [(url, at) for url in urls for at in range(0, size, BLOCK)]
    lines = [f'url = "{url}"\nrange = {at}-{min(at + BLOCK, size) - 1}\noutput = {folder / str(i) if folder else "/dev/null"}\n'
             for i, (url, at) in enumerate(ranges)]
    start, before = time.monotonic(), os.times()
    subprocess.run(["curl", "-sSZ", "--parallel-max", str(REQUESTS), "--parallel-immediate", "-K", "-"], input="".join(lines), text=True, check=True,
                   stderr=subprocess.DEVNULL)
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return size * len(urls) / (time.monotonic() - start), cpu / (size * len(urls) / 1e9)


class Fetch:
    def __init__(self, folder, name):
        config = folder / f"{name}.yaml"
        config.write_text(json.dumps({"fetch": {"path": str(folder / name), "block": BLOCK, "requests": REQUESTS}}))
        self.path = folder / f"{name}.sock"
        self.process = subprocess.Popen([BIN / "leat-fetch", "--config", config, "--socket", self.path])

    def __enter__(self):
        while True:
            try:
                return Client(self.path)
            except OSError:  # it does not listen yet
                time.sleep(0.01)

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


def cpu_seconds(pid):
    """User and system time of the process."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def fetch_rate(folder, name, urls):
    fetch = Fetch(folder, name)
    with fetch as client:
        start, before = time.monotonic(), cpu_seconds(fetch.process.pid)
        total = client.read(urls)
        return total / (time.monotonic() - start), (cpu_seconds(fetch.process.pid) - before) / (total / 1e9)


def start_nginx(folder):
    (folder / "nginx.conf").write_text(f"""daemon off; user root; pid {folder}/pid; worker_processes 1; error_log {folder}/errors;
events {{ }} http {{ access_log {folder}/log; sendfile on; client_body_temp_path {folder}/1; proxy_temp_path {folder}/2;
fastcgi_temp_path {folder}/3; uwsgi_temp_path {folder}/4; scgi_temp_path {folder}/5;
server {{ listen 127.0.0.1:{PORT}; root {folder}/data; }} }}""")
    process = subprocess.Popen(["nginx", "-c", folder / "nginx.conf", "-e", folder / "errors"])
    while socket.socket().connect_ex(("127.0.0.1", PORT)):
        time.sleep(0.02)
    return process


async def delay_one_way(reader, writer):
    """What comes leaves DELAY_S later."""
    pieces, loop = asyncio.Queue(HELD), asyncio.get_running_loop()

    async def send():
        while True:
            due, data = await pieces.get()
            await asyncio.sleep(max(0, due - loop.time()))
            writer.write(data)
            if not data:
                writer.close()
                return
            await writer.drain()

    sender = asyncio.create_task(send())
    try:
        while data := await reader.read(1 << 18):
            await pieces.put((loop.time() + DELAY_S, data))
    except ConnectionError:
        pass
    await pieces.put((loop.time() + DELAY_S, b""))
    await sender


async def delay(reader, writer):
    there_reader, there_writer = await asyncio.open_connection("127.0.0.1", PORT, limit=1 << 20)
    await asyncio.gather(delay_one_way(reader, there_writer), delay_one_way(there_reader, writer), return_exceptions=True)


def start_proxy():
    if pid := os.fork():
        while socket.socket().connect_ex(("127.0.0.1", SLOW_PORT)):
            time.sleep(0.02)
        return pid

    async def serve():
        async with await asyncio.start_server(delay, "127.0.0.1", SLOW_PORT, limit=1 << 20) as server:
            await server.serve_forever()

    asyncio.run(serve())
    return None


def n_requests(folder):
    return (folder / "log").read_bytes().count(b"\n")


def reading(folder):
    told = {}
    (folder / "data").mkdir()
    for i in range(N_OBJECTS):
        (folder / "data" / f"{i}.bin").write_bytes(os.urandom(1 << 20) * (MIB // N_OBJECTS))
    nginx = start_nginx(folder)
    proxy = start_proxy()
    try:
        for name, port in (("no latency", PORT), ("50 ms", SLOW_PORT)):
            urls = [f"http://127.0.0.1:{port}/{i}.bin" for i in range(N_OBJECTS)]
            files = folder / "files"
            files.mkdir(exist_ok=True)
            rounds = [{"curl": curl_rate(urls), "curl_into_files": curl_rate(urls, files), "fetch": fetch_rate(folder, f"{port}.{i}", urls)}
                      for i in range(3)]
            told[name] = {who: {"mb_s": round(statistics.median(row[who][0] for row in rounds) / 1e6),
                                "cpu_s_of_gb": round(min(row[who][1] for row in rounds), 3)} for who in rounds[0]}
            for who in ("curl", "curl_into_files"):
                told[name][f"ratio_to_{who}"] = round(statistics.median(row["fetch"][0] / row[who][0] for row in rounds), 2)
            shutil.rmtree(files)
        before = n_requests(folder)
        rate, _ = fetch_rate(folder, f"{port}.0", urls)
        told["second epoch"] = {"mb_s": round(rate / 1e6), "requests_besides_head": n_requests(folder) - before - len(urls)}
    finally:
        os.kill(proxy, signal.SIGKILL)
        os.waitpid(proxy, 0)
        nginx.terminate()
        nginx.wait()
    return told


def opening(folder):
    objects = {f"b/web/{i:05}.jsonl": b'{"n": %d}\n' % i * 100 for i in range(10000)}
    with ObjectServer(objects) as server:
        file = folder / "open.yaml"
        file.write_text(json.dumps({"fetch": {"path": str(folder / "open")}, "streams": {
            "s": {"source": {"jsonl": {"paths": ["s3://b/web/"]}}, "stages": [{"batch": {"batch_size": 8}}]}}}))
        env = {**os.environ, "AWS_ENDPOINT_URL": server.url, "AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s"}
        start = time.monotonic()
        subprocess.run([BIN / "leatctl", "check", file], check=True, env=env, stdout=subprocess.DEVNULL)
        took = time.monotonic() - start
        contents = sum(len(objects[path]) for method, path, query, _ in server.requests if method == "GET" and "list-type" not in query)
        return {"objects": len(objects), "requests": len(server.requests), "content_bytes": contents, "s": round(took, 2)}


def main():
    with tempfile.TemporaryDirectory(prefix="leat-fetch-") as name:
        folder = pathlib.Path(name)
        print(json.dumps({"opening": opening(folder), **reading(folder)}, indent=2))


if __name__ == "__main__":
    main()
