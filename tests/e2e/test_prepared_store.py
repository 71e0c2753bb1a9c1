#!/usr/bin/env python3
"""Prepared sets in an object store: shards are stored whole or not at all, and trained from without the source.

    test_prepared_store.py BIN [PATTERN]

S3 is moto_server (PyPI), which verifies signatures; faulty stores are Python's.
"""
import contextlib
import concurrent.futures
import errno
import json
import os
import socket
import struct
import subprocess
import threading

import data
import leat_harness
from leat_harness import BIN, SLOW, Daemon, ctl, find_digest
from object_server import ObjectServer
from object_store import NO_AWS, Moto, need_fetch

N_ROWS = 12000
SET = "s3://data/sets/web/"
SECRET = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
TIMEOUT = f"{int(20 * SLOW)}s"


def env_of(server, folder, **more):
    """For leatctl: where the store is, and a cache of blocks of its own."""
    settings = folder / "fetch.yaml"
    settings.write_text(data.yaml_text({}, fetch={"path": str(folder / "blocks"), "timeout": TIMEOUT, **more}))
    return {**NO_AWS, "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": server.url, "TMPDIR": str(folder), "LEAT_FETCH_CONFIG": str(settings)}


def write(folder, name, n_rows=N_ROWS, block_bytes=16384, shuffle=None, **options):
    csv = data.titanic(folder, n_rows)
    stream = data.titanic_stream(csv, block_bytes=block_bytes, **options)
    stream["stages"] = [{"shuffle": shuffle or {"buffer_size": 500}} if "shuffle" in stage else stage for stage in stream["stages"]]
    file = folder / f"{name}.yaml"
    file.write_text(data.yaml_text({"s": stream}))
    return file, csv


def write_pair(folder, shuffle, name="s", **options):
    """The same stream from its source, and from the set."""
    plain, csv = write(folder, f"{name} of the source", shuffle=shuffle, **options)
    prepared, _ = write(folder, f"{name} of the set", shuffle=shuffle, cache={"prepared": SET}, **options)
    return plain, prepared, csv


def prepare(file, env, n=4, **keywords):
    for i in range(n):
        ctl("prepare", file, "--shard", f"{i}/{n}", "-o", SET, env=env, **keywords)


def seal(file, env):
    return json.loads(ctl("prepare", file, "--seal", "-o", SET, "--json", env=env).stdout)


def digest(file, env, *words):
    return find_digest(ctl("run", file, "--no-daemon", "--digest", *words, env=env).stdout)


def forget(folder):
    """Removes the copies of blocks."""
    for path in (folder / "blocks").glob("*.block"):
        path.unlink()


def write_large(folder):
    """A stream whose shards are larger than the smallest part of an upload, if there are two; and the same from a set."""
    names = [f"n{k}" for k in range(12)]
    with open(folder / "large.jsonl", "w", encoding="ascii") as file:
        for i in range(140000):
            file.write(json.dumps({name: (i * 0x9E3779B97F4A7C15 + k) % 2**62 for k, name in enumerate(names)}) + "\n")
    files = []
    for name, options in (("large", {}), ("large set", {"cache": {"prepared": SET}})):
        files.append(folder / f"{name}.yaml")
        files[-1].write_text(data.yaml_text({"s": {
            "source": {"jsonl": {"paths": [str(folder / "large.jsonl")], "fields": {name: "int64" for name in names}}}, **options,
            "stages": [{"batch": {"batch_size": 500}}]}}))
    return files


def failure(*command, env):
    done = ctl(*command, env=env, check=False)
    text = done.stderr.decode() + done.stdout.decode()
    assert done.returncode != 0, text
    assert SECRET not in text and "AKIDEXAMPLE" not in text, text
    return text


