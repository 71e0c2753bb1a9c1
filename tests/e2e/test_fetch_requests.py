#!/usr/bin/env python3
"""leat-fetch alone: its command line, the sockets of a service manager, and requests of clients that are wrong.

    test_fetch_requests.py BIN [PATTERN]
"""
import errno
import os
import resource
import shutil
import signal
import socket
import struct
import subprocess

import leat_harness
from leat_harness import BIN
from object_server import ObjectServer, etag
from object_store import NO_AWS, need_fetch

LIST, EXPECT, LOOK, BLOCK, AHEAD, STORE = range(1, 7)
VERSION = 2
PROGRAM = BIN / "leat-fetch"


def environment(folder, **more):
    return {**os.environ, **NO_AWS, "HOME": str(folder), "AWS_EC2_METADATA_DISABLED": "true", **more}


def run(folder, *words, env=None, **keywords):
    return subprocess.run([PROGRAM, *words], env=environment(folder, **(env or {})), capture_output=True, text=True,
                          timeout=leat_harness.HANG_S, check=False, **keywords)


def test_command_line(folder):
    """Help, version, and each mistake: its status and what it says."""
    need_fetch()
    (folder / "bad.yaml").write_text("fetch: { requests: 0 }\nstreams: {}\n")
    (folder / "place").mkdir()
    cases = [(["--help"], {}, 0, "--socket PATH"), (["--version"], {}, 0, "leat-fetch "), (["--nonsense"], {}, 64, "nonsense"),
             (["word"], {}, 64, 'unknown argument "word"'), ([], {}, 1, "the option --socket PATH is missing"),
             (["--private"], {}, 64, "only programs that start leat-fetch may use --private"),
             (["--socket", folder / ("x" * 200)], {}, 1, "the path is too long for a socket"),
             (["--socket", folder / "none/sock"], {}, 1, "none/sock: No such file"), (["--socket", folder / "place"], {}, 1, "place: Address already in use"),
             (["--config", folder / "none.yaml", "--socket", folder / "s"], {}, 78, "none.yaml"),
             (["--config", folder / "bad.yaml", "--socket", folder / "s"], {}, 78, "bad.yaml:1:"),
             (["--socket", folder / "s"], {"LEAT_FETCH_CONFIG": str(folder / "bad.yaml")}, 78, "bad.yaml:1:"),
             (["--socket", folder / "s"], {"AWS_ENDPOINT_URL": "minio:9000"}, 1, "the endpoint (AWS_ENDPOINT_URL"),
             (["--socket", folder / "s"], {"AWS_REGION": "eu west"}, 1, "the region (AWS_REGION")]
    for words, env, status, what in cases:
        done = run(folder, *words, env=env)
        assert done.returncode == status and what in done.stdout + done.stderr, (words, done)


def test_sockets_of_the_service_manager(folder):
    """The one socket that a service manager passes must be of the right kind."""
    need_fetch()

    def passed(sockets, n=None):
        """A process whose descriptors from 3 on are these."""
        script = "LISTEN_PID=$$ exec \"$0\""
        env = environment(folder, LISTEN_FDS=str(len(sockets) if n is None else n), NOTIFY_SOCKET="")
        numbers = [end.fileno() for end in sockets]
        return subprocess.Popen(["python3", "-c", "import os, sys\n"
                                 "high = [os.dup(os.dup2(int(n), 100 + k)) for k, n in enumerate(sys.argv[3:])]\n"
                                 "[os.dup2(100 + k, 3 + k) for k in range(len(high))]\n"
                                 "os.execv('/bin/sh', ['sh', '-c', sys.argv[1], sys.argv[2]])", script, PROGRAM, *map(str, numbers)],
                                pass_fds=numbers, env=env, stderr=subprocess.PIPE, text=True)

    def listening(family, kind, address):
        made = socket.socket(family, kind)
        made.bind(address)
        made.listen()
        return made

    with listening(socket.AF_UNIX, socket.SOCK_SEQPACKET, str(folder / "good")) as good, \
            listening(socket.AF_UNIX, socket.SOCK_STREAM, str(folder / "stream")) as stream, \
            listening(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0)) as web, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as deaf, \
            open(os.devnull) as null:
        for sockets, n, what in (([stream], None, "has the wrong type: set ListenSequentialPacket="), ([web], None, "wrong type"),
                                 ([deaf], None, "wrong type"), ([null], None, "wrong type"), ([good, deaf], None, "passes 2 sockets"),
                                 ([good], 0, "the option --socket PATH is missing")):
            process = passed(sockets, n)
            text = process.communicate(timeout=leat_harness.HANG_S)[1]
            assert process.returncode == 1 and what in text, (what, process.returncode, text)
        process = passed([good])
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
            client.connect(str(folder / "good"))
            client.send(b"?")
            assert b"does not know this request" in client.recv(4096)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=leat_harness.HANG_S)
        assert process.returncode == 0


