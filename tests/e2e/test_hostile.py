#!/usr/bin/env python3
"""Clients that do not behave: whatever they send, others are served, and nothing is left of them.

    test_hostile.py BIN [PATTERN]
"""
import contextlib
import os
import pathlib
import random
import re
import shutil
import socket
import struct
import subprocess
import time

import data
import leat_harness
import raw_client
from leat_harness import BIN, HANG_S, Daemon, Skip, in_child, require, wait_until
from raw_client import RawClient


def config(folder, **settings):
    path = folder / "numbers.csv"
    path.write_text("id\n" + "".join(f"{i}\n" for i in range(2000)))
    return data.yaml_text({"s": data.numbers_stream([str(path)])}, **{"workers": 2, **settings})


@contextlib.contextmanager
def unharmed(folder, **settings):
    """A daemon that must serve as before, with as many descriptors, after what is done to it."""
    with Daemon(folder, config(folder, **settings)) as daemon:
        expected = daemon.digest("s")
        wait_until(lambda: daemon.status()["n_sessions"] == 0, "idle at first")
        n_fds = daemon.n_fds()
        yield daemon
        assert daemon.digest("s") == expected
        wait_until(lambda: daemon.status()["n_sessions"] == 0, "no session is left")
        wait_until(lambda: daemon.n_fds() <= n_fds, f"descriptors: {n_fds} at first")
        wait_until(lambda: daemon.status()["n_slots"] == daemon.status()["n_slots_free"], "every slot is free")


