#!/usr/bin/env python3
"""Metrics and the status page over HTTP: a real Prometheus with the dashboard's queries, the page in a headless
Chromium, and clients that mean no good.

    test_http.py BIN [PATTERN]
"""
import contextlib
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.parse
import urllib.request

import browser
import data
from leat_harness import BIN, HANG_S, ROOT, Daemon, Skip, in_child, main, note_skipped, require, run_digest, wait_until
from raw_client import END, REFUSE, RawClient, hello, release

MAX_CONNECTIONS = 24
AT_ONCE, PER_SECOND = 1024, 200  # connections of a user
NASTY = '<b id="nasty">&"\\'  # the name of a stream


def free_port():
    with socket.socket() as end:
        end.bind(("127.0.0.1", 0))
        return end.getsockname()[1]


def configuration(folder, n_rows=2000, **settings):
    """Streams titanic (busy), and one with a nasty name that nobody pulls."""
    csv = data.titanic(folder, n_rows)
    (folder / "few.csv").write_text("id\n1\n2\n3\n")
    return data.yaml_text({"titanic": data.titanic_stream(csv), NASTY: data.numbers_stream([str(folder / "few.csv")])}, **settings)


@contextlib.contextmanager
def trainer(daemon, stream="titanic"):
    """Pulls some fifty batches a second until the block ends."""
    process = subprocess.Popen([BIN.parent / "tests" / "e2e" / "steady", stream, "0", "1", "0", "20000", "0"],
                               stdout=subprocess.DEVNULL, env={**os.environ, "LEAT_SOCKET": str(daemon.sockets)})
    try:
        wait_until(lambda: daemon.status()["n_batches"] > 0 or process.poll() is not None, "no batch comes")
        assert process.poll() is None, f"the trainer ended with {process.returncode}"
        yield process
    finally:
        process.kill()
        process.wait(HANG_S)


def connect(where):
    """where: a port, or the path of a socket."""
    end = socket.socket(socket.AF_INET if isinstance(where, int) else socket.AF_UNIX)
    end.settimeout(HANG_S)
    end.connect(("127.0.0.1", where) if isinstance(where, int) else str(where))
    return end


def exchange(where, request):
    """All that comes back for these bytes, until the connection ends."""
    with connect(where) as end:
        with contextlib.suppress(OSError):
            end.sendall(request)
        reply = b""
        with contextlib.suppress(ConnectionError):
            while piece := end.recv(1 << 16):
                reply += piece
        return reply


def get(where, path, *headers, method="GET", host="localhost"):
    """(status, headers by lower-case name, body)."""
    lines = [f"{method} {path} HTTP/1.1", f"Host: {host}", "Connection: close", *headers, "", ""]
    head, _, body = exchange(where, "\r\n".join(lines).encode()).partition(b"\r\n\r\n")
    status, *rest = head.decode().split("\r\n")
    return int(status.split()[1]), {k.lower(): v for k, v in (line.split(": ", 1) for line in rest)}, body.decode()


def await_figures(where):
    """Until the first reading is there."""
    wait_until(lambda: get(where, "/metrics")[0] == 200, "no metrics")


def sample(text, name, **labels):
    """The value of a line of metrics."""
    for line in text.splitlines():
        found = re.fullmatch(r"(\w+)(?:\{(.*)\})? (\S+)", line)
        if found and found[1] == name and all(f'{k}="{v}"' in (found[2] or "") for k, v in labels.items()):
            return float(found[3])
    raise AssertionError(f"no {name} {labels} in {text[:3000]}")


# ---- what is answered ----


def test_answers(folder):
    """On a Unix socket and on TCP: the same; both formats; what the verb says."""
    port = free_port()
    for listen, where in ((f"unix:{folder}/http.sock", folder / "http.sock"), (f"127.0.0.1:{port}", port)):
        began = time.monotonic()
        with Daemon(folder, configuration(folder, http_listen=listen)) as daemon:
            daemon.pull("titanic", "--epochs", 2)
            await_figures(where)
            n = daemon.status()["n_batches"]
            wait_until(lambda: sample(get(where, "/metrics")[2], "leat_batches_sent_total") == n, "the figures do not come")
            status, headers, text = get(where, "/metrics")
            assert status == 200 and headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8", headers
            assert sample(text, "leat_stream_rows_total", stream="titanic", owner="settings") >= 4000
            assert sample(text, "leat_stage_records_total", stream="titanic", stage="tokenize", role="map") >= 4000
            assert sample(text, "leat_stream_rows_total", stream=NASTY.replace("\\", "\\\\").replace('"', '\\"')) == 0
            check_metrics(text)
            _, headers, text = get(where, "/metrics", "Accept: application/openmetrics-text;version=1.0.0,text/plain;q=0.5")
            assert headers["content-type"].startswith("application/openmetrics-text; version=1.0.0") and text.endswith("# EOF\n")
            check_openmetrics(text)
            check_openmetrics(daemon.ctl("metrics").stdout.decode())
            check_metrics(daemon.ctl("metrics", "--format", "prometheus").stdout.decode())
            status, headers, body = get(where, "/")
            assert status == 200 and "<title>leat</title>" in body
            policy = headers["content-security-policy"]
            assert "default-src 'none'" in policy and "unsafe" not in policy and headers["x-content-type-options"] == "nosniff"
            assert not re.search(r"https?://", body.replace("http://www.w3.org/", ""))
            assert get(where, "/", method="HEAD")[2] == ""
            reply = wait_until(lambda: has_samples(where, 2), "there is no history")
            assert reply["figures"]["n_batches"] == n and {s["name"] for s in reply["streams"]} == {"titanic", NASTY}
            after = reply["samples"][0]["at"]
            assert json.loads(get(where, f"/history.json?after={after}")[2])["samples"][0]["at"] != after
            tens = json.loads(get(where, "/history.json?tens=1")[2])["samples"]
            assert len(tens) <= (time.monotonic() - began) / 10, (tens, time.monotonic() - began)
        assert not (folder / "http.sock").exists()