def request(verb, url="", version=VERSION, is_new=0, first=0, n_bytes=0, identity=b"", is_damaged=0, end=b"\0"):
    return struct.pack("=IIIIIIQQ16s", version, verb, 0, is_damaged, is_new, 0, first, n_bytes, identity) + url.encode() + end


def ask(client, packet, fd=None):
    """Its code, identity, message, and what the descriptor of the reply holds."""
    if fd is None:
        client.send(packet)
    else:
        socket.send_fds(client, [packet], [fd])
    reply, fds, _, _ = socket.recv_fds(client, 4096, 4)
    code, _, n_bytes, block_bytes, identity, message = struct.unpack("=iIQQ16s512s", reply)
    body = b""
    for got in fds:
        body = os.pread(got, n_bytes, 0)
        os.close(got)
    return code, n_bytes, block_bytes, identity, message.rstrip(b"\0").decode(), body


def memory(text):
    fd = os.memfd_create("urls")
    os.write(fd, text)
    return fd


def service(folder, preexec_fn=None, **env):
    process = subprocess.Popen([PROGRAM, "--socket", folder / "fetch.sock"], env=environment(folder, **env), preexec_fn=preexec_fn)
    client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    leat_harness.wait_until(lambda: client.connect_ex(str(folder / "fetch.sock")) == 0, "leat-fetch listens")
    client.settimeout(leat_harness.HANG_S)
    return process, client