def rests(pid):
    """True if the loop sleeps whenever it is looked at: one that turns for nothing never does."""
    def sleeps():
        return pathlib.Path(f"/proc/{pid}/task/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "S"
    return all(sleeps() and time.sleep(0.005) is None for _ in range(40))


def test_garbage(folder):
    rng = random.Random(1)
    with unharmed(folder) as daemon:
        for _ in range(200):
            client = RawClient(daemon)
            for _ in range(rng.randrange(1, 4)):
                if not client.send(rng.randbytes(rng.choice([1, 7, 8, 63, 64, 65, 200, 4096, 65600]))):
                    break
            client.close()


def test_names(folder):
    """What clients and files call things is shown without what a terminal obeys, and forges no line."""
    nasty = b"a\x1b[2Jb\x07\nfake\r\x7f\xc2\x9bc\x9bd\xc3\xa4"
    bad = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|^fake", re.MULTILINE)
    (folder / "n.csv").write_bytes(b'id,"k\x1b[2J\nfake\xc2\x9b"\n' + b"".join(b"%d,7\n" % i for i in range(200)))
    name = "s\x1b[2J\nfake\u009b"
    stages = [{"cast": {"input": "id", "dtype": "int64"}}, {"cast": {"input": "k\x1b[2J\nfake\u009b", "dtype": "int64"}}]
    stream = {"source": {"csv": {"paths": [str(folder / "n.csv")]}}, "stages": [*stages, {"batch": {"batch_size": 10}}]}
    with Daemon(folder, data.yaml_text({name: stream}, log_level="info")) as daemon:
        client = RawClient(daemon)
        client.send(raw_client.hello())
        client.receive_kind(raw_client.WELCOME)
        texts = b"".join(raw_client.varint(n << 3 | 2) + raw_client.varint(len(value)) + value
                         for n, value in ((1, name.encode()), (10, nasty), (22, nasty)))
        client.send(raw_client.packet(raw_client.OPEN, payload=texts + raw_client.field(7, 2)))
        client.batch()
        for words in (["status"], ["streams"], ["trainers"], ["stats"], ["top", "--once"], ["quota"], ["metrics"], ["why", name],
                      ["explain", name], ["why", "x" + name], ["explain", "x" + name], ["pull", name, "--epochs", "1"],
                      ["where", daemon.config, "--epoch", "0", "--step", "0"], ["check", daemon.config], ["describe", daemon.config],
                      ["head", daemon.config], ["run", daemon.config, "--stats"], ["reload", "--check"], ["cache", "ls"], ["log-level"],
                      ["stats", "--json"], ["streams", "--json"], ["trainers", "--json"], ["explain", name, "--json"]):
            done = daemon.ctl(*words, check=False)
            for text in (done.stdout, done.stderr):
                assert not bad.search(text), (words, text)
                text.decode()
        assert b"a\\x1b[2Jb\\x07\\x0afake" in daemon.ctl("streams").stdout, daemon.ctl("streams").stdout
        assert b"\\xc2\\x9bc\\x9bd\xc3\xa4" in daemon.ctl("streams", "--trainers").stdout, daemon.ctl("streams", "--trainers").stdout
        assert "event=opened" in daemon.log and not bad.search(daemon.log.encode()), daemon.log
        client.close()


def test_wrong_packets(folder):
    """Each ends its own session."""
    long = raw_client.open_request("x" * 60000)
    openings = [raw_client.packet(raw_client.OPEN, payload=payload) for payload in
                (b"", b"\xff" * 100, b"\x0a\xff\xff\xff\xff\x0f", b"\x12" + raw_client.varint(50000) + b"\x0a\x02" * 25000)]
    nested = b""
    for _ in range(3000):  # values in values: deeper than anybody may
        nested = b"\x22" + raw_client.varint(len(nested)) + nested
        if len(nested) > 50000:
            break
    spec = b"\x32" + raw_client.varint(len(nested)) + nested
    openings.append(raw_client.packet(raw_client.OPEN, payload=b"\x12" + raw_client.varint(len(spec)) + spec))
    many = b"\x12\x02\x3a\x00" * 16000  # specs with a stage, which a parser might merge
    openings.append(raw_client.packet(raw_client.OPEN, payload=many))
    first = [raw_client.hello(magic=1), raw_client.hello(major=9), raw_client.open_request("s"),
             raw_client.release(1, 0, 0, 0), raw_client.packet(99), raw_client.packet(0),
             raw_client.packet(raw_client.HELLO, payload_bytes=10**9), raw_client.hello()[:-1],
             raw_client.packet(raw_client.WELCOME), raw_client.packet(raw_client.BATCH)]
    second = [*openings, long, raw_client.hello(), raw_client.release(0, 0, 0, 0), raw_client.packet(raw_client.RING)]
    with unharmed(folder) as daemon:
        for data_ in first:
            client = RawClient(daemon)
            client.send(data_)
            assert client.is_closed(), data_[:80]
            client.close()
        for data_ in second:
            client = RawClient(daemon)
            client.send(raw_client.hello())
            client.receive_kind(raw_client.WELCOME)
            client.send(data_)
            assert client.is_closed(), data_[:80]
            client.close()


def test_wrong_releases(folder):
    def release_what_is_not_held(daemon):
        for change in ((1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1), (0, 0, 0, 2**31)):
            client = RawClient(daemon).opened()
            batch = client.batch()
            client.send(raw_client.release(*(a + b for a, b in zip(batch, change))))
            assert client.is_closed(), change
            client.close()

    def release_twice(daemon):
        client = RawClient(daemon).opened()
        batch = client.batch()
        for _ in range(2):
            client.send(raw_client.release(*batch))
        assert client.is_closed()

    with unharmed(folder) as daemon:
        in_child(lambda: release_what_is_not_held(daemon))
        in_child(lambda: release_twice(daemon))


def test_unknown_but_optional_packets_are_ignored(folder):
    def send_one(daemon):
        client = RawClient(daemon).opened()
        client.send(raw_client.packet(0x8000 | 77, b"whatever"))
        batch = client.batch()
        client.send(raw_client.release(*batch))
        assert client.batch()

    with unharmed(folder) as daemon:
        in_child(lambda: send_one(daemon))


def test_descriptors(folder):
    with unharmed(folder) as daemon:
        for _ in range(20):
            for n in (1, 3, 200):
                client = RawClient(daemon)
                fds = [os.open("/dev/null", os.O_RDONLY) for _ in range(n)]
                was_sent = client.send_fds(raw_client.hello(), fds)
                for fd in fds:
                    os.close(fd)
                assert not was_sent or client.is_closed(), f"{n} descriptors with hello"
                client.close()


def test_lingering_socket(folder):
    """A TCP socket with SO_LINGER blocks whoever closes its last reference: here for longer than any
    answer is waited for."""
    with unharmed(folder) as daemon:
        server = socket.create_server(("127.0.0.1", 0))
        sender = socket.create_connection(server.getsockname())
        accepted, _ = server.accept()
        sender.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, int(10 * HANG_S)))
        sender.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while True:
                sender.send(b"x" * 65536)
        client = RawClient(daemon)
        if not client.send_fds(raw_client.hello(), [sender.fileno()]):  # then the last reference is ours
            sender.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 0, 0))
        sender.close()
        client.close()
        assert daemon.digest("s"), "the daemon does not wait for a descriptor of a client"
        accepted.close()  # a reset ends the lingering
        server.close()