def has_samples(where, n):
    """The history, once it has so many."""
    reply = json.loads(get(where, "/history.json")[2])
    return reply if len(reply["samples"]) >= n else None


def check_metrics(text):
    """By promtool, if it is there."""
    if not shutil.which("promtool"):
        note_skipped("the form of metrics", "promtool is not installed (apt-get install --no-install-recommends prometheus)")
        return
    done = subprocess.run(["promtool", "check", "metrics"], input=text.encode(), capture_output=True)
    assert done.returncode == 0 and not done.stderr and not done.stdout, done


def check_openmetrics(text):
    """The rules of OpenMetrics that have no tool here: families in one piece, announced, suffixes as their type wants."""
    family, seen = None, {}
    assert text.endswith("\n# EOF\n") and text.count("# EOF") == 1
    for line in text.splitlines()[:-1]:
        if line.startswith("# HELP"):
            family = line.split()[2]
            assert family not in seen, f"{family} comes twice"
            seen[family] = None
        elif line.startswith("# TYPE"):
            assert line.split()[2] == family
            seen[family] = line.split()[3]
        elif line.startswith("# UNIT"):
            assert line.split()[2] == family and family.endswith("_" + line.split()[3])
        else:
            name = re.match(r"\w+", line)[0]
            suffixes = {"counter": ["_total"], "histogram": ["_bucket", "_sum", "_count"]}.get(seen[family], [""])
            assert name in [family + suffix for suffix in suffixes], line


def every_place(daemon, where, values):
    """Of a daemon that nothing happens in: each figure in the replies of `status` and `stats`, as text and as JSON, and in the
    metrics of the verb and of the page. values: {(member, label, metric): value}, of the daemon or, behind "leat_stream_", of the stream."""
    texts, replies = {}, {}
    for verb in ("status", "stats"):
        texts[verb] = daemon.ctl(verb).stdout.decode()
        reply = json.loads(daemon.ctl(verb, "--json").stdout)
        replies[verb] = reply if verb == "status" else reply[0]
    metrics = daemon.ctl("metrics").stdout.decode()
    for (member, label, metric), value in values.items():
        verb = "stats" if metric.startswith("leat_stream_") else "status"
        assert not member or replies[verb][member] == value, (verb, member, value, replies[verb])
        assert not label or re.search(rf"(?m)^  {label} +{value:,}$", texts[verb]), (verb, label, value, texts[verb])
        assert sample(metrics, metric) == value, (metric, value)
    wait_until(lambda: all(sample(get(where, "/metrics")[2], metric) == value for (_, _, metric), value in values.items()),
               "the figures do not come to the page")