def test_wrong_requests(folder):
    """Requests that no program of leat sends: an error each, and the next one is served."""
    need_fetch()
    body = bytes(range(256)) * 100
    with ObjectServer({"a": body, "e": b""}) as server:
        server.faults = {"sizeless": lambda handler: sizeless(handler)}
        process, client = service(folder)
        url = f"{server.url}/a"
        code, n_bytes, block_bytes, identity, message, _ = ask(client, request(LOOK, url))
        assert (code, n_bytes, message) == (0, len(body), "") and block_bytes >= 4096, message
        cases = [(request(99, url), None, errno.EPROTO, "does not know this request"), (request(LOOK, url, version=1), None, errno.EPROTO, "does not know"),
                 (request(LOOK, url, end=b""), None, errno.EPROTO, "does not know"), (request(LOOK, "a\0b"), None, errno.EPROTO, "does not know"),
                 (request(LOOK, "", end=b""), None, errno.EPROTO, "does not know"), (request(EXPECT), None, errno.EPROTO, "does not know"),
                 (request(STORE, "s3://b/k"), None, errno.EPROTO, "does not know"), (request(LOOK, ""), None, errno.EINVAL, ""),
                 (request(STORE, "s3://b/k"), memory(b"x"), errno.EPERM, "does not upload objects"),
                 (request(STORE, "ftp://b/k"), memory(b"x"), errno.EINVAL, ""), (request(LIST, f"{server.url}/"), None, errno.EINVAL, "does not list its files"),
                 (request(LIST, "s3:/x"), None, errno.EINVAL, ""), (request(LOOK, f"{server.url}/none"), None, errno.ENOENT, "HTTP 404"),
                 (request(LOOK, f"{server.url}/sizeless"), None, errno.EPROTO, "does not send the size of the object"),
                 (request(EXPECT), memory(b""), errno.ENOMEM, ""), (request(EXPECT), memory(url.encode()), errno.EPROTO, ""),
                 (request(EXPECT), memory(b"x" * 3000 + b"\0"), errno.ENOMEM, ""), (request(EXPECT), memory(f"{server.url}/none\0".encode()), errno.ENOENT, "404"),
                 (request(EXPECT), os.open(folder, os.O_RDONLY), None, "")]
        cases += [(request(BLOCK, url, first=first, n_bytes=n, identity=identity), None, errno.EPROTO, "outside the object")
                  for first, n in ((0, 0), (len(body), 1), (len(body) - 1, 2), (2 ** 64 - 1, 2), (1, 2 ** 64 - 1), (0, len(body) + 1))]
        cases += [(request(BLOCK, url, n_bytes=10, identity=b"other"), None, errno.ESTALE, "changed since it was listed"),
                  (request(BLOCK, f"{server.url}/e", n_bytes=1, identity=b"e"), None, None, "")]
        try:
            for packet, fd, code, what in cases:
                found, _, _, _, message, _ = ask(client, packet, fd)
                assert found == -code if code else found < 0, (packet[60:120], found, message)
                assert what in message, (packet[60:120], message)
            for first, n in ((0, 10), (255, 300), (len(body) - 1, 1), (0, len(body))):
                found = ask(client, request(BLOCK, url, first=first, n_bytes=n, identity=identity))
                assert found[0] == 0 and found[5] == body[first:first + n], (first, n, found[:5])
            assert ask(client, request(AHEAD, url, first=7, n_bytes=10 ** 6, identity=identity))[0] == 0
            assert ask(client, request(AHEAD, f"{server.url}/unknown"))[0] == 0
            assert ask(client, request(EXPECT), memory(f"{url}\0{url}\0{server.url}/e\0".encode()))[0] == 0
            damaged = next((folder / ".cache/leat/fetch").glob("*-255.block"))
            damaged.write_bytes(b"x" * 308)
            found = ask(client, request(BLOCK, url, first=255, n_bytes=300, identity=identity, is_damaged=1))
            assert found[5] == body[255:555], found
        finally:
            client.close()
            process.terminate()
            assert process.wait(leat_harness.HANG_S) == 0


def sizeless(handler):
    handler.send_response(200)
    handler.send_header("ETag", etag(b""))
    handler.send_header("Connection", "close")
    handler.end_headers()
    handler.close_connection = True
    return True


def test_clients_that_go(folder):
    """A client that goes before its reply, or that sends another request before it, is dropped; others are served."""
    need_fetch()
    body = b"x" * 5000
    arrived, go_on = [], []

    def slow(handler):
        arrived.append(handler.command)
        leat_harness.wait_until(lambda: go_on, "the test goes on")
        return False

    with ObjectServer({"a": body, "slow": body, "b/k": body}) as server:
        server.faults = {"slow": slow, "b/": lambda handler: slow(handler)}
        process, client = service(folder, AWS_ENDPOINT_URL=server.url)
        try:
            for packet, fd in ((request(LOOK, f"{server.url}/slow"), None), (request(LIST, "s3://b/"), None),
                               (request(EXPECT), memory(f"{server.url}/slow\0{server.url}/a\0".encode()))):
                for leaves in (True, False):
                    arrived.clear()
                    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as other:
                        other.connect(str(folder / "fetch.sock"))
                        socket.send_fds(other, [packet], [fd] if fd else [])
                        leat_harness.wait_until(lambda: arrived, "the server is asked")
                        if not leaves:
                            other.send(packet)
                            assert other.recv(4096) == b""
                    assert ask(client, request(LOOK, f"{server.url}/a", is_new=1))[0] == 0
            go_on.append(True)
            assert ask(client, request(LOOK, f"{server.url}/slow"))[0] == 0
        finally:
            go_on.append(True)
            client.close()
            process.terminate()
            assert process.wait(leat_harness.HANG_S) == 0