def test_half_open(folder):
    with unharmed(folder) as daemon:
        clients = [RawClient(daemon) for _ in range(30)]
        for client in clients[10:]:
            client.send(raw_client.hello())
        for client in clients[20:]:
            client.socket.shutdown(socket.SHUT_WR)
        assert daemon.digest("s")
        for client in clients:
            client.close()


def test_clients_that_never_read(folder):
    def open_many(daemon):
        clients = []
        for _ in range(60):
            client = RawClient(daemon)
            client.send(raw_client.hello())
            client.send(raw_client.open_request("s", window=8))
            clients.append(client)
        assert daemon.digest("s")

    with unharmed(folder, max_user_sessions=200, max_sessions=200) as daemon:
        in_child(lambda: open_many(daemon))


def test_window_is_kept(folder):
    """A trainer has no more batches at any time than its window, however many others get meanwhile."""
    def take_all(daemon):
        client = RawClient(daemon).opened(window=3)
        held = []
        for turn in range(200):
            while len(held) < 3:
                held.append(client.batch())
            if turn % 40 == 0:
                daemon.digest("s")
            held += client.batches()
            assert len(held) == 3, f"{len(held)} batches, with a window of 3"
            for _ in range(turn % 3 + 1):
                client.send(raw_client.release(*held.pop(turn % len(held))))

    with unharmed(folder) as daemon:
        in_child(lambda: take_all(daemon))


def test_500_connections_at_few_descriptors(folder):
    prlimit = require("prlimit")
    daemon = Daemon(folder, config(folder, max_sessions=1000, max_user_sessions=1000), wrapper=[prlimit, "--nofile=64:64"])

    def connect_500():
        served = RawClient(daemon).opened()
        clients = []
        for _ in range(500):
            client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            client.setblocking(False)
            try:
                client.connect(str(daemon.sockets / "trainer.sock"))
            except (BlockingIOError, ConnectionRefusedError):
                client.close()
                continue
            clients.append(client)
        assert len(clients) > 60, f"only {len(clients)} could connect"
        wait_until(lambda: rests(daemon.pid), "the loop rests")
        assert daemon.status()["pid"] == daemon.pid, "operators always get in"
        first = served.batch()
        served.send(raw_client.release(*first))

    with daemon:
        in_child(connect_500)
        wait_until(lambda: daemon.status()["n_sessions"] == 0, "no session is left")
        assert daemon.digest("s")


def test_control_garbage(folder):
    rng = random.Random(2)
    frames = [struct.pack("<I", 0), struct.pack("<I", 2**32 - 1), struct.pack("<I", 2**20 + 1), struct.pack("<I", 5) + b"\xff" * 5,
              struct.pack("<I", 100) + b"x", b"\x01", struct.pack("<I", 2) + b"\x08\x01", struct.pack("<I", 2) + b"\x08\x63"]
    with unharmed(folder) as daemon:
        for frame in frames + [rng.randbytes(n) for n in (1, 10, 100, 5000) for _ in range(10)]:
            client = RawClient(daemon, endpoint="control.sock", kind=socket.SOCK_STREAM)
            client.send(frame)
            client.close()
        wait_until(lambda: daemon.ctl("status", check=False).returncode == 0, "an answer")
        waiting = [RawClient(daemon, endpoint="control.sock", kind=socket.SOCK_STREAM) for _ in range(20)]
        assert daemon.status()["pid"] == daemon.pid
        for client in waiting:
            client.close()


