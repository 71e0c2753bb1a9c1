#!/usr/bin/env python3
"""Data from object stores and web servers: what leat-fetch reads is what lies on a disk; faults of servers; who may name what.

    test_fetch.py BIN [PATTERN]

S3 is moto_server (PyPI), which verifies signatures; faulty servers are Python's.
"""
import errno
import gzip
import json
import os
import pathlib
import re
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

import data
import leat_harness
from leat_harness import BIN, SLOW, Daemon, Skip, ctl, find_digest, note_skipped, require
from object_server import ObjectServer, etag
from object_store import NO_AWS, Moto, free_port, need_fetch

SECRET = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
ENV = {**NO_AWS, "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_REGION": "us-east-1"}


def rows(n_files=4, n_rows=3000):
    """Files of JSON Lines, some of them compressed, by name."""
    files = {}
    for k in range(n_files):
        text = "".join(json.dumps({"n": k * n_rows + i, "t": "x" * (i % 40)}) + "\n" for i in range(n_rows)).encode()
        files.update({f"{k}.jsonl.gz": gzip.compress(text, mtime=0)} if k % 2 else {f"{k}.jsonl": text})
    return files


def write(folder, paths, name="s.yaml", settings=None, **source):
    """A file of settings with a cache of its own and one stream."""
    file = folder / name
    file.write_text(data.yaml_text({"s": {"source": {"jsonl": {"paths": paths, "fields": {"n": "int64"}, **source}},
                                          "stages": [{"batch": {"batch_size": 50}}]}},
                                   fetch={"path": str(folder / "cache"), "block": 16384, "timeout": "20s", **(settings or {})}))
    return file


def on_disk(folder, files, below="web"):
    for name, text in files.items():
        path = folder / below / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text)
    return str(folder / below)


def run(file, *words, env=None, **keywords):
    """leatctl run without a daemon."""
    return ctl("run", file, "--no-daemon", "--digest", "--epochs", 1, *words, env={**ENV, **(env or {})}, **keywords)


def digest(file, *words, **keywords):
    return find_digest(run(file, *words, **keywords).stdout)


def failure(file, **keywords):
    """What a run says that must fail, which is one error."""
    done = run(file, check=False, **keywords)
    text = done.stderr.decode() + done.stdout.decode()
    assert done.returncode != 0, text
    assert SECRET not in text and "AKIDEXAMPLE" not in text, text
    assert len([line for line in text.splitlines() if "://" in line]) == 1, text
    return text


