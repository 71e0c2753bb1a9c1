"""What hostile clients do: each kind is a function (world, rng) that takes a moment, and does not mind what becomes of it."""
import contextlib
import os
import random
import shutil
import signal
import socket
import struct
import subprocess
import time

import data
import files
import raw_client
from leat_harness import HANG_S, Daemon, in_child, wait_until
from raw_client import BATCH, END, GOAWAY, REFUSE, RawClient, field, hello, packet, varint

PATIENCE_S = 2  # for an answer that may never come
NASTY = b"a\x1b[2J\x1b]0;owned\x07\r\nfake line\x9b\xc2\x9b\x7f\xff"
TRAINER, COPY, CONTROL = (("trainer.sock", socket.SOCK_SEQPACKET), ("copy.sock", socket.SOCK_STREAM), ("control.sock", socket.SOCK_STREAM))
READ_VERBS = (2, 3, 4, 5, 6, 9, 13, 14, 15, 16, 17, 18, 19)
OPERATE_VERBS = (7, 8, 10, 11, 12, 20)


class Gone(Exception):
    """The daemon does not want to hear any more of it, or says nothing for a while."""


class Client(RawClient):
    """One that gives up soon."""

    def __init__(self, world, endpoint=TRAINER):
        try:
            super().__init__(world, *endpoint)
        except OSError as error:
            raise Gone from error
        self.socket.settimeout(PATIENCE_S)
        self.is_framed = endpoint == COPY

    def say(self, raw):
        try:
            self.socket.sendall(struct.pack("<I", len(raw)) + raw if self.is_framed else raw)
        except OSError as error:
            raise Gone from error

    def hear(self):
        """Some bytes or a packet."""
        try:
            raw, ancillary, _flags, _ = self.socket.recvmsg(70000, 256)
        except OSError as error:
            raise Gone from error
        for _level, _type, fds in ancillary:
            for at in range(0, len(fds) // 4 * 4, 4):
                os.close(struct.unpack_from("<i", fds, at)[0])
        if not raw:
            raise Gone
        return raw

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.close()
        return kind is Gone


def text(number, value):
    return varint(number << 3 | 2) + varint(len(value)) + value


def open_payload(stream, rank=0, world_size=0, window=4, n_epochs=1, **texts):
    return text(1, stream.encode()) + field(4, n_epochs) + field(5, rank) + field(6, world_size) + field(7, window) + \
        b"".join(text(number, value) for number, value in texts.get("more", ()))


def drive(client, stream, n_packets, keeps=0.3, rng=random, **options):
    """Opens it and takes what comes; what it keeps it does not give back."""
    client.say(hello())
    client.hear()
    client.say(packet(raw_client.OPEN, payload=open_payload(stream, **options)))
    for _ in range(n_packets):
        raw = client.hear()
        if client.is_framed:
            continue
        kind, body = struct.unpack_from("<H", raw)[0], raw[8:]
        if kind in (END, GOAWAY, REFUSE):
            return
        if kind == BATCH and rng.random() >= keeps:
            generation, epoch, step, _used, slot = struct.unpack_from("<QQQQI", body)
            client.say(raw_client.release(generation, epoch, step, slot))


def any_stream(rng):
    return rng.choice(["s", "s", "odd", "cached", "unreadable", "arrow", "nothing"])


# ---- trainers ----

def half_closed(world, rng):
    """shutdown(SHUT_RD) or (SHUT_WR) at each point of what is said, before OPEN on copy.sock too."""
    for endpoint in (COPY, TRAINER, COPY):
        said = [hello(), packet(raw_client.OPEN, payload=open_payload(any_stream(rng))), packet(raw_client.BYE)]
        n = rng.randrange(len(said))
        with Client(world, endpoint) as client:
            for raw in said[:n]:
                client.say(raw)
                client.hear()
            client.socket.shutdown(rng.choice((socket.SHUT_RD, socket.SHUT_RD, socket.SHUT_WR, socket.SHUT_RDWR)))
            for raw in said[n:]:
                client.say(raw)


def copies_killed(world, rng):
    """Copy trainers that are stopped and killed at some moment."""
    command = [world.tools / "leatctl", "pull", "s", "--delivery", rng.choice(("copy", "copy", "shared")), "--epochs", "0"]
    pullers = [subprocess.Popen(command, env={**os.environ, "LEAT_SOCKET": str(world.sockets)}, stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL) for _ in range(rng.randint(1, 2))]
    time.sleep(rng.uniform(0, 0.3))
    for puller in pullers:
        if rng.random() < 0.5:
            puller.send_signal(signal.SIGSTOP)
            time.sleep(rng.uniform(0, 0.2))
        puller.kill()
        puller.wait()


def repeated_in_open(world, rng):
    """Singular submessages that come several times, whole and broken."""
    start = [text(3, field(1, 0) + field(2, n)) for n in range(3)] + [text(3, text(3, b"x" * 32)), text(3, b"\xff")]
    spec = [text(2, text(1, b"own") + text(5, text(1, b"csv") + text(2, b""))), text(2, world.spec or b""), text(2, b"\x0a\xff")]
    for _ in range(5):
        parts = [rng.choice(start + spec + [text(1, b"s"), text(10, NASTY), field(5, 1), field(7, 3)]) for _ in range(rng.randint(2, 40))]
        with Client(world, rng.choice((TRAINER, COPY))) as client:
            client.say(hello())
            client.hear()
            client.say(packet(raw_client.OPEN, payload=b"".join(parts)[:60000]))
            client.hear()


def own_specs(world, rng):
    """A trainer's own stream, as one that is declared or damaged."""
    for _ in range(3):
        spec = files.mutate(rng, world.spec or b"x", 4) if rng.random() < 0.8 else world.spec or b""
        with Client(world, rng.choice((TRAINER, COPY))) as client:
            client.say(hello())
            client.hear()
            client.say(packet(raw_client.OPEN, payload=text(2, spec)[:60000] + field(7, 2)))
            client.hear()
            client.hear()


def hostile_files(world, rng):
    """Streams whose files are others each time: unreadable ones behind good ones, Arrow, JSONL, caches."""
    name = rng.choice(["unreadable", "arrow", "odd", "cached"])
    if name == "cached":
        world.cache.spoil(rng)
    else:
        spoil, file = {"unreadable": (files.unreadable, "second.csv"), "arrow": (files.arrow, "hostile.arrow"),
                       "odd": (files.jsonl, "odd.jsonl")}[name]
        spoil(rng, world.files / file)
    with Client(world, rng.choice((TRAINER, TRAINER, COPY))) as client:
        drive(client, name, 60, keeps=0.02, rng=rng, window=8)


def absent_ranks(world, rng):
    """Some of many ranks, which hold what they get; the others never come."""
    size = rng.choice((2, 4, 64, 1000, 2**32 - 1))
    with contextlib.ExitStack() as stack:
        for _ in range(rng.randint(1, 4)):
            client = stack.enter_context(Client(world))
            with contextlib.suppress(Gone):
                drive(client, "s", rng.randint(1, 20), keeps=0.5, rng=rng, rank=rng.randrange(min(size, 2**31)), world_size=size,
                      window=rng.choice((1, 3, 64)))


def names(world, rng):
    with Client(world, rng.choice((TRAINER, COPY))) as client:
        drive(client, rng.choice(("s", NASTY.decode("latin-1"))), 5, rng=rng, more=((10, NASTY * rng.randint(1, 20)), (22, NASTY)))


def garbage(world, rng):
    for _ in range(10):
        with Client(world, rng.choice((TRAINER, COPY, CONTROL))) as client:
            for _ in range(rng.randrange(1, 4)):
                client.say(rng.randbytes(rng.choice((1, 7, 8, 63, 64, 65, 200, 4096, 65000))))


def half_open(world, rng):
    """Those who come and say nothing, or half of something."""
    with contextlib.ExitStack() as stack:
        for endpoint in rng.choices((TRAINER, COPY, CONTROL), k=12):
            with contextlib.suppress(Gone):
                client = stack.enter_context(Client(world, endpoint))
                client.socket.send(hello()[:rng.randrange(1, 65)] if rng.random() < 0.6 else b"\x05")
        time.sleep(rng.uniform(0, 0.3))


def descriptors(world, rng):
    for n in (1, 3, 200):
        with Client(world, rng.choice((TRAINER, COPY, CONTROL))) as client:
            fds = [os.open("/dev/null", os.O_RDONLY) for _ in range(n)]
            with contextlib.suppress(OSError):
                client.send_fds(hello(), fds)
            for fd in fds:
                os.close(fd)


def slots_and_death(world, rng):
    """Processes that hold slots and die, and some that leave a child with the connection."""
    pid = os.fork()
    if pid == 0:
        with contextlib.suppress(BaseException):
            client = Client(world)
            drive(client, "s", rng.randint(1, 30), keeps=1, rng=rng, window=rng.choice((1, 8, 64)), n_epochs=0)
            if rng.random() < 0.3 and os.fork() == 0:
                time.sleep(0.5)
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(pid, 0)


def wrong_releases(world, rng):
    with Client(world) as client:
        client.say(hello())
        client.hear()
        client.say(packet(raw_client.OPEN, payload=open_payload("s", n_epochs=0)))
        for _ in range(8):
            raw = client.hear()
            if struct.unpack_from("<H", raw)[0] != BATCH:
                continue
            place = list(struct.unpack_from("<QQQQI", raw[8:]))
            del place[3]
            client.say(raw_client.release(*place))
            if rng.random() < 0.3:
                place[rng.randrange(4)] = rng.choice((0, 1, 2**31, 2**32 - 1))
                client.say(raw_client.release(*place))


# ---- operators' socket, and metrics ----

def request(verb, body=b""):
    raw = field(1, 1) + text(verb, body)
    return struct.pack("<I", len(raw)) + raw


def control_garbage(world, rng):
    """Frames that hold no message, are too long, come in pieces."""
    with Client(world, CONTROL) as client:
        for _ in range(20):
            raw = rng.randbytes(rng.choice((0, 1, 5, 100)))
            client.say(struct.pack("<I", rng.choice((len(raw), len(raw), 0, 2**20 + 1, 2**32 - 1))) + raw)
            if rng.random() < 0.2:
                client.hear()


def control_verbs(world, rng):
    """Verbs that are refused, several in one request, submessages twice."""
    with Client(world, CONTROL) as client:
        for _ in range(20):
            known = READ_VERBS + OPERATE_VERBS if world.is_other else READ_VERBS  # else they would be obeyed
            verbs = rng.choices(known, k=rng.choice((1, 1, 2, 5)))
            raw = field(1, 1) + b"".join(text(verb, rng.choice((b"", b"", text(1, b"s"), text(1, NASTY), b"\xff"))) for verb in verbs)
            client.say(struct.pack("<I", len(raw)) + raw)
            if rng.random() < 0.7:
                client.hear()


def control_big(world, rng):
    """Requests of as many bytes as are allowed, of many specs and names."""
    body = text(2, (world.spec or b"") * 3) * rng.randint(1, 3) + text(1, b"x" * rng.choice((10, 100000, 900000)))
    with Client(world, CONTROL) as client:
        for _ in range(3):
            client.say(request(rng.choice((4, 5, 6, 9, 16)), body[:1000000]))
            client.hear()


def control_deaf(world, rng):
    """Asks and does not read; subscribes and does not read."""
    with Client(world, CONTROL) as client:
        client.socket.setblocking(False)
        with contextlib.suppress(OSError):
            for _ in range(rng.choice((10, 1000))):
                client.socket.send(request(rng.choice((3, 4, 15, 17)), field(2, 100) if rng.random() < 0.5 else b""))
        time.sleep(rng.uniform(0, 0.3))


def http(world, rng):
    good = b"GET /history.json?after=12&tens=1 HTTP/1.1\r\nHost: localhost\r\nAccept: text/plain\r\n\r\n"
    for _ in range(5):
        with Client(world, ("http.sock", socket.SOCK_STREAM)) as client:
            client.say(rng.choice((good, files.mutate(rng, good), b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", good[:20])))
            client.socket.settimeout(0.2)
            while rng.random() < 0.9:
                client.hear()


def flood(world, rng):
    """Connections without end. Where all are one user it would be the good trainer's flood too, and is left out."""
    if not world.is_other:
        return
    name, kind = rng.choice((("trainer", "seqpacket"), ("copy", "stream"), ("control", "stream"), ("http", "stream")))
    subprocess.run([world.tools / "flood", world.sockets / f"{name}.sock", kind, str(world.n_flood), rng.choice(("0", "0", "64", "4096"))],
                   check=True)


# ---- daemons of their own ----

def complaints(log):
    """What sanitizers and the daemon itself say of what must not be."""
    words = ("AddressSanitizer", "LeakSanitizer", "ThreadSanitizer", "runtime error:", "Assertion", "event=stuck")
    return [line for line in log.split("\n") if any(word in line for word in words)][:20]


@contextlib.contextmanager
def own_daemon(world, rng, **settings):
    folder = world.folder / f"own-{os.getpid()}-{rng.randrange(10**9)}"
    folder.mkdir()
    (folder / "n.csv").write_text("id\n" + "".join(f"{i}\n" for i in range(3000)))
    with Daemon(folder, data.yaml_text({"s": data.numbers_stream([str(folder / "n.csv")])}, workers=2, **settings)) as daemon:
        yield daemon
    assert not complaints(daemon.log), complaints(daemon.log)
    shutil.rmtree(folder)


def end_well(daemon):
    """It ended by itself."""
    assert daemon.process.wait(HANG_S) == 0, daemon.log[-3000:]
    daemon.was_stopped = True


def drained(world, rng):
    """A daemon is drained while copy trainers pull, hold, are stopped, and are killed."""
    with own_daemon(world, rng) as daemon:
        env = {**os.environ, "LEAT_SOCKET": str(daemon.sockets)}
        command = [world.tools / "leatctl", "pull", "s", "--epochs", "0", "--reconnect", "0", "--delivery"]
        pullers = [subprocess.Popen([*command, how], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                   for how in ("copy", "copy", "shared")]
        wait_until(lambda: daemon.status()["n_batches"] > 0, "batches")
        pullers[0].send_signal(signal.SIGSTOP)
        drain = subprocess.Popen([world.tools / "leatctl", "drain", "--timeout", rng.choice(("1", "600"))], env=env,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(rng.uniform(0, 0.3))
        for puller in pullers:
            puller.kill()
        for process in (*pullers, drain):
            process.wait(HANG_S)
        end_well(daemon)


def tight(world, rng):
    """A memory_limit that hardly does, with ranks that hold what they have and ranks that are not there."""
    size = f"{rng.choice((40, 48, 64))}MiB"
    with own_daemon(world, rng, memory_limit=size, max_user_memory=size) as daemon:
        def hold():
            clients = []
            for _ in range(rng.randint(2, 8)):
                with contextlib.suppress(Gone):
                    clients.append(Client(daemon, rng.choice((TRAINER, COPY))))
                    drive(clients[-1], "s", rng.randint(1, 5), keeps=1, rng=rng, rank=rng.randrange(4), world_size=4,
                          window=rng.choice((1, 64)), n_epochs=0)

        in_child(hold)
        wait_until(lambda: daemon.status()["n_sessions"] == 0, "no session is left")
        daemon.pull("s", "--batches", "3", check=False)


def kicked(world, _rng):
    """An operator ends the hostile sessions of the great daemon."""
    env = {**os.environ, "LEAT_SOCKET": str(world.sockets)}
    for stream in ("s", "odd"):
        subprocess.run([world.tools / "leatctl", "kick", "--stream", stream], env=env, timeout=HANG_S, check=False,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


OF_CLIENTS = [half_closed, copies_killed, repeated_in_open, own_specs, hostile_files, hostile_files, hostile_files, absent_ranks, names, garbage,
              half_open, descriptors, slots_and_death, wrong_releases, control_garbage, control_verbs, control_big, control_deaf, http, flood]
OF_OPERATORS = [drained, tight, kicked]