def test_s3(folder):
    """With signatures that are verified: the batches and positions of the source, in each order, for each world, without it."""
    need_fetch()
    (folder / "empty").mkdir()
    with Moto(folder / "empty") as moto:
        env = {**env_of(moto, folder), **moto.env()}
        for name, shuffle in (("window", {"buffer_size": 500}), ("blocks", {"blocks": True, "block_size": 64, "buffer_size": 300}),
                              ("global", {"global": True})):
            at = f"{SET}{name}/"
            plain, csv = write(folder, f"{name} plain", shuffle=shuffle)
            prepared, _ = write(folder, f"{name} set", shuffle=shuffle, cache={"prepared": at})
            for i in (3, 1, 0, 2):  # the file that trains prepares as well
                ctl("prepare", prepared if i else plain, "--shard", f"{i}/4", "-o", at, env=env)
            again = json.loads(ctl("prepare", plain, "--shard", "2/4", "-o", at, "--json", env=env).stdout)
            assert again["is_complete"] and again["n_built_records"] == 0, again
            counts = json.loads(ctl("prepare", plain, "--seal", "-o", at, "--json", env=env).stdout)
            assert counts["n_shards"] == 4 and counts["n_records"] == N_ROWS, counts
            worlds = [(), ("--world-size", 3, "--rank", 2), ("--epochs", 2)]
            expected = [digest(plain, env, *world) for world in worlds]
            ctl("run", plain, "--no-daemon", "--batches", 37, "--save-position", folder / "position", env=env)
            rest = digest(plain, env, "--position", f"@{folder / 'position'}")
            aside = csv.rename(folder / "aside")
            assert [digest(prepared, env, *world) for world in worlds] == expected, name
            assert digest(prepared, env, "--position", f"@{folder / 'position'}") == rest, name
            ctl("run", prepared, "--no-daemon", "--batches", 37, "--save-position", folder / "position of the set", env=env)
            assert (folder / "position of the set").read_bytes() == (folder / "position").read_bytes()
            for command in ("check", "explain"):
                ctl(command, prepared, env=env)
            aside.rename(csv)
        with Daemon(folder, prepared, env=env) as daemon:
            assert daemon.digest("s", "--epochs", 2) == expected[2]
        text = failure("prepare", plain, "--shard", "0/5", "-o", at, env={**env, "AWS_SECRET_ACCESS_KEY": "wrong"})
        assert at in text and "HTTP 403" in text, text
        assert not [path for path in folder.iterdir() if path.name.endswith(".tmp")]


def test_same_as_in_a_folder(folder):
    """set.json is the same in a folder and in a store, and so are the shards; `cache merge` takes them from there."""
    need_fetch()
    plain, prepared, csv = write_pair(folder, {"buffer_size": 500})
    kept, _ = write(folder, "kept", shuffle={"buffer_size": 500}, cache={"path": str(folder / "kept")})
    with ObjectServer() as server:
        env = env_of(server, folder)
        prepare(plain, env)
        seal(plain, env)
        for i in range(4):
            ctl("prepare", plain, "--shard", f"{i}/4", "-o", folder / "shards", env=env)
        ctl("prepare", plain, "--seal", "-o", folder / "shards", env=env)
        here = {path.name: path.read_bytes() for path in (folder / "shards").iterdir()}
        there = {path.removeprefix("data/sets/web/"): body for path, body in server.objects.items()}
        assert here == there
        ctl("cache", "merge", kept, "--shards", SET, env=env)
        assert digest(kept, env) == digest(prepared, env) == digest(plain, env)
        posts = [headers for method, _, _, headers in server.requests if method == "PUT"]
        assert [headers.get("If-None-Match") for headers in posts] == ["*"] * 4 + [None], "only set.json is replaced"
        failed = ctl("prepare", plain, "--shard", "0/4", "-o", f"{server.url}/data/sets/web", env=env, check=False)
        assert failed.returncode == 2 and b", a web server" in failed.stderr
        with_path, _ = write(folder, "path", cache={"path": SET})
        assert "`prepared`" in failure("run", with_path, "--no-daemon", env=env)