def test_figures_after_known_work(folder):
    """1000 records an epoch, of which 10 are bad and 100 are filtered out; lists of 0 to 4 elements; batches of 8; trainers
    that are refused."""
    records = [{"xs": [i] * (i % 5), "id": "bad" if i % 100 == 50 else i} for i in range(1000)]
    (folder / "n.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    left = [record for record in records if record["id"] != "bad" and record["id"] < 900]
    port, n_bytes = free_port(), (folder / "n.jsonl").stat().st_size
    stream = {"source": {"jsonl": {"paths": ["n.jsonl"], "fields": {"xs": "list<int32>", "id": "int64"}}}, "on_error": "skip",
              "stages": [{"filter": {"input": "id", "max": 899}}, {"pad": {"input": "xs", "length": 5, "value": 7}},
                         {"batch": {"batch_size": 8}}]}
    n_batches, n_rows, n_elements = -(-len(left) // 8), len(left), sum(len(record["xs"]) for record in left)
    with Daemon(folder, data.yaml_text({"s": stream}, workers=2, max_user_sessions=2, http_listen=f"127.0.0.1:{port}")) as daemon:
        await_figures(port)
        for n in (1, 2, 4):  # epochs so far
            daemon.pull("s", "--epochs", max(1, n // 2), *(["--delivery", "copy"] if n == 2 else []))
            wait_until(lambda: daemon.status()["n_sessions"] == 0, "the trainer is gone")
            every_place(daemon, port, {
                ("n_batches", "batches", "leat_batches_sent_total"): n * n_batches,
                ("n_rows", "rows", "leat_rows_sent_total"): n * n_rows,
                ("n_sessions", "sessions", "leat_sessions"): 0,
                ("n_batches", "batches", "leat_stream_batches_total"): n * n_batches,
                ("n_rows", "rows", "leat_stream_rows_total"): n * n_rows,
                ("n_elements", "tokens", "leat_stream_tokens_total"): n * n_elements,
                ("n_source_bytes", "", "leat_stream_source_bytes_total"): n * n_bytes,
                ("n_source_records", "records", "leat_stream_source_records_total"): n * 1000,
                ("n_bad_records", "bad records", "leat_stream_bad_records_total"): n * 10,
                ("n_slots", "slots", "leat_stream_slots"): 0})
        stats, = json.loads(daemon.ctl("stats", "--json").stdout)
        metrics = daemon.ctl("metrics").stdout.decode()
        stages = {stage["name"]: (stage["n_records"], stage["n_errors"]) for stage in stats["stages"]}
        assert stages == {"scan": (4000, 0), "decode": (0, 0), "jsonl": (4000, 40), "filter": (3960, 0), "pad": (4 * n_rows, 0),
                          "order": (4 * n_rows, 0), "collate": (4 * n_rows, 0), "quarantine": (0, 0)}, stages
        for stage, (n_records, n_errors) in stages.items():
            assert sample(metrics, "leat_stage_records_total", stage=stage) == n_records, (stage, n_records)
            assert sample(metrics, "leat_stage_errors_total", stage=stage) == n_errors, (stage, n_errors)
        assert sample(metrics, "leat_stream_batch_rows_sum") == 4 * n_rows
        assert sample(metrics, "leat_stream_batch_rows_count") == 4 * n_batches
        assert sample(metrics, "leat_stream_batch_wait_seconds_count") == stats["n_waits"] > 0
        assert abs(sample(metrics, "leat_stream_batch_wait_seconds_sum") * 1e9 - stats["wait_ns"]) < 1e3
        trainers = [RawClient(daemon).opened("s") for _ in range(2)]
        for _ in range(3):
            refused = RawClient(daemon)
            refused.send(hello())
            assert b"max_user_sessions" in refused.receive_kind(REFUSE)[1]
            refused.close()
        every_place(daemon, port, {("n_refused", "refused", "leat_sessions_refused_total"): 3,
                                   ("", "", "leat_quota_refused_total"): 3, ("n_sessions", "sessions", "leat_sessions"): 2,
                                   ("", "", "leat_stream_sessions"): 2})
        users = json.loads(daemon.ctl("streams", "--users", "--json").stdout)
        user, = users["users"]
        assert (user["uid"], user["n_refused"], user["charges"]["sessions"]) == (os.geteuid(), 3, {"used": 2, "limit": 2}), user
        assert users["totals"]["sessions"]["used"] == 2, users
        assert re.search(r"(?m)^  \S+ .* 2 of 2 .* 3$", daemon.ctl("streams", "--users").stdout.decode())
        for trainer in trainers:
            trainer.close()


def test_waits_are_counted(folder):
    """One for each time that there is no batch, with its length up to now."""
    gate = data.Gate(folder, n_rows=16)
    gate.close()

    def waited(daemon):
        stats, = json.loads(daemon.ctl("stats", "--json").stdout)
        return stats["n_waits"], stats["wait_ns"]

    with Daemon(folder, data.yaml_text({"s": gate.stream}, workers=1)) as daemon:
        trainer = RawClient(daemon).opened("s", n_epochs=1)
        wait_until(gate.waiting.exists, "the program has a record")
        before_first = time.monotonic_ns()
        n_waits, first_ns = waited(daemon)
        after_first = time.monotonic_ns()
        time.sleep(0.05)
        before_second = time.monotonic_ns()
        assert (n_waits, waited(daemon)[0]) == (1, 1)
        second_ns = waited(daemon)[1]
        assert before_second - after_first <= second_ns - first_ns <= time.monotonic_ns() - before_first, (first_ns, second_ns)
        gate.open()
        for _ in range(2):
            trainer.send(release(*trainer.batch()))
        trainer.receive_kind(END)
        trainer.close()
        wait_until(lambda: daemon.status()["n_sessions"] == 0, "the trainer is gone")
        at_end = waited(daemon)
        assert at_end[0] >= 1 and at_end[1] >= second_ns and waited(daemon) == at_end, at_end


def test_history(folder):
    """`leatctl stats --since`: what came is what was made."""
    with Daemon(folder, configuration(folder)) as daemon:
        daemon.pull("titanic", "--epochs", 3)
        n = json.loads(daemon.ctl("stats", "titanic", "--json").stdout)[0]["n_batches"]

        def told():
            samples = json.loads(daemon.ctl("stats", "titanic", "--since", "6h", "--json").stdout)
            return sum(stream["n_batches"] for sample in samples for stream in sample["streams"])
        wait_until(lambda: told() == n, "the history is not complete")
        lines = daemon.ctl("stats", "--since", 60).stdout.decode().splitlines()
        assert lines[0].split()[:3] == ["until", "over", "batches/s"] and len(lines) > 1
        for sample in json.loads(daemon.ctl("stats", "--since", "6h", "--json").stdout):
            assert sample["worker_busy_ns"] <= sample["n_workers"] * sample["duration_ns"], sample
        for args in ((), ("--json",)):
            done = daemon.ctl("stats", "titani", "--since", 60, *args, check=False)
            assert done.returncode == 1 and b'did you mean' in done.stderr and b"titanic" in done.stderr, done
        assert not json.loads(daemon.ctl("stats", NASTY, "--since", "6h", "--json").stdout)[-1]["streams"], "nobody pulled it"
        assert daemon.ctl("metrics", "--format", "xml", check=False).returncode == 2
        assert json.loads(daemon.ctl("metrics", "--json").stdout)["text"].endswith("# EOF\n")


def failed_times(text, stream):
    """By reason, of those that are not 0."""
    found = re.findall(rf'leat_stream_failures_total\{{stream="{stream}",owner="settings",reason="(\w+)"\}} (\d+)', text)
    assert [reason for reason, _ in found] == ["spec", "data", "file", "changed", "memory", "program", "other"], found
    return {reason: int(n) for reason, n in found if n != "0"}


def test_failures(folder):
    """A stream that failed leaves a trace wherever one looks, until it serves trainers again."""
    (folder / "bad.csv").write_text("id\n1\n2\nthree\n")
    (folder / "good.csv").write_text("id\n1\n")
    streams = {"good": data.numbers_stream([str(folder / "good.csv")]),
               "bad": data.numbers_stream([str(folder / "bad.csv")], batch_size=1, on_error="fail"),
               "missing": data.numbers_stream([str(folder / "missing.csv")])}
    where = folder / "http.sock"
    began_ns = time.time_ns()
    with Daemon(folder, data.yaml_text(streams, http_listen=f"unix:{where}")) as daemon:
        assert daemon.status()["n_failures"] == 0 and daemon.status()["last_failure"] is None
        assert "failures" in [finding["name"] for finding in findings(daemon)]
        for stream, n in (("good", 1), ("missing", 2), ("bad", 1)):
            for _ in range(n):
                assert (daemon.pull(stream, "--epochs", 1, check=False).returncode == 0) == (stream == "good")
        text = daemon.ctl("metrics").stdout.decode()
        assert (failed_times(text, "good"), failed_times(text, "missing"), failed_times(text, "bad")) == ({}, {"file": 2}, {"data": 1})
        status = daemon.status()
        assert status["n_failures"] == 3 and status["n_failing"] == 2
        last = status["last_failure"]
        assert last["stream"] == "bad" and last["reason"] == "data" and began_ns < last["unix_ns"] < time.time_ns() and not last["is_over"]
        assert f"{folder}/bad.csv:4" in last["error"], last
        told = {stream["name"]: stream for stream in json.loads(daemon.ctl("streams", "--json").stdout)}
        assert told["bad"]["failures"] == {"data": 1} and told["bad"]["last_failure"] == last
        assert told["good"]["failures"] == {} and told["good"]["last_failure"] is None
        assert told["missing"]["last_failure"]["reason"] == "file" and "missing.csv" in told["missing"]["last_failure"]["error"]
        for command in (("streams",), ("status",), ("why", "bad")):
            assert "bad.csv:4" in daemon.ctl(*command).stdout.decode(), command
        why = json.loads(daemon.ctl("why", "bad", "--json").stdout)
        assert why["last_failure"]["error"] == last["error"] and why["n_stalled"] == 0 and why["verdict"] == "idle", why
        assert [(f["name"], f["state"]) for f in findings(daemon)] == [("bad", "warn"), ("missing", "warn")]
        page = wait_until(lambda: failures_of_page(where, 2), "the page does not have them")
        assert page["bad"]["error"] == last["error"] and page["bad"]["unix_ns"] == last["unix_ns"], page

        for name in ("bad", "missing"):
            (folder / f"{name}.csv").write_text("id\n1\n2\n3\n")
            daemon.pull(name, "--epochs", 1)
        status = daemon.status()
        assert status["n_failures"] == 3 and status["n_failing"] == 0 and status["last_failure"]["is_over"]
        assert failed_times(daemon.ctl("metrics").stdout.decode(), "bad") == {"data": 1}, "a counter went back"
        assert [(f["name"], f["state"]) for f in findings(daemon)] == [("failures", "ok")]
        wait_until(lambda: failures_of_page(where, 0) is not None, "the page still has them")


def findings(daemon):
    """Of doctor, about streams."""
    done = daemon.ctl("doctor", "--json", check=False)
    return sorted((f for f in json.loads(done.stdout)["findings"] if f["area"] == "streams"), key=lambda f: f["name"])


def failures_of_page(where, n):
    """By stream, once there are so many that are not over."""
    streams = json.loads(get(where, "/history.json")[2]).get("streams", [])
    failures = {stream["name"]: stream["failure"] for stream in streams if stream["failure"] and not stream["failure"]["is_over"]}
    return failures if streams and len(failures) == n else None


def test_histograms(folder):
    """Of waiting times and of batch sizes: what is known of the work."""
    (folder / "few.csv").write_text("id\n" + "1\n" * 20)
    with Daemon(folder, data.yaml_text({"few": data.numbers_stream([str(folder / "few.csv")])})) as daemon:
        daemon.pull("few", "--epochs", 3)
        text = daemon.ctl("metrics").stdout.decode()
        stats = json.loads(daemon.ctl("stats", "few", "--json").stdout)[0]
        check_openmetrics(text)
        check_metrics(daemon.ctl("metrics", "--format", "prometheus").stdout.decode())

        def told(name, **labels):
            return sample(text, name, stream="few", owner="settings", **labels)
        rows = {le: told("leat_stream_batch_rows_bucket", le=le) for le in ("1.0", "4.0", "16.0", "64.0", "65536.0", "+Inf")}
        assert rows == {"1.0": 0, "4.0": 3, "16.0": 9, "64.0": 9, "65536.0": 9, "+Inf": 9}, rows
        assert told("leat_stream_batch_rows_sum") == 60 and told("leat_stream_batch_rows_count") == 9 == stats["n_batches"]
        assert told("leat_stream_batch_bytes_count") == 9 and told("leat_stream_batch_bytes_sum") >= 60 * 8
        assert told("leat_stream_batch_bytes_bucket", le="1073741824.0") == 9
        assert told("leat_stream_batch_wait_seconds_count") == stats["n_waits"] > 0
        assert told("leat_stream_batch_wait_seconds_bucket", le="+Inf") == stats["n_waits"]
        assert told("leat_stream_batch_wait_seconds_sum") == told("leat_stream_trainer_wait_seconds_total")
        bounds = re.findall(r'leat_stream_batch_wait_seconds_bucket\{.*le="(.*)"\} (\d+)', text)
        assert [bound for bound, _ in bounds] == ["0.0001", "0.0003", "0.001", "0.003", "0.01", "0.03", "0.1", "0.3", "1.0", "3.0",
                                                  "10.0", "30.0", "100.0", "+Inf"]
        counts = [int(n) for _, n in bounds]
        assert counts == sorted(counts), counts


def test_other_streams(folder):
    """Streams beyond those that have figures of their own are summed up: nothing is lost."""
    n_streams, n_named = 27, 24
    for i in range(n_streams):
        (folder / f"{i}.csv").write_text("id\n" + "1\n" * (i + 1))
    streams = {f"s{i:02}": data.numbers_stream([str(folder / f"{i}.csv")]) for i in range(n_streams)}
    with Daemon(folder, data.yaml_text(streams)) as daemon:
        for name in streams:
            daemon.pull(name, "--epochs", 1)
        text = daemon.ctl("metrics").stdout.decode()
        assert sample(text, "leat_streams_other") == n_streams - n_named
        for i in range(n_named):
            assert sample(text, "leat_stream_rows_total", stream=f"s{i:02}", owner="settings") == i + 1
        n_others = sum(i + 1 for i in range(n_named, n_streams))
        assert sample(text, "leat_stream_rows_total", stream="other", owner="other") == n_others
        assert sample(text, "leat_stage_records_total", stream="other", owner="other", stage="cast", role="map") == n_others

        def told():
            samples = json.loads(daemon.ctl("stats", "--since", "6h", "--json").stdout)
            return sum(stream["n_rows"] for one in samples for stream in one["streams"] if stream["is_other"])
        wait_until(lambda: told() == n_others, "the history does not have them")
        assert any(one["streams"] for one in json.loads(daemon.ctl("stats", "other", "--since", "6h", "--json").stdout))


# ---- Prometheus and Grafana ----


def test_rules(_folder):
    require("promtool")
    rules = ROOT / "config" / "prometheus"
    for command in (["check", "rules", "leat.rules.yaml"], ["test", "rules", "leat.rules.test.yaml"],
                    ["check", "config", "prometheus.yml"]):
        done = subprocess.run(["promtool", *command], cwd=rules, capture_output=True, timeout=HANG_S)
        assert done.returncode == 0, done.stdout + done.stderr


def dashboard_queries():
    """(title, expression) of all panels, for all jobs, instances and streams."""
    dashboard = json.loads((ROOT / "config" / "grafana" / "leat.json").read_text())
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            expression = target["expr"].replace("$__rate_interval", "4s")
            yield panel["title"], re.sub(r"\$(job|instance|stream)\b", ".*", expression)


class Prometheus:
    """One that scrapes a port each half second, with the rules of the repository."""

    def __init__(self, folder, port):
        self.port = free_port()
        config = json.loads(json.dumps({
            "global": {"scrape_interval": "500ms", "evaluation_interval": "1s"},
            "rule_files": [str(ROOT / "config" / "prometheus" / "leat.rules.yaml")],
            "scrape_configs": [{"job_name": "leat", "static_configs": [{"targets": [f"127.0.0.1:{port}"]}]}]}))
        (folder / "prometheus.yml").write_text(json.dumps(config))
        self.log = open(folder / "prometheus.log", "wb")
        self.process = subprocess.Popen(
            [require("prometheus"), f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/tsdb",
             f"--web.listen-address=127.0.0.1:{self.port}"], stdout=self.log, stderr=self.log, env={**os.environ, "GOMAXPROCS": "2"})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(HANG_S)
        self.log.close()

    def ask(self, path, **arguments):
        address = f"http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(arguments)}"
        try:
            with urllib.request.urlopen(address, timeout=HANG_S) as reply:
                return json.load(reply)["data"]
        except urllib.error.HTTPError as error:
            if error.code == 503:  # it is not ready yet
                return None
            raise AssertionError(f"{arguments}: {error.read()}") from None
        except OSError:
            assert self.process.poll() is None, f"prometheus ended with {self.process.returncode}"
            return None

    def query(self, expression):
        return (self.ask("query", query=expression) or {"result": []})["result"]


def test_prometheus(folder):
    """It scrapes a daemon at work, and has an answer to each query of the dashboard."""
    require("prometheus")
    port = free_port()
    with Daemon(folder, configuration(folder, http_listen=f"127.0.0.1:{port}", memory_limit="1GiB")) as daemon:
        await_figures(port)
        with Prometheus(folder, port) as prometheus:
            with trainer(daemon):
                wait_until(lambda: prometheus.query("rate(leat_stream_batches_total{stream='titanic'}[4s]) > 0"), "no rate")
                for title, expression in dashboard_queries():
                    result = wait_until(lambda: prometheus.query(expression), f"no answer to {title}: {expression}")
                    assert all(re.fullmatch(r"[0-9.e+-]+", series["value"][1]) for series in result), (title, result)
            for label in ("job", "instance", "stream"):
                assert prometheus.ask(f"label/{label}/values"), label
            target = prometheus.ask("targets")["activeTargets"][0]
            assert target["health"] == "up" and target["lastError"] == "", target
            n = json.loads(daemon.ctl("stats", "titanic", "--json").stdout)[0]["n_batches"]
            wait_until(lambda: float(prometheus.query("leat_stream_batches_total{stream='titanic'}")[0]["value"][1]) == n,
                       "Prometheus has another number than the daemon")
            rules = [rule for group in prometheus.ask("rules")["groups"] for rule in group["rules"]]
            assert len(rules) == 13 and all(rule["health"] == "ok" for rule in rules), rules


def test_names(_folder):
    """Every metric that dashboard, rules and the guide name is one that the daemon has."""
    reference = subprocess.run([BIN / "leatd", "--reference"], check=True, capture_output=True, text=True).stdout
    known = {metric["name"] for metric in json.loads(reference)["metrics"]}
    for file in ("config/grafana/leat.json", "config/prometheus/leat.rules.yaml", "daemon/guide/metrics.md"):
        text = (ROOT / file).read_text()
        named = set(re.findall(r"\b(?:leat_(?:stream|stage|loop|worker|memory|sessions|log)_\w+|process_\w+)(?=[{\[ )\n])", text))
        wrong = {name for name in named if name.endswith(("_total", "_seconds", "_bytes", "_fds")) and name not in known}
        assert not wrong, f"{file}: {wrong}"


# ---- the page ----


def test_page(folder):
    """In a browser, at work: what is drawn, that nothing is fetched from elsewhere, on a telephone too."""
    browser.find()
    port = free_port()
    keep = pathlib.Path(os.environ.get("LEAT_SCREENSHOTS", folder))
    config = configuration(folder, http_listen=f"127.0.0.1:{port}")
    config += f"  missing: {json.dumps(data.numbers_stream(['nowhere.csv']))}\n"
    with Daemon(folder, config) as daemon, trainer(daemon):
        await_figures(port)
        with browser.Browser(folder) as page:
            page.resize(1280, 900, is_dark=False)
            page.do("Page.navigate", url=f"http://127.0.0.1:{port}/")
            page.wait("Number(document.documentElement.dataset.drawn) >= 3")
            assert page.run("document.getElementById('trouble').hidden")
            for chart in ("batches", "tokens", "wait", "stages", "queue", "memory", "cpu"):
                path = page.run(f"document.querySelector('#chart-{chart} path').getAttribute('d')")
                assert path.startswith("M") and "NaN" not in path and path.count("L") >= 1, (chart, path)
            legend = page.run("document.querySelector('#chart-batches .legend').textContent")
            assert legend.startswith("titanic") and re.search(r"[1-9]", legend), legend
            assert "tokenize" in page.run("document.querySelector('#stages').textContent")
            page.wait("document.getElementById('bounds').textContent.startsWith('titanic: bounded by ')")
            names = page.run("[...document.querySelectorAll('#streams tbody td:first-child')].map(cell => cell.textContent)")
            assert set(names) == {"titanic", NASTY, "missing"}, names
            assert page.run("document.getElementById('attention').hidden") and page.run("document.getElementById('token').hidden")
            daemon.pull("missing", check=False)
            page.wait("!document.getElementById('attention').hidden")
            needs = page.run("document.querySelector('#attention li').textContent")
            assert needs.startswith("missing: failed at ") and "(file)" in needs and "nowhere.csv" in needs, needs
            assert page.run("document.getElementById('nasty') === null"), "a stream's name was taken for markup"
            check_picture(page.screenshot(keep / "page.png"))
            page.resize(390, 844, is_dark=True)
            page.wait("document.querySelector('#chart-batches svg').viewBox.baseVal.width < 390")
            assert page.run("document.documentElement.scrollWidth") <= 390, "wider than a telephone"
            assert page.run("getComputedStyle(document.body).backgroundColor") == "rgb(18, 22, 27)"
            check_picture(page.screenshot(keep / "telephone.png"))
            page.run("document.getElementById('tens').click()")
            page.wait("document.getElementById('tens').getAttribute('aria-pressed') === 'true'")
            assert all(url.startswith((f"http://127.0.0.1:{port}/", "data:", "about:")) for url in page.requests())
            assert not page.complaints(), page.complaints()
            daemon.stop()
            page.wait("!document.getElementById('trouble').hidden")


def check_picture(picture):
    """There is something to see: many colours, and nowhere near all of one."""
    width, height, n_channels, rows = picture
    colours = {row[x * n_channels:(x + 1) * n_channels] for row in rows[::3] for x in range(0, width, 3)}
    assert height > width * 0.5 and len(colours) > 40, (width, height, len(colours))


# ---- who may look ----

TOKEN = "0123456789abcdef-the-token"


def test_token(folder):
    """No figures without it, in either way to give it; the page itself, which asks for it, is given."""
    port = free_port()
    (folder / "token").write_text(TOKEN + "\n")
    (folder / "token").chmod(0o600)
    settings = {"http_listen": f"127.0.0.1:{port}", "http_token_file": "token"}
    with Daemon(folder, configuration(folder, 10, **settings)):
        right = f"Authorization: Bearer {TOKEN}"
        wait_until(lambda: get(port, "/metrics", right)[0] == 200, "no metrics")
        for path in ("/metrics", "/history.json"):
            assert get(port, path, right)[0] == get(port, path, right.replace("Bearer", "bearer"))[0] == 200
            assert get(port, f"{path}?token={TOKEN}")[0] == 200
            assert get(port, f"{path}?token=wrong", right)[0] == 200
            status, headers, body = get(port, path)
            assert status == 401 and headers["www-authenticate"] == 'Bearer realm="leat"' and "leat_" not in body, (headers, body)
            for wrong in (TOKEN[:-1], TOKEN + "x", TOKEN.upper(), "", "x" * 5000, TOKEN + "\t" + TOKEN, "\xff" * 30):
                assert get(port, path, f"Authorization: Bearer {wrong}")[0] == 401, wrong
            for header in (f"Authorization: Basic {TOKEN}", f"Authorization: {TOKEN}", f"Authorization: Bearer  {TOKEN}", "Authorization:"):
                assert get(port, path, header)[0] == 401, header
            for wrong in ("token=", "token", f"token={TOKEN[:-1]}", f"x={TOKEN}"):
                assert get(port, f"{path}?{wrong}")[0] == 401, wrong
        for path in ("/", "/status.js", "/status.css"):
            assert get(port, path)[0] == 200 and TOKEN not in get(port, path)[2]
        assert TOKEN not in (folder / "leatd.log").read_text()


def test_token_in_a_browser(folder):
    """The page asks for the token, and draws once it has the right one."""
    browser.find()
    port = free_port()
    (folder / "token").write_text(TOKEN + "\n")
    (folder / "token").chmod(0o600)
    with Daemon(folder, configuration(folder, http_listen=f"127.0.0.1:{port}", http_token_file="token")), browser.Browser(folder) as page:
        wait_until(lambda: get(port, "/")[0] == 200, "no page")
        page.do("Page.navigate", url=f"http://127.0.0.1:{port}/")
        page.wait("document.getElementById('token')?.hidden === false")
        page.run(f"document.getElementById('token-text').value = '{TOKEN}'")
        page.run("document.querySelector('#token button').click()")
        page.wait("document.getElementById('token').hidden && Number(document.documentElement.dataset.drawn) >= 1")
        assert page.run("document.getElementById('token-text').value") == "" and TOKEN not in page.run("location.href")


def test_token_files(folder):
    """A file that others may read, that a stranger owns or that holds no token: the daemon says so and does not start."""
    token = folder / "token"
    for text, mode, uid, says in ((TOKEN, 0o644, 0, "chmod 0600"), (TOKEN, 0o604, 0, "chmod 0600"), (TOKEN, 0o620, 0, "chmod 0600"),
                                  (TOKEN, 0o600, 12345, "belongs to uid 12345"), ("short", 0o600, 0, "16 to 256"),
                                  ("x" * 257, 0o600, 0, "16 to 256"), (TOKEN + "\n" + TOKEN, 0o600, 0, "16 to 256"), ("", 0o600, 0, "16 to 256"),
                                  (TOKEN + "\0", 0o600, 0, "16 to 256"), (None, 0, 0, "is not a regular file"), (TOKEN, 0o640, 0, None)):
        if uid and os.geteuid():
            note_skipped("a token that belongs to another user", "only root can give a file away")
            continue
        with contextlib.suppress(OSError):
            token.unlink()
        if text is None:
            token.mkdir()
        else:
            token.write_text(text)
            token.chmod(mode)
        if uid:
            os.chown(token, uid, uid)
        config = configuration(folder, 10, http_listen=f"unix:{folder}/http.sock", http_token_file=str(token))
        if says is None:
            token.parent.joinpath("leatd.log").write_text("")
            with Daemon(folder, config):
                wait_until(lambda: get(folder / "http.sock", f"/metrics?token={TOKEN}")[0] == 200, "no metrics")
            continue
        (folder / "leatd.yaml").write_text(config)
        done = subprocess.run([BIN / "leatd", "--config", folder / "leatd.yaml", "--socket-dir", folder / "s"],
                              capture_output=True, timeout=HANG_S)
        assert done.returncode != 0 and b"http_token_file" in done.stderr and says in done.stderr.decode(), (says, done.stderr)
        if text is None:
            token.rmdir()


def test_unix_socket(folder):
    """It has mode and owner of the control socket, and those may look who may there."""
    if os.geteuid() != 0:
        raise Skip("only root can be other users")
    folder.chmod(0o755)
    where, stranger, group = folder / "http.sock", 23456, 34567
    with Daemon(folder, configuration(folder, 10, http_listen=f"unix:{where}", control_groups=[str(group)])) as daemon:
        await_figures(where)
        modes = [(status.st_mode, status.st_uid, status.st_gid) for status in (where.stat(), (daemon.sockets / "control.sock").stat())]
        assert modes[0] == modes[1], modes

        def asked_as(groups, path):
            reading, writing = os.pipe()

            def ask():
                os.setgroups(groups)
                os.setgid(stranger)
                os.setuid(stranger)
                os.write(writing, b"%d" % get(where, path)[0])
            in_child(ask)
            os.close(writing)
            with os.fdopen(reading) as end:
                return int(end.read())
        for path in ("/", "/metrics", "/history.json"):
            assert asked_as([], path) == 403 and asked_as([group], path) == 200 and get(where, path)[0] == 200, path
        daemon.config.write_text(configuration(folder, 10, http_listen=f"unix:{where}", control_groups=[str(group + 1)]))
        daemon.ctl("reload")
        assert asked_as([group], "/metrics") == 403 and asked_as([group + 1], "/metrics") == 200


# ---- no good ----


def test_hostile(folder):
    """Nothing that comes in is more than a refusal, and others are served meanwhile."""
    port = free_port()
    with Daemon(folder, configuration(folder, http_listen=f"127.0.0.1:{port}")) as daemon:
        await_figures(port)
        daemon.pull("titanic", "--epochs", 1)
        n_fds = daemon.n_fds()
        for method, path, status in (("POST", "/", 405), ("DELETE", "/metrics", 405), ("TRACE", "/", 405), ("BREW", "/", 405),
                                     ("GET", "/../../etc/passwd", 404), ("GET", "/metrics/", 404), ("GET", "//metrics", 404),
                                     ("GET", "/%2e%2e/x", 404), ("GET", "/history.json?after=x", 400),
                                     ("GET", "/history.json?after=-1", 400), ("GET", "/history.json?after=" + "9" * 400, 200),
                                     ("GET", "/history.json?after=&tens=1", 400), ("GET", "/?" + "a" * 30000, None)):
            with contextlib.suppress(IndexError):  # the connection ended without an answer
                assert get(port, path, method=method)[0] == (status or 414), (method, path)
        for path in (b"/", b"/metrics", b"/history.json", b"/none"):  # a connection is for one question
            reply = exchange(port, b"GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n" % path * 2)
            assert b"\r\nconnection: close\r\n" in reply.partition(b"\r\n\r\n")[0].lower() + b"\r\n", reply[:500]
            assert reply.count(b"HTTP/1.1 ") == 1, "connections are kept"
        assert get(port, "/", host="evil.example")[0] == 403
        assert get(port, "/", host=f"[::1]:{port}")[0] == 200
        assert get(port, "/metrics", "Content-Length: 1000000000")[0] == 400
        assert get(port, "/metrics", "Transfer-Encoding: chunked")[0] == 400
        random_requests(port, random.Random(7))
        slow_ones(port)
        wait_until(lambda: daemon.n_fds() <= n_fds, "descriptors are left open")
        daemon.pull("titanic", "--epochs", 1)
        assert get(port, "/metrics")[0] == 200


def random_requests(port, source, n=150):
    """Mutations of a good request, and noise."""
    good = b"GET /history.json?after=12&tens=1 HTTP/1.1\r\nHost: localhost\r\nAccept: text/plain\r\nConnection: close\r\n\r\n"
    for _ in range(n):
        request = bytearray(good)
        for _ in range(source.randrange(1, 9)):
            at = source.randrange(len(request))
            request[at:at + source.randrange(3)] = source.choice([b"", b"\r\n", b"\0", b"%", b" ", b":", bytes([source.randrange(256)]) * 40])
        with connect(port) as end, contextlib.suppress(OSError):
            end.settimeout(0.2)
            end.sendall(bytes(request))
            end.shutdown(socket.SHUT_WR)  # or the daemon would wait for the rest of half a request
            while end.recv(1 << 16):
                pass


def slow_ones(port):
    """More than there is room for, each with half a request or an answer that it does not read; who comes now is served."""
    ends = [connect(port) for _ in range(3 * MAX_CONNECTIONS)]
    for i, end in enumerate(ends):
        with contextlib.suppress(OSError):  # it was closed for a later one
            end.sendall(b"GET /history.json HTTP/1.1\r\nHost: localhost\r\n" + (b"\r\n" if i % 2 else b""))
    for _ in range(3):
        assert get(port, "/metrics")[0] == 200
    for end in ends:
        end.close()


def test_flood(folder):
    """A user may make so many connections at once and in a second, and is refused then. By TCP nobody knows who comes: there
    is one account for all, and who comes too often waits for its turn."""
    port, path = free_port(), folder / "http.sock"
    request = b"GET /none HTTP/1.1\r\nHost: localhost\r\n\r\n"
    for listen, where in ((f"unix:{path}", path), (f"127.0.0.1:{port}", port)):
        began = time.monotonic()
        with Daemon(folder, configuration(folder, 10, http_listen=listen)):
            n_answered = sum(exchange(where, request) != b"" for _ in range(AT_ONCE + 400))
            n_allowed = AT_ONCE + (time.monotonic() - began) * PER_SECOND + 1
        assert AT_ONCE <= n_answered <= n_allowed, (n_answered, n_allowed)
        assert isinstance(where, pathlib.Path) or n_answered == AT_ONCE + 400, n_answered


def is_stopped(pid):
    tasks = pathlib.Path(f"/proc/{pid}/task")
    return all((task / "stat").read_text().rpartition(")")[2].split()[0] == "T" for task in tasks.iterdir())


def test_hung_loop(folder):
    """A daemon whose loop is stopped has no figures for Prometheus that are long out of date. (The thread of the listener
    stops with the process; what is looked at is that it answers again, with new figures.)"""
    port = free_port()
    with Daemon(folder, configuration(folder, http_listen=f"127.0.0.1:{port}")) as daemon:
        await_figures(port)
        before = sample(get(port, "/metrics")[2], "process_start_time_seconds")
        daemon.process.send_signal(signal.SIGSTOP)
        wait_until(lambda: is_stopped(daemon.pid), "it is stopped")
        daemon.process.send_signal(signal.SIGCONT)
        wait_until(lambda: get(port, "/metrics")[0] == 200, "it does not come back")
        assert abs(sample(get(port, "/metrics")[2], "process_start_time_seconds") - before) < 1


def test_memory_is_claimed(folder):
    """For a listener, be its socket made or passed."""
    passing = ("import os, socket, sys; end = socket.socket(); end.bind(('127.0.0.1', 0)); end.listen(); "
               "os.dup2(end.fileno(), 3); os.set_inheritable(3, True); "
               "os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS='1', LISTEN_FDNAMES='http'); "
               "os.execv(sys.argv[1], sys.argv[1:])")
    claimed = []
    for listen, wrapper in (({}, ()), ({"http_listen": f"unix:{folder}/http.sock"}, ()),
                            ({}, (sys.executable, "-c", passing))):
        with Daemon(folder, configuration(folder, 10, **listen), wrapper=wrapper) as daemon:
            claimed.append(daemon.status()["memory_claimed_bytes"])
    assert min(claimed[1:]) - claimed[0] > 6 << 20, claimed  # 8 MiB, and the process differs a little


def test_private_daemons_do_not_listen(folder):
    """leatctl starts one of the same file while the machine's daemon has the port."""
    with Daemon(folder, configuration(folder, 50, http_listen=f"127.0.0.1:{free_port()}")) as daemon:
        assert run_digest(daemon.config, "titanic", "--epochs", 1) == daemon.digest("titanic", "--epochs", 1)


def test_cannot_listen(folder):
    """A port that is taken, a wrong address: the daemon says so and does not start."""
    with socket.socket() as end:
        end.bind(("127.0.0.1", 0))
        end.listen()
        for listen, says in ((f"127.0.0.1:{end.getsockname()[1]}", "in use"), ("0.0.0.0:9464", "not a loopback address"),
                             (f"unix:{folder}/{'x' * 120}", "bytes")):
            (folder / "leatd.yaml").write_text(configuration(folder, http_listen=listen))
            done = subprocess.run([BIN / "leatd", "--config", folder / "leatd.yaml", "--socket-dir", folder / "s"],
                                  capture_output=True, timeout=HANG_S)
            assert done.returncode != 0 and says in done.stderr.decode(), done


if __name__ == "__main__":
    main(globals())