def test_copy_garbage(folder):
    rng = random.Random(3)
    with unharmed(folder) as daemon:
        for n in (1, 3, 4, 5, 63, 68, 69, 1000, 70000) * 5:
            client = RawClient(daemon, endpoint="copy.sock", kind=socket.SOCK_STREAM)
            client.send(rng.randbytes(n))
            client.close()
        for frame in (struct.pack("<I", 64) + raw_client.hello(magic=3), struct.pack("<I", 2**31),
                      struct.pack("<I", 64) + raw_client.open_request("s")[:64]):
            client = RawClient(daemon, endpoint="copy.sock", kind=socket.SOCK_STREAM)
            client.send(frame)
            assert client.is_closed(), frame
            client.close()


def frame(data_):
    return struct.pack("<I", len(data_)) + data_


def test_half_closed(folder):
    """Clients who hear nothing more: each answer of the daemon fails, at each point of what is said."""
    said = [raw_client.hello(), raw_client.open_request("s", n_epochs=1), raw_client.packet(raw_client.BYE)]
    status = struct.pack("<I", 4) + b"\x08\x01\x12\x00"
    with unharmed(folder) as daemon:
        for n in range(len(said)):
            for endpoint, kind, wrap in (("trainer.sock", socket.SOCK_SEQPACKET, bytes), ("copy.sock", socket.SOCK_STREAM, frame)):
                client = RawClient(daemon, endpoint, kind)
                for packet in said[:n]:
                    client.send(wrap(packet))
                    client.receive()
                client.socket.shutdown(socket.SHUT_RD)
                for packet in said[n:]:
                    client.send(wrap(packet))
                client.close()
        for _ in range(3):
            client = RawClient(daemon, endpoint="control.sock", kind=socket.SOCK_STREAM)
            client.socket.shutdown(socket.SHUT_RD)
            client.send(100 * status)
            client.close()


def test_a_file_that_cannot_be_read(folder):
    """A file that is not the first fails its stream, and nothing else."""
    loop = folder / "loop.csv"
    os.symlink("loop.csv", loop)
    first = folder / "numbers.csv"
    streams = {"s": data.numbers_stream([str(first)]),
               "kept": data.numbers_stream([str(first), str(loop)], cache={"path": str(folder / "cache")}),
               "indexed": data.numbers_stream([str(first), str(loop)])}
    config(folder)
    with Daemon(folder, data.yaml_text(streams, workers=2)) as daemon:
        expected = daemon.digest("s")
        for stream in ("kept", "indexed"):
            daemon.ctl("explain", stream)
            done = daemon.pull(stream, check=False)
            assert done.returncode != 0 and b"loop.csv" in done.stderr, done.stderr
        assert daemon.digest("s") == expected


def test_limits_of_a_user(folder):
    with Daemon(folder, config(folder, max_user_sessions=5)) as daemon:
        clients = [RawClient(daemon).opened() for _ in range(5)]
        client = RawClient(daemon)
        client.send(raw_client.hello())
        assert client.is_closed(), "a sixth session"
        for client in clients:
            client.close()


def test_two_users(folder):
    """What one user takes is not taken from another."""
    if os.geteuid() != 0:
        raise Skip("needs root, to act as two users")
    setpriv = require("setpriv")
    for path in (folder, *folder.iterdir()):
        os.chmod(path, 0o755)
    daemon = Daemon(folder, config(folder, max_user_sessions=3))
    os.chmod(daemon.sockets, 0o755)
    with daemon:
        for path in daemon.sockets.iterdir():
            os.chmod(path, 0o666)
        tool = folder / "bin"
        tool.mkdir()
        os.chmod(tool, 0o755)
        shutil.copy(BIN / "leatctl", tool / "leatctl")
        clients = [RawClient(daemon).opened() for _ in range(3)]
        refused = daemon.pull("s", check=False)
        assert refused.returncode != 0 and b"max_user_sessions" in refused.stderr, refused
        other = subprocess.run([setpriv, "--reuid=65534", "--regid=65534", "--clear-groups", tool / "leatctl", "pull", "s",
                                "--digest"], capture_output=True, timeout=HANG_S,
                               env={**os.environ, "LEAT_SOCKET": str(daemon.sockets)})
        assert other.returncode == 0, other.stderr.decode()
        for client in clients:
            client.close()


if __name__ == "__main__":
    leat_harness.main(globals())