def test_only_what_is_wanted(folder):
    """Opening a set takes few requests and few bytes; a rank reads the blocks of its lanes only, and the second time none."""
    need_fetch()
    shuffle = {"blocks": True, "block_size": 64, "buffer_size": 256, "lanes": 16}
    plain, prepared, csv = write_pair(folder, shuffle, n_rows=N_ROWS)
    with ObjectServer() as server:
        env = env_of(server, folder)
        prepare(plain, env)
        seal(plain, env)
        csv.unlink()
        forget(folder)
        server.requests.clear()
        ctl("explain", prepared, env=env)
        assert len(server.requests) == 2, server.requests  # HEAD and GET of set.json
        def n_bytes():
            """Of shards."""
            asked = [(path, headers.get("Range", f"bytes=0-{len(server.objects[path]) - 1}").removeprefix("bytes=").split("-"))
                     for method, path, _, headers in server.requests if method == "GET" and path.endswith(".leat")]
            return sum(int(last) - int(first) + 1 for _, (first, last) in asked)
        n_all = sum(len(body) for path, body in server.objects.items() if path.endswith(".leat"))
        server.requests.clear()
        rank = ("--rank", 3, "--world-size", 8)
        expected = digest(prepared, env, *rank)
        share = n_bytes() / n_all
        n_opening = sum(path.endswith("set.json") or "list-type" in query for _, path, query, _ in server.requests)
        assert n_opening == 2, server.requests  # HEAD of set.json, one list
        assert not [path for method, path, _, _ in server.requests if method == "HEAD" and path.endswith(".leat")]
        assert 1 / 8 <= share < 1 / 4, share  # and the index
        server.requests.clear()
        assert digest(prepared, env, *rank) == expected and n_bytes() == 0
        assert not [path for method, path, _, _ in server.requests if method == "GET" and path.endswith(".leat")]