def test_web(folder):
    """By leatctl alone, by a private daemon and by a daemon: as from the disk, in one request a block, and none the second time."""
    need_fetch()
    files = rows()
    local = write(folder, [f"{on_disk(folder, files)}/{name}" for name in sorted(files)], "local.yaml")
    expected = digest(local)
    with ObjectServer({f"web/{name}": text for name, text in files.items()}) as server:
        file = write(folder, [f"{server.url}/web/{name}" for name in sorted(files)])
        assert digest(file) == expected
        blocks = sum(-(-len(text) // 16384) for text in files.values())
        assert server.bodies() == blocks, (server.bodies(), blocks)
        assert all(headers.get("If-Match") for method, _, _, headers in server.requests if method == "GET")
        server.requests.clear()
        assert digest(file) == expected and server.bodies() == 0
        assert find_digest(ctl("run", file, "--digest", "--epochs", 1, env=ENV).stdout) == expected
        with Daemon(folder, file, env=ENV) as daemon:
            assert daemon.digest("s", "--epochs", 1) == expected
        assert server.bodies() == 0
        assert json.loads(ctl("head", file, "-n", 1, "--json", env=ENV).stdout.splitlines()[0]) is not None
        ranged = write(folder, [f"{server.url}/web/{{0..0}}.jsonl"], "ranged.yaml")
        assert digest(ranged) == digest(write(folder, [f"{folder}/web/0.jsonl"], "one.yaml"))
        assert ctl("check", ranged, env=ENV).returncode == 0


def test_s3(folder):
    """A bucket whose store verifies signatures: globs, folders, odd keys; each way to credentials; a wrong secret gets 403."""
    need_fetch()
    files = {**rows(), "deep/er/a b+c=d&e%20f'(ü).jsonl": rows(1, 200)["0.jsonl"]}
    here = on_disk(folder, files)
    on_disk(folder, {"x.csv": b"n\n1\n", ".hidden.jsonl": b"{}"})
    with Moto(folder / "web") as moto:
        for paths in (["{}/*.jsonl"], ["{}/*/*/*.jsonl"], ["{}/"], ["{}/2.jsonl", "{}/{{0..1}}.jsonl*"]):
            near = write(folder, [path.format(here) for path in paths], "near.yaml", suffix=[".jsonl"])
            far = write(folder, [path.format("s3://data") for path in paths], "far.yaml", suffix=[".jsonl"])
            assert digest(far, env=moto.env()) == digest(near), paths
        far = write(folder, ["s3://data/0.jsonl"], "far.yaml")
        expected = digest(far, env=moto.env())
        text = failure(far, env=moto.env(secret="wrong"))
        assert "s3://data/0.jsonl" in text and "HTTP 403" in text, text
        text = failure(write(folder, ["s3://data/*.jsonl"], "w.yaml"), env=moto.env(secret="wrong"))
        assert "SignatureDoesNotMatch" in text, text
        home = folder / "home"
        (home / ".aws").mkdir(parents=True)
        none = {name: "" for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", *NO_AWS)}
        env = {**none, "HOME": str(home), "AWS_EC2_METADATA_DISABLED": "true", "AWS_ENDPOINT_URL": moto.url}
        static = f"aws_access_key_id = {moto.key}\naws_secret_access_key={moto.secret}\n"
        (home / ".aws/credentials").write_text(f"[default]\naws_access_key_id = wrong\naws_secret_access_key = wrong\n[work]\n{static}")
        assert "HTTP 403" in failure(far, env=env)
        assert digest(far, env={**env, "AWS_PROFILE": "work"}) == expected
        said = json.dumps({"Version": 1, "AccessKeyId": moto.key, "SecretAccessKey": moto.secret})
        (home / "said").write_text(said)
        (home / ".aws/config").write_text(f"[profile job]\nregion = us-east-1\ncredential_process = cat {home}/said\n"
                                          "[profile broken]\ncredential_process = echo secret-of-no-use; false\n")
        assert digest(far, env={**env, "AWS_PROFILE": "job"}) == expected
        text = failure(far, env={**env, "AWS_PROFILE": "broken"})
        assert "credential_process" in text and "secret-of-no-use" not in text, text
        check_metadata(far, env, moto, said, expected)


def check_metadata(file, env, moto, said, expected):
    """A role of an instance: a token by PUT, its name, its credentials."""
    def of_role(handler):
        if handler.command == "PUT":
            handler.answer(200, b"the-token")
        elif handler.headers.get("X-aws-ec2-metadata-token") != "the-token":
            handler.answer(401)
        else:
            handler.answer(200, said.encode() if handler.path.endswith("/a-role") else b"a-role")
        return True

    with ObjectServer() as metadata:
        roles = "latest/meta-data/iam/security-credentials/"
        metadata.faults = {"latest/api/token": of_role, roles: of_role, roles + "a-role": of_role}
        role = {**env, "AWS_EC2_METADATA_DISABLED": "false", "AWS_EC2_METADATA_SERVICE_ENDPOINT": metadata.url, "AWS_PROFILE": "none"}
        assert digest(file, env=role) == expected
    assert moto.secret not in failure(file, env={**role, "AWS_EC2_METADATA_SERVICE_ENDPOINT": "http://127.0.0.1:1"})


def test_tls(folder):
    """https with certificates of one's own: by `ca_file`; a server that has none of it is refused."""
    need_fetch()
    openssl, key = require("openssl"), folder / "key.pem"
    subprocess.run([openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=ca", "-keyout", folder / "ca.key",
                    "-out", folder / "ca.pem"], check=True, capture_output=True)
    subprocess.run([openssl, "req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=127.0.0.1", "-keyout", key, "-out", folder / "csr"],
                   check=True, capture_output=True)
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1\n")
    subprocess.run([openssl, "x509", "-req", "-in", folder / "csr", "-CA", folder / "ca.pem", "-CAkey", folder / "ca.key", "-CAcreateserial",
                    "-days", "2", "-extfile", folder / "names", "-out", folder / "cert.pem"], check=True, capture_output=True)
    (folder / "both.pem").write_bytes(key.read_bytes() + (folder / "cert.pem").read_bytes())
    files = rows(1)
    expected = digest(write(folder, [on_disk(folder, files) + "/0.jsonl"], "local.yaml"))
    with ObjectServer({"0.jsonl": files["0.jsonl"]}, folder / "both.pem") as server:
        assert digest(write(folder, [f"{server.url}/0.jsonl"], settings={"ca_file": "ca.pem"})) == expected
        text = failure(write(folder, [f"{server.url}/0.jsonl"], "other.yaml"))
        assert "certificate" in text and f"{server.url}/0.jsonl" in text, text
    check_nginx(folder, expected)


def check_nginx(folder, expected):
    """The same from a web server that people have."""
    try:
        nginx, port = require("nginx"), free_port()
    except Skip as reason:
        note_skipped("test_tls, nginx", reason)
        return
    (folder / "nginx.conf").write_text(f"""daemon off; pid {folder}/nginx.pid; worker_processes 1; error_log {folder}/nginx.log;
events {{ }} http {{ access_log off; client_body_temp_path {folder}/1; proxy_temp_path {folder}/2; fastcgi_temp_path {folder}/3;
uwsgi_temp_path {folder}/4; scgi_temp_path {folder}/5;
server {{ listen 127.0.0.1:{port} ssl; ssl_certificate {folder}/cert.pem; ssl_certificate_key {folder}/key.pem; root {folder}/web; }} }}""")
    folder.chmod(0o755)
    process = subprocess.Popen([nginx, "-c", folder / "nginx.conf", "-e", folder / "nginx.log"])
    try:
        leat_harness.wait_until(lambda: socket.socket().connect_ex(("127.0.0.1", port)) == 0, "nginx listens")
        file = write(folder, [f"https://127.0.0.1:{port}/0.jsonl"], "nginx.yaml", settings={"ca_file": "ca.pem"})
        assert digest(file) == expected
    finally:
        process.terminate()
        process.wait()


def test_refusals(folder):
    """What a server must not say: one error with the URL and the cause, at once."""
    need_fetch()
    body, other = rows(1)["0.jsonl"], b"y" * 16384

    def on_get(answer):
        return lambda handler: handler.command == "GET" and (answer(handler) or True)

    cases = {
        "gone": (lambda handler: handler.error(404, "NoSuchKey") or True, "HTTP 404"),
        "denied": (lambda handler: handler.error(403, "AccessDenied") or True, "HTTP 403"),
        "moved": (lambda handler: handler.answer(302, b"", {"Location": "http://other.example/x"}) or True,
                  "is redirected (HTTP 302) to http://other.example/x"),
        "whole": (on_get(lambda handler: handler.answer(200, body, {"ETag": etag(body)})), "the server does not support range requests"),
        "changed": (on_get(lambda handler: handler.error(412, "PreconditionFailed")), "changed since it was listed"),
        "etag": (on_get(lambda handler: handler.answer(206, other, {"ETag": etag(other), "Content-Range": f"bytes 0-16383/{len(body)}"})),
                 "its ETag differs"),
        "range": (on_get(lambda handler: handler.answer(206, other, {"ETag": etag(body), "Content-Range": f"bytes 5-16388/{len(body)}"})),
                  "another range"),
        "short": (on_get(lambda handler: handler.answer(206, body[:100], {"ETag": etag(body), "Content-Range": f"bytes 0-99/{len(body)}"})),
                  "another range"),
        "more": (on_get(lambda handler: handler.answer(206, other + b"more", {"ETag": etag(body), "Content-Range": f"bytes 0-16383/{len(body)}"})),
                 "the server sent more than requested"),
        "nameless": (lambda handler: handler.answer(200, body) or True, "neither an ETag nor a time of modification"),
    }
    with ObjectServer({name: body for name in cases}) as server:
        for name, (fault, what) in cases.items():
            server.faults = {name: fault}
            text = failure(write(folder, [f"{server.url}/{name}"], f"{name}.yaml"))
            assert what in text and f"{server.url}/{name}" in text, (name, text)
        for url, what in ((f"{server.url}/a*", "leat cannot list the files of a web server"), (f"{server.url}/a?token=secret-of-no-use", "leat cannot list the files of a web server"),
                          ("http://me:secret-of-no-use@127.0.0.1/x", "contains a user name"), (f"{server.url}/a/../b", 'the part "." or ".."'),
                          ("s3://b", "no path"), ("s3://*/x", "a bucket and a slash"), ("http://nowhere.invalid/x", "nowhere.invalid")):
            text = run(write(folder, [url], "url.yaml"), check=False).stderr.decode()
            assert what in text, (url, text)


def test_retries(folder):
    """429, 503, 500, a reset, bytes that stop: tried again, with the same batches; what does not end, within `timeout`."""
    need_fetch()
    body = rows(1)["0.jsonl"]
    expected = digest(write(folder, [on_disk(folder, {"0.jsonl": body}) + "/0.jsonl"], "local.yaml"))

    def stall(handler):
        handler.answer(206, b"", {"ETag": etag(body), "Content-Range": f"bytes 0-16383/{len(body)}"}, length=16384)
        time.sleep(2 * SLOW)
        return handler.reset()

    def cut(handler):
        handler.answer(206, body[:5000], {"ETag": etag(body), "Content-Range": f"bytes 0-16383/{len(body)}"}, length=16384)
        return handler.reset()

    def busy(status, headers=()):
        return lambda handler: handler.error(status, "SlowDown", headers) or True

    with ObjectServer({"0.jsonl": body}) as server:
        for name, faults in (("busy", [busy(503), busy(429, {"Retry-After": "1"}), None, busy(500), busy(503)]),
                             ("reset", [lambda handler: handler.reset(), lambda handler: handler.reset()]),
                             ("cut", [None, cut, cut]), ("stall", [None, stall])):
            server.faults, n_before = {"0.jsonl": list(faults)}, len(server.requests)
            settings = {"path": str(folder / name), "timeout": "4s" if name == "stall" else "60s"}
            file = write(folder, [f"{server.url}/0.jsonl"], f"{name}.yaml", settings=settings)
            assert digest(file) == expected, name
            assert not server.faults["0.jsonl"] and len(server.requests) > n_before + len(faults), name
        server.faults = {"0.jsonl": busy(503)}
        text = failure(write(folder, [f"{server.url}/0.jsonl"], "never.yaml", settings={"timeout": "1s"}))
        assert "HTTP 503" in text and "gave up after" in text, text


def page(items="", more=""):
    token = f"<NextContinuationToken>{more}</NextContinuationToken>" if more else ""
    return f"<ListBucketResult><IsTruncated>{'true' if more else 'false'}</IsTruncated>{token}{items}</ListBucketResult>"


def item(key, size="1"):
    return f"<Contents><Key>{key}</Key><ETag>e</ETag><Size>{size}</Size></Contents>"


def test_lists(folder):
    """Lists of a store that are damaged, lie, go in circles or do not end: one error, and bounded memory."""
    need_fetch()
    n_pages = 0

    many = "".join(item(f"web/{i}") for i in range(20000))

    def endless(_query):
        nonlocal n_pages
        n_pages += 1
        return page(many, more=str(n_pages))

    entities = '<!DOCTYPE x [<!ENTITY a "' + "a" * 1000 + '"><!ENTITY b "' + "&a;" * 1000 + '">]>'
    cases = [("", "damaged"), ("<html>sign in</html>", "not a ListBucketResult"), (page(item("web/a"))[:-30], "damaged"), (entities + page("&b;"), "document type"),
             (page(item("web/a", "many")), "a size is not a number"), (page("<Contents><Key>web/a</Key></Contents>"), "lacks Key, ETag or Size"),
             (page(item("other/a")), "an object that leat-fetch did not request"), (page(item("web/" + "a" * 3000)), "too long"), (page(item("web/a"), more="again"), "the same list of objects again"),
             (page(), "no object matches this pattern"), (page(item("web/.hidden") + item("web/folder/")), "no object matches this pattern")]
    with ObjectServer() as server:
        env = {"AWS_ENDPOINT_URL": server.url}
        file = write(folder, ["s3://b/web/*"])
        for text, what in cases:
            server.on_list = lambda _query, text=text: text
            said = failure(file, env=env)
            assert what in said and "s3://b/web/" in said, (text[:200], said)
        server.on_list = endless
        said = failure(file, env=env)
        assert "list of objects is too long" in said and n_pages < 100, (n_pages, said)
        server.faults = {"b/": lambda handler: handler.error(301, "PermanentRedirect", {"x-amz-bucket-region": "eu-west-1"}) or True}
        assert "the bucket is in region eu-west-1, not in us-east-1" in failure(file, env=env)
        server.faults = {"b/": lambda handler: handler.error(400, "ExpiredToken") or True}
        assert "HTTP 400 ExpiredToken" in failure(file, env=env)


def test_many_objects(folder):
    """10,000 objects are opened by their lists: 10 pages, no contents but the head of the first; their order is that of folders."""
    need_fetch()
    objects = {f"b/web/{i % 7}/{i:05}.jsonl": b'{"n": %d}\n' % i for i in range(10000)}
    with ObjectServer(objects) as server:
        file = write(folder, ["s3://b/web/"], suffix=".jsonl")
        env = {**ENV, "AWS_ENDPOINT_URL": server.url}
        ctl("head", file, "-n", 1, env=env)
        lists = [query for method, _, query, _ in server.requests if "list-type" in query]
        heads = [path for method, path, _, _ in server.requests if method == "HEAD"]
        assert len(lists) == 10 and not heads, (len(lists), len(heads))
        assert "Authorization" in server.requests[0][3]
        few = write(folder, ["s3://b/web/{3..4}/000*.jsonl"], "few.yaml")
        near = on_disk(folder, {path[2:]: text for path, text in objects.items() if "/000" in path}, ".")
        assert digest(few, env=env) == digest(write(folder, [near + "/web/{3..4}/000*.jsonl"], "near.yaml"))


def test_cache(folder):
    """A block that was damaged on the disk is read anew; the cache keeps to its size; without a disk it goes on."""
    need_fetch()
    files = rows()
    expected = digest(write(folder, [f"{on_disk(folder, files)}/{name}" for name in sorted(files)], "local.yaml"))
    with ObjectServer(files) as server:
        paths = [f"{server.url}/{name}" for name in sorted(files)]
        file = write(folder, paths)
        assert digest(file) == expected
        for how in (lambda block: block.write_bytes(b"\0" + block.read_bytes()[1:]), lambda block: os.truncate(block, 7), lambda block: os.truncate(block, 0)):
            damaged = max((folder / "cache").glob("*.block"), key=lambda block: block.stat().st_size)
            how(damaged)
            server.requests.clear()
            assert digest(file) == expected and server.bodies() == 1, server.bodies()
        small = write(folder, paths, "small.yaml", settings={"path": str(folder / "small"), "max_size": 1 << 20, "block": 65536})
        big = {f"{i}.jsonl": text for i in range(8) for text in [files["0.jsonl"] * 2]}
        server.objects.update(big)
        small.write_text(small.read_text().replace(paths[0], f"{server.url}/{{0..7}}.jsonl"))
        run(small)
        kept = sum(block.stat().st_size for block in (folder / "small").iterdir())
        assert kept <= (1 << 20) + 65536 and list((folder / "small").iterdir()), kept
        server.objects.update(files)
        for path in ("/proc/none/cache", "/dev/null"):
            done = run(write(folder, paths, "diskless.yaml", settings={"path": path}))
            assert find_digest(done.stdout) == expected
            assert b"continues without its cache" in done.stderr, done.stderr
        nowhere = write(folder, paths, "nowhere.yaml")
        nowhere.write_text(re.sub(r'"?path"?: "?[^",}\n]*cache"?,?', "", nowhere.read_text()))
        done = subprocess.run(["env", "-u", "HOME", "-u", "XDG_CACHE_HOME", "-u", "CACHE_DIRECTORY", BIN / "leatctl",
                               "run", nowhere, "--no-daemon", "--digest", "--epochs", "1"],
                              env={**os.environ, **ENV}, capture_output=True, timeout=60)
        assert find_digest(done.stdout) == expected
        assert b"continues without its cache: no folder is known: set HOME" in done.stderr, done.stderr
        full = folder / "full"
        full.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", full], capture_output=True, check=False).returncode:
            note_skipped("test_cache, a full disk", "mount of a tmpfs is not permitted")
            return
        try:
            done = run(write(folder, paths, "full.yaml", settings={"path": str(full)}))
            assert find_digest(done.stdout) == expected and b"cannot write to its cache" in done.stderr, done.stderr
        finally:
            subprocess.run(["umount", full], check=True)


def test_empty_twice(folder):
    """Empty objects, also one that is named twice: what is read ahead ends."""
    need_fetch()
    files = {**rows(2), "e.jsonl": b"", "f.jsonl": b""}
    here = on_disk(folder, files)
    for names in ("0.jsonl e.jsonl f.jsonl e.jsonl 1.jsonl.gz f.jsonl e.jsonl f.jsonl", "0.jsonl e.jsonl e.jsonl", "0.jsonl 0.jsonl"):
        expected = digest(write(folder, [f"{here}/{name}" for name in names.split()], "local.yaml"))
        with ObjectServer(files) as server:
            assert digest(write(folder, [f"{server.url}/{name}" for name in names.split()], settings={"block": 4096})) == expected, names


def test_on_disk_as_it_comes(folder):
    """What has come of a block is on the disk but for the last 256 KiB: it does not wait in memory until the block is whole."""
    need_fetch()
    files = {"0.jsonl": rows(1, 80000)["0.jsonl"]}
    body, block, seen = files["0.jsonl"], 393216, []
    expected = digest(write(folder, [f"{on_disk(folder, files)}/0.jsonl"], "local.yaml"))

    def hold_last_byte(handler):
        first, last = map(int, handler.headers.get("Range", "bytes=0-0")[6:].split("-"))
        if first == 0 or last + 1 - first < block:
            return False
        handler.send_response(206)
        for name, value in (("ETag", etag(body)), ("Content-Range", f"bytes {first}-{last}/{len(body)}"), ("Content-Length", last + 1 - first)):
            handler.send_header(name, str(value))
        handler.end_headers()
        handler.wfile.write(body[first:last])
        end = time.monotonic() + 30 * SLOW
        while not any(is_of_size(file, 262144) for file in (folder / "cache").glob(".*.block")) and time.monotonic() < end:
            time.sleep(0.01)
        seen.append(time.monotonic() < end)
        handler.wfile.write(body[last:last + 1])
        return True

    def is_of_size(file, n_bytes):
        try:
            return file.stat().st_size == n_bytes
        except FileNotFoundError:  # it is whole by now
            return False

    with ObjectServer(files) as server:
        server.faults["0.jsonl"] = hold_last_byte
        assert digest(write(folder, [f"{server.url}/0.jsonl"], settings={"block": block})) == expected
        assert len(seen) > 3 and all(seen), seen
    assert not list((folder / "cache").glob(".*.block"))


def test_confined(folder):
    """Trainers confined to `roots` name objects below allowed URLs only, and no host of this machine or its link."""
    need_fetch()
    text = b"id\n1\n"
    with ObjectServer({"b/web/a.csv": text, "b/web/c.csv": text, "b/web-secret/a.csv": text, "a.csv": text}) as server:
        local = [server.url, "http://169.254.169.254", f"http://localhost:{server.server_address[1]}"]
        config = f"fetch: {{ path: {folder}/cache, timeout: 2s }}\nroots: [\"s3://b/web/\", {', '.join(map(json.dumps, local))}]\nstreams: {{}}\n"
        cases = [("s3://b/web/a.csv", "1"), ("s3://b/web/*", "2"), ("s3://b/web/", "2")]
        cases += [(path, "is outside the URLs that trainers may read") for path in
                  ("s3://b/web-secret/a.csv", "s3://b/web*/a.csv", "s3://b/web*", "s3://b/*/a.csv", "s3://other/a", "https://example.org/a",
                   "s3://b/web/%2e%2e/web-secret/a.csv", "s3://b/web/../web-secret/a.csv")]
        cases += [(f"{url}/a.csv", "streams that trainers describe may not read from this machine") for url in local]
        with Daemon(folder, config, env={**ENV, "AWS_ENDPOINT_URL": server.url}) as daemon:
            for path, what in cases:
                server.requests.clear()
                said = subprocess.run([BIN.parent / "tests/e2e/namer"], input=path + "\n", text=True, capture_output=True, check=True,
                                      timeout=leat_harness.HANG_S, env={**os.environ, "LEAT_SOCKET": str(daemon.sockets)}).stdout.strip()
                assert said == what if what.isdigit() else what in said, (path, said)
                assert what.isdigit() or not server.requests, (path, server.requests)


def test_secrets(folder):
    """leat-fetch leaves no core; nothing that is said has a secret."""
    need_fetch()
    body = rows(1)["0.jsonl"]

    def look(handler):
        pids = [path.parent for path in pathlib.Path("/proc").glob("[0-9]*/comm") if is_fetch(path, folder)]
        for pid in pids:
            seen.append((pid / "limits").read_text())
        return False

    seen = []
    with ObjectServer({"b/0.jsonl": body}) as server:
        server.faults = {"b/0.jsonl": look}
        file = write(folder, ["s3://b/0.jsonl"])
        with Daemon(folder, file, env={**ENV, "AWS_ENDPOINT_URL": server.url}) as daemon:
            daemon.digest("s", "--epochs", 1)
            told = b"".join(daemon.ctl(*words).stdout for words in (("status",), ("streams", "--json"), ("stats",), ("metrics",)))
            assert SECRET.encode() not in told and SECRET not in daemon.log
        assert seen and all(line.split()[4:6] == ["0", "0"] for text in seen for line in text.splitlines() if line.startswith("Max core file size")), seen


def is_fetch(path, folder):
    try:
        return path.read_text().strip() == "leat-fetch" and str(folder).encode() in (path.parent / "environ").read_bytes()
    except OSError:
        return False


def test_service(folder):
    """One leat-fetch for several programs, by its socket; killed and started again while a stream is read."""
    need_fetch()
    files = rows(2, 20000)
    paths = sorted(files)
    expected = digest(write(folder, [f"{on_disk(folder, files)}/{name}" for name in paths], "local.yaml"))
    with ObjectServer(files) as server:
        file = write(folder, [f"{server.url}/{name}" for name in paths], settings={"block": 4096})
        env, command = {"LEAT_FETCH_SOCKET": str(folder / "fetch.sock")}, [BIN / "leat-fetch", "--config", file, "--socket", folder / "fetch.sock"]
        assert "cannot connect to leat-fetch" in run(file, env=env, check=False).stderr.decode()
        service = subprocess.Popen(command)
        try:
            leat_harness.wait_until((folder / "fetch.sock").exists, "leat-fetch listens")
            reader = subprocess.Popen([BIN / "leatctl", "run", file, "--no-daemon", "--digest", "--epochs", "1"], stdout=subprocess.PIPE,
                                      env={**os.environ, **ENV, **env})
            for _ in range(3):
                n = server.bodies()
                leat_harness.wait_until(lambda n=n: server.bodies() > n or reader.poll() is not None, "blocks are read")
                service.kill()
                service.wait()
                service = subprocess.Popen(command)
            assert find_digest(reader.communicate(timeout=leat_harness.HANG_S)[0]) == expected
            assert digest(file, env=env) == expected
        finally:
            service.terminate()
            assert service.wait(leat_harness.HANG_S) == 0


def children_of(daemon):
    return {child.parent.name for child in pathlib.Path("/proc").glob("[0-9]*/stat")
            if child.read_text().rsplit(")", 1)[1].split()[1] == str(daemon.pid)}


def test_private(folder):
    """The daemon's own leat-fetch is started again after it was killed, and none is left behind."""
    need_fetch()
    files = rows(2, 2000)
    with ObjectServer(files) as server:
        file = write(folder, [f"{server.url}/{name}" for name in sorted(files)])
        with Daemon(folder, file, env={**ENV, "HOME": str(folder)}) as daemon:
            expected, seen = daemon.digest("s", "--epochs", 1), set()
            for _ in range(3):
                (child,) = children_of(daemon)
                seen.add(child)
                os.kill(int(child), signal.SIGKILL)
                assert daemon.digest("s", "--epochs", 1) == expected
            assert len(seen) == 3 and len(children_of(daemon)) == 1, (seen, children_of(daemon))


def test_descriptors(folder):
    """Descriptors that come with a request stay open no longer than the request, however many they are."""
    need_fetch()
    if os.environ.get("LEAT_TEST_EMULATED"):
        raise Skip("qemu delivers descriptors for which there is no room")
    place = folder / "fetch.sock"
    with open(os.devnull) as null, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
        service = subprocess.Popen([BIN / "leat-fetch", "--socket", place], env={**os.environ, "HOME": str(folder)})
        try:
            leat_harness.wait_until(lambda: client.connect_ex(str(place)) == 0, "leat-fetch listens")
            n_before = None
            for n in (0, 1, 1, 2, 2, 3, 1):
                socket.send_fds(client, [b"no request"], [null.fileno()] * n)
                assert b"does not know this request" in client.recv(4096)
                if n == 0:
                    n_before = len(os.listdir(f"/proc/{service.pid}/fd"))
                leat_harness.wait_until(lambda: len(os.listdir(f"/proc/{service.pid}/fd")) == n_before,  # it replies first
                                        f"leat-fetch closes {n} descriptors")
        finally:
            service.terminate()
            assert service.wait(leat_harness.HANG_S) == 0


def refuse_with_two(listener):
    """A leat-fetch that answers each request with an error, and with descriptors that nobody asked for."""
    with open(os.devnull) as null:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            with client:
                while client.recv(8192):
                    reply = struct.pack("=iIQQ16s512s", -errno.EIO, 0, 0, 0, b"", b"refused here")
                    socket.send_fds(client, [reply], [null.fileno()] * 2)


def test_descriptors_of_replies(folder):
    """Nor does the daemon keep descriptors that come with a reply."""
    if os.environ.get("LEAT_TEST_EMULATED"):
        raise Skip("qemu delivers descriptors for which there is no room")
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(str(folder / "fetch.sock"))
        listener.listen()
        threading.Thread(target=refuse_with_two, args=[listener], daemon=True).start()
        file = write(folder, ["https://example.com/a.jsonl"])
        with Daemon(folder, file, env={"LEAT_FETCH_SOCKET": str(folder / "fetch.sock")}) as daemon:
            n = daemon.n_fds()
            for _ in range(4):
                assert b"refused here" in daemon.pull("s", check=False).stderr
            leat_harness.wait_until(lambda: daemon.n_fds() <= n, "the daemon has as many descriptors as before")


if __name__ == "__main__":
    leat_harness.main(globals())