def test_many_clients(folder):
    """There may be 1024 clients, whatever the soft limit of descriptors; one more is turned away, until another goes."""
    need_fetch()
    n_max, hard = 1024, resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard < 2 * n_max:
        raise leat_harness.Skip(f"the hard limit of descriptors is {hard}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (2 * n_max, hard))
    clients = []
    with ObjectServer({"a": b"text"}) as server:
        process, client = service(folder, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, hard)))

        def connect():
            made = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            made.settimeout(leat_harness.HANG_S)
            made.connect(str(folder / "fetch.sock"))
            clients.append(made)
            return made

        try:
            assert ask(client, request(LOOK, f"{server.url}/a"))[0] == 0
            for _ in range(n_max - 1):
                assert ask(connect(), request(LOOK, f"{server.url}/a"))[:2] == (0, 4)
            assert connect().recv(10) == b""
            clients[0].close()
            leat_harness.wait_until(lambda: is_served(connect(), request(LOOK, f"{server.url}/a")), "there is room for a client")
            assert ask(client, request(LOOK, f"{server.url}/a"))[0] == 0
        finally:
            for made in (client, *clients):
                made.close()
            process.terminate()
            assert process.wait(leat_harness.HANG_S) == 0


def is_served(client, packet):
    try:
        client.send(packet)
        return client.recv(4096) != b""
    except OSError:  # it was turned away
        return False


def test_where_the_program_is(folder):
    """leatctl starts the leat-fetch beside it, else one of PATH; if there is none, or it does not start, it says so."""
    need_fetch()
    place = folder / "bin"
    place.mkdir()
    shutil.copy(BIN / "leatctl", place)
    with ObjectServer({"a.txt": b"a\nb\n"}) as server:
        (folder / "s.yaml").write_text(f'fetch: {{ path: {folder}/cache }}\nstreams: {{ s: {{ source: {{ text: {{ paths: ["{server.url}/a.txt"] }} }}, '
                                       "stages: [{ batch: { batch_size: 1 } }] } }\n")

        def head(path):
            return subprocess.run([place / "leatctl", "head", folder / "s.yaml", "-n", "1"], env=environment(folder, PATH=path, LEAT_FETCH_SOCKET=""),
                                  capture_output=True, text=True, timeout=leat_harness.HANG_S, check=False)

        done = head("/nonexistent")
        assert done.returncode != 0 and "is not installed: install the Debian package leat-fetch" in done.stderr, done
        assert head(f"/nonexistent:{BIN}").returncode == 0
        (place / "leat-fetch").write_text("#!/nonexistent/interpreter\n")
        done = head("/nonexistent")
        assert done.returncode != 0 and "leat-fetch" in done.stderr, done
        (place / "leat-fetch").write_text("#!/bin/sh\nexit 3\n")
        (place / "leat-fetch").chmod(0o755)
        done = head("/nonexistent")
        assert done.returncode != 0 and "leat-fetch" in done.stderr and "unexpectedly" in done.stderr, done


def test_private(folder):
    """Of a private leat-fetch: what it stores, where, and that it ends with its program."""
    need_fetch()
    with ObjectServer() as server:
        control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        process = subprocess.Popen([PROGRAM, "--private"], env=environment(folder, AWS_ENDPOINT_URL=server.url),
                                   preexec_fn=lambda: os.dup2(theirs.fileno(), 3), pass_fds=[3])
        theirs.close()
        client, end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        client.settimeout(leat_harness.HANG_S)
        control.send(b"nothing comes with this")
        socket.send_fds(control, [b"\0"], [end.fileno()])
        end.close()
        pipe, _ = os.pipe()
        for url, fd, code, what in (("s3://b/k", memory(b"text"), 0, ""), ("s3://b/e", memory(b""), 0, ""), ("http://h/x", memory(b"x"), errno.EINVAL, "only to s3://"),
                                    ("s3://b/", memory(b"x"), errno.EINVAL, ""), ("s3://b/k", pipe, errno.EINVAL, "only regular files"), ("s3://b/../k", memory(b"x"), errno.EINVAL, "")):
            found = ask(client, request(STORE, url), fd)
            assert found[0] == -code and what in found[4], (url, found)
        assert ask(client, request(STORE, "s3://b/k", is_new=1), memory(b"other"))[0] == -errno.EEXIST
        assert server.objects == {"b/k": b"text", "b/e": b""}, server.objects
        control.close()
        assert process.wait(leat_harness.HANG_S) == 0
        assert client.recv(10) == b""


if __name__ == "__main__":
    leat_harness.main(globals())