def test_reads_ahead(folder):
    """A reader that goes from block to block gets large ones ahead, each once, also from one shard to the next."""
    need_fetch()
    plain, prepared, csv = write_pair(folder, {"buffer_size": 500})
    with ObjectServer() as server:
        env = env_of(server, folder, block=16384)
        prepare(plain, env)
        seal(plain, env)
        csv.unlink()
        server.requests.clear()
        third, held = threading.Event(), []

        def hold(handler):
            """The second block comes once the third one was asked for: a reader of one thread needs it ahead for that."""
            if handler.headers.get("Range", "").startswith("bytes=32768-"):
                third.set()
            if handler.headers.get("Range") == "bytes=16384-32767":
                held.append(third.wait(10 * SLOW))
            return False
        server.faults = {min(path for path in server.objects if path.endswith(".leat")): hold}
        digest(prepared, env)
        assert held == [True], held
        ranges = [(path, headers["Range"]) for method, path, _, headers in server.requests if path.endswith(".leat") and "Range" in headers]
        assert len(ranges) == len(set(ranges)), "each block is read once"
        grid = sum(-(-len(body) // 16384) for path, body in server.objects.items() if path.endswith(".leat"))
        assert len(ranges) <= grid + 8, (len(ranges), grid)  # and both ends of each shard


def test_many_attempts(folder):
    """Attempts at once, in one request and in parts: each succeeds, and one shard is there."""
    need_fetch()
    (folder / "empty").mkdir()
    plain, prepared = write_large(folder)
    with Moto(folder / "empty") as moto, ObjectServer() as server:
        for env in ({**env_of(moto, folder, part="5MiB"), **moto.env()}, env_of(server, folder, part="5MiB")):
            def attempt(i, env=env):
                return json.loads(ctl("prepare", plain, "--shard", f"{i % 2}/2", "-o", SET, "--json", "--workers", 1, env=env).stdout)
            with concurrent.futures.ThreadPoolExecutor() as pool:
                done = list(pool.map(attempt, range(4 if SLOW == 1 else 3)))
            assert all(shard["is_complete"] and shard["n_bytes"] > 5 << 20 for shard in done), done
            seal(plain, env)
            assert digest(prepared, env) == digest(plain, env)
        parts = [query for method, _, query, _ in server.requests if method == "PUT" and "partNumber" in query]
        assert len(parts) >= 4 and not server.uploads, server.uploads


def test_faults_of_storing(folder):
    """What helps is tried again; what does not is told with the URL, and leaves nothing."""
    need_fetch()
    plain, csv = write(folder, "plain", n_rows=3000)
    large, _ = write_large(folder)
    with ObjectServer() as server:
        env = env_of(server, folder, part="5MiB")
        prepare(plain, env, n=2)
        names = sorted(server.objects)
        good = dict(server.objects)

        def attempt(faults, objects=None, check=True, method="PUT"):
            """The first shard, where a store has these faults, one for each request of that method."""
            server.objects = dict(objects or {})
            server.requests.clear()
            server.faults = {names[0]: lambda handler: handler.command == method and bool(faults) and faults.pop(0)(handler)}
            done = ctl("prepare", plain, "--shard", "0/2", "-o", SET, env=env, check=check)
            server.faults = {}
            return done.stderr.decode()

        def busy(handler):
            handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
            handler.error(503, "SlowDown")
            return True

        def conflict(handler):
            handler.rfile.read(int(handler.headers["Content-Length"]))
            handler.error(409, "ConditionalRequestConflict")
            return True

        def lost(handler):
            """It is stored, and the answer does not come."""
            server.objects[names[0]] = handler.rfile.read(int(handler.headers["Content-Length"]))
            return handler.reset()

        def late(handler):
            """Another attempt is faster."""
            server.objects[names[0]] = good[names[0]]
            return False

        def other(handler):
            server.objects[names[0]] = b"something else"
            return False

        for faults in ([busy, busy], [lambda handler: handler.reset()], [conflict], [lost], [late]):
            attempt(faults)
            assert server.objects == {names[0]: good[names[0]]}, faults
        for status, what in ((403, "HTTP 403"), (404, "HTTP 404"), (501, "HTTP 501"), (307, "is redirected (HTTP 307)")):
            def refuse(handler, status=status):
                handler.rfile.read(int(handler.headers["Content-Length"]))
                handler.error(status, f"Code{status}")
                return True
            told = attempt([refuse, refuse], check=False)
            assert what in told and f"s3://{names[0]}" in told and not server.objects, told
        told = attempt([other], check=False)
        assert "this object is not the expected shard" in told and f"s3://{names[0]}" in told, told
        assert server.objects == {names[0]: b"something else"}, "what is there is not replaced"
        told = attempt([], {names[0]: good[names[1]]}, check=False)
        assert "it belongs to another set" in told and "remove the object" in told, told
        check_parts(server, large, env, busy)


def check_parts(server, large, env, busy):
    """An upload in parts that fails is given up, and its parts are removed."""
    server.objects = {}
    def attempt(method, key, what, faults):
        server.requests.clear()
        def fault(handler):
            return handler.command == method and key in handler.path and bool(faults) and faults.pop(0)(handler)
        server.faults = Always(fault)
        done = ctl("prepare", large, "--shard", "0/2", "-o", SET, env=env, check=what is None)
        server.faults = {}
        assert not server.uploads, server.uploads
        if what is None:
            assert len(server.objects) == 1
        else:
            assert what in done.stderr.decode() and not server.objects, done.stderr
        server.objects = {}

    def answer(status, body):
        def fault(handler):
            handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
            handler.answer(status, body)
            return True
        return fault
    attempt("PUT", "partNumber", None, [busy])
    attempt("PUT", "partNumber=2", "HTTP 403", [answer(403, b"")] * 2)
    attempt("PUT", "partNumber=2", "sends no ETag for an uploaded part", [answer(200, b"")])
    attempt("POST", "uploads", "contains no upload id", [answer(200, b"<a/>")])
    attempt("POST", "uploadId", "InternalError", [answer(200, b"<Error><Code>InternalError</Code></Error>")])
    attempt("POST", "uploadId", "does not say why", [answer(200, b"<Comp")])


class Always(dict):
    """The same fault for each path."""

    def __init__(self, fault):
        super().__init__()
        self.fault = fault

    def get(self, _path, _default=None):
        return self.fault


def test_bad_sets(folder):
    """A set that is not sealed, not whole, or changed is named, with the command to run."""
    need_fetch()
    plain, prepared, csv = write_pair(folder, {"buffer_size": 500})
    with ObjectServer() as server:
        env = env_of(server, folder)
        prepare(plain, env)
        told = failure("run", prepared, "--no-daemon", env=env)
        assert "the set is not sealed" in told and f"--seal -o {SET}" in told, told
        names = sorted(server.objects)
        missing = server.objects.pop(names[2])
        told = failure("prepare", plain, "--seal", "-o", SET, env=env)
        assert "shard 2/4 is missing" in told and "--shard 2/4" in told, told
        server.objects[names[2]] = missing
        seal(plain, env)
        del server.objects[names[2]]
        told = failure("run", prepared, "--no-daemon", env=env)
        assert "shard 2/4 is missing" in told and f"s3://{names[2]}" in told, told
        server.objects[names[2]] = server.objects[names[1]]
        told = failure("run", prepared, "--no-daemon", env=env)
        assert "is not the sealed shard" in told and f"s3://{names[2]}" in told, told
        assert "is the same shard as" in failure("prepare", plain, "--seal", "-o", SET, env=env)
        server.objects[names[2]] = missing
        # the same number twice: of other data
        csv.write_bytes(csv.read_bytes() + csv.read_bytes().splitlines(True)[-1])
        ctl("prepare", plain, "--shard", "1/4", "-o", SET, env=env)
        told = failure("prepare", plain, "--seal", "-o", SET, env=env)
        assert "was made from other data" in told and "s3://data/sets/web/" in told, told
        csv.write_bytes(b"".join(csv.read_bytes().splitlines(True)[:-1]))
        for name in set(server.objects) - {*names, "data/sets/web/set.json"}:
            del server.objects[name]
        for status, what in ((403, "HTTP 403"), (400, "HTTP 400")):
            for name in (names[2], "data/sets/web/set.json"):
                forget(folder)
                server.faults = {name: lambda handler, status=status: handler.error(status, "No") or True}
                told = failure("run", prepared, "--no-daemon", env=env)
                assert what in told and f"s3://{name}" in told, told
        forget(folder)
        def busy(handler):
            handler.error(503, "SlowDown")
            return True
        server.faults = {name: [busy, None, busy] for name in [*names, "data/sets/web/set.json"]}
        assert digest(prepared, env) == digest(plain, env)
        text = server.objects["data/sets/web/set.json"]
        for bad in (b"", b"{}", text[:-9], text.replace(b'"n_rows"', b'"n_row"'), b"[" * 4000):
            server.objects["data/sets/web/set.json"] = bad
            assert "set.json" in failure("run", prepared, "--no-daemon", env=env), bad[:50]


def test_damage(folder):
    """A flipped byte, a short body, another version: the block and the object are named; it is made again where the source is at hand."""
    need_fetch()
    for name, shuffle in (("window", {"buffer_size": 500}), ("blocks", {"blocks": True, "block_size": 64, "buffer_size": 300})):
        plain, prepared, csv = write_pair(folder, shuffle, name)
        with ObjectServer() as server:
            env = env_of(server, folder)
            prepare(plain, env)
            seal(plain, env)
            expected = digest(plain, env)
            shard = sorted(server.objects)[2]
            whole = server.objects[shard]
            for how in ("flipped", "short", "changed"):
                forget(folder)
                server.objects[shard], server.faults = whole, {}
                if how == "flipped":
                    flipped = bytearray(whole)
                    for at in (9000, 9200):  # one of them is not in the head of a block
                        flipped[at] ^= 4
                    server.objects[shard] = bytes(flipped)
                elif how == "short":
                    server.faults = {shard: short}
                else:
                    server.faults = {shard: Changing(server, shard)}
                done = ctl("run", prepared, "--no-daemon", "--digest", env=env)
                assert find_digest(done.stdout) == expected, how
                if how == "flipped":
                    assert f"s3://{shard}".encode() in done.stderr and b"block at byte" in done.stderr, done.stderr
                aside = csv.rename(folder / "aside")
                forget(folder)
                server.objects[shard] = whole if how != "flipped" else server.objects[shard]
                if how == "changed":
                    server.faults = {shard: Changing(server, shard)}
                told = failure("run", prepared, "--no-daemon", "--digest", env=env)
                assert f"s3://{shard}" in told and str(csv) in told, told
                assert {"flipped": "block at byte", "short": "instead of", "changed": "changed since"}[how] in told, (how, told)
                aside.rename(csv)
            server.objects[shard], server.faults = whole, {}
            # only the copy on this disk is damaged
            assert digest(prepared, env) == expected
            for path in (folder / "blocks").glob("*.block"):
                bytes_of = bytearray(path.read_bytes())
                bytes_of[len(bytes_of) // 2] ^= 1
                path.write_bytes(bytes_of)
            done = ctl("run", prepared, "--no-daemon", "--digest", env=env)
            assert find_digest(done.stdout) == expected and b"damaged" not in done.stderr, done.stderr


def test_connections(folder):
    """A daemon keeps no connection to leat-fetch for each shard, of which there may be more than leat-fetch takes clients."""
    need_fetch()
    plain, prepared, csv = write_pair(folder, {"buffer_size": 500}, n_rows=3000)
    with ObjectServer() as server:
        env = env_of(server, folder)
        prepare(plain, env, n=12)
        seal(plain, env)
        csv.unlink()
        with Daemon(folder, prepared, env=env) as daemon:
            def n_sockets():
                n = 0
                for fd in os.listdir(f"/proc/{daemon.pid}/fd"):
                    with contextlib.suppress(FileNotFoundError):  # it was closed meanwhile
                        n += os.readlink(f"/proc/{daemon.pid}/fd/{fd}").startswith("socket:")
                return n
            before = n_sockets()
            trainer = subprocess.Popen([BIN / "leatctl", "pull", "s", "--epochs", "0"], stdout=subprocess.DEVNULL,
                                       env={**os.environ, "LEAT_SOCKET": str(daemon.sockets)})
            try:
                leat_harness.wait_until(lambda: any(session["n_batches"] > 200 for session in daemon.sessions()), "batches come")
                assert n_sockets() < before + 12, (before, n_sockets())
            finally:
                trainer.terminate()
                trainer.wait()


STORE = 6  # a verb of proto/fetch.h


def test_service_stores_nothing(folder):
    """The service, which may have other credentials than its clients, refuses to store, whatever they ask for."""
    need_fetch()
    with ObjectServer() as server, open(folder / "data", "w+b") as file:
        env = env_of(server, folder)
        file.write(b"some bytes")
        file.flush()
        service = subprocess.Popen([BIN / "leat-fetch", "--config", env["LEAT_FETCH_CONFIG"], "--socket", folder / "fetch.sock"],
                                   env={**os.environ, **env})
        try:
            leat_harness.wait_until((folder / "fetch.sock").exists, "leat-fetch listens")
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
                client.connect(str(folder / "fetch.sock"))
                head = struct.pack("=6I2Q16s", 2, STORE, 0, 0, 0, 0, 0, 0, b"")
                socket.send_fds(client, [head + b"s3://data/sets/web/x\0"], [file.fileno()])
                reply = client.recv(65536)
            (code,) = struct.unpack_from("=i", reply)
            assert code == -errno.EPERM and b"leat-fetch does not upload objects" in reply, reply
            assert not server.requests and not server.objects
            plain, _ = write(folder, "plain", n_rows=3000)
            prepare(plain, {**env, "LEAT_FETCH_SOCKET": str(folder / "fetch.sock")}, n=2)  # by one of its own
            assert len(server.objects) == 2
        finally:
            service.terminate()
            assert service.wait(leat_harness.HANG_S) == 0


def short(handler):
    """Of blocks a byte less comes than was asked for; both ends of a shard come as they are."""
    if handler.command != "GET":
        return False
    body = handler.server.objects[handler.path.lstrip("/")]
    if "Range" not in handler.headers:
        handler.answer(200, body[:-1])
        return True
    first, last = map(int, handler.headers["Range"].removeprefix("bytes=").split("-"))
    if first == 0 or last == len(body) - 1:
        return False
    handler.answer(206, body[first:last], {"Content-Range": f"bytes {first}-{last}/{len(body)}"})
    return True


class Changing:
    """The object becomes another one once it was opened."""

    def __init__(self, server, name):
        self.server, self.name, self.n = server, name, 0

    def __call__(self, handler):
        self.n += handler.command == "GET"
        if self.n == 3:
            self.server.objects[self.name] = bytes(len(self.server.objects[self.name]))
        return False


if __name__ == "__main__":
    leat_harness.main(globals())
