#!/usr/bin/env python3
"""Data that changes under a running stream: who is told, and what becomes of the trainer.

    test_changes.py BIN [PATTERN]
"""
import json
import os
import signal
import subprocess

import data
import raw_client
from leat_harness import BIN, HANG_S, Daemon, main, wait_until

N_ROWS = 600000  # an epoch is more than a ring has slots for: nothing of the second is read when the first begins
N_EPOCHS = 5


def write(path, digit):
    """In place: who reads it meanwhile finds whole records."""
    text = "id,text\n" + "".join(f"{digit}{i:06d},x\n" for i in range(N_ROWS))
    with path.open("r+" if path.exists() else "w") as file:
        file.write(text)


def stream(path, **options):
    return data.numbers_stream([str(path)], batch_size=1000, block_bytes=4096, jobs_in_flight=2, **options)


def trainer(daemon, **options):
    return raw_client.RawClient(daemon).opened(window=4, n_epochs=N_EPOCHS, **options)


def read(client, change):
    """Reads to the end, and calls change() with the first batch in hand: (number of ended epochs, last words or None). What
    the daemon warns of comes into client.notices."""
    n_ends = n_batches = 0
    client.notices, client.last_epoch = [], 0
    while True:
        kind, body = client.receive_kind(raw_client.BATCH, raw_client.END, raw_client.GOAWAY, raw_client.NOTICE)
        if kind == raw_client.NOTICE:
            client.notices.append(body[56:].decode(errors="replace"))
            continue
        if kind == raw_client.GOAWAY:
            return n_ends, body[56:].decode(errors="replace")
        if kind == raw_client.END:
            n_ends += 1
            if n_ends == N_EPOCHS:
                return n_ends, None
            continue
        generation, epoch, step, slot = (int.from_bytes(body[i:i + 8], "little") for i in (0, 8, 16, 32))
        n_batches += 1
        client.last_epoch = epoch
        if n_batches == 1:
            change()
        client.send(raw_client.release(generation, epoch, step, slot & 0xFFFFFFFF))


def count(daemon):
    lines = daemon.ctl("metrics").stdout.decode().splitlines()
    return [float(line.split()[-1]) for line in lines if line.startswith("leat_stream_changed_files_total{")]


def run(folder, change, options=None, how=None):
    """(ended epochs, last words, what the daemon logged, what it warned of) of a trainer in whose first epoch the file changes."""
    path = folder / "in.csv"
    path.unlink(missing_ok=True)
    write(path, 1)
    with Daemon(folder, data.yaml_text({"s": stream(path, **(options or {}))})) as daemon:
        client = trainer(daemon, **(how or {}))
        n_ends, said = read(client, lambda: change(path))
        client.close()
        assert sum(count(daemon)) >= 1, "no counter"
        wait_until(lambda: "data-changed" in daemon.log, "an event")
        log = daemon.log
    (folder / "leatd.log").unlink()
    return n_ends, said, log, client.notices


def rewrite(path):
    write(path, 2)


def append(path):
    with path.open("a") as file:
        file.write("7,x\n")


def replace(path):
    other = path.with_name("other.csv")
    other.write_text("id,text\n" + "5,x\n" * N_ROWS)
    os.rename(other, path)


def test_fails_where_data_was_promised(folder):
    """A position, several ranks, or `on_change: fail`: the run ends, and the error names the file and what changed."""
    cases = [(rewrite, {"on_change": "fail"}, {}, "was rewritten with the same size"),
             (append, {}, {"step": 3}, "was appended to"),
             (replace, {}, {"world_size": 2}, "was replaced by another file")]
    for change, options, how, words in cases:
        n_ends, said, log, notices = run(folder, change, options, how)
        assert n_ends <= 1 and said is not None, (n_ends, said)
        assert all(part in said for part in ("in.csv", "streams.s", "the data changed", words)), said
        assert "stream-failed" in log and not notices, (log, notices)


def test_warns_where_nothing_was_promised(folder):
    """The trainer is told, unless it is to follow; either way it has all epochs."""
    for options, n_notices in (({}, 1), ({"on_change": "warn"}, 1), ({"on_change": "follow"}, 0)):
        n_ends, said, log, notices = run(folder, rewrite, options)
        assert len(notices) == n_notices, notices
        assert all("in.csv: was rewritten with the same size" in notice for notice in notices), notices
        assert (n_ends, said) == (N_EPOCHS, None), (n_ends, said)
        assert "was rewritten with the same size" in log and "stream-failed" not in log, log


def test_follows_though_there_is_a_position(folder):
    n_ends, said, _, notices = run(folder, append, {"on_change": "follow"}, {"step": 3})
    assert (n_ends, said, notices) == (N_EPOCHS, None, []), (n_ends, said, notices)


def test_a_touched_file_has_not_changed(folder):
    path = folder / "in.csv"
    write(path, 1)
    with Daemon(folder, data.yaml_text({"s": stream(path, on_change="fail")})) as daemon:
        client = trainer(daemon)
        assert read(client, lambda: os.utime(path, (1, 1))) == (N_EPOCHS, None)
        client.close()
        assert sum(count(daemon)) == 0 and "data-changed" not in daemon.log


def test_a_small_file_is_looked_at_when_its_epoch_is_read(folder):
    """Of a file that is read ahead to its end, no epoch comes that was begun behind the change."""
    path = folder / "in.csv"
    path.write_text("id,text\n" + "1,x\n" * 100)
    config = data.yaml_text({"s": data.numbers_stream([str(path)], on_change="fail", cache={"path": str(folder / "cache")})})
    with Daemon(folder, config) as daemon:
        def change():
            wait_until(lambda: json.loads(daemon.ctl("stats", "--json").stdout)[0]["n_jobs"] == 0, "no job")
            append(path)

        client = trainer(daemon)
        n_ends, said = read(client, change)
        client.close()
    assert n_ends <= 2 and client.last_epoch <= 1 and "was appended to" in said, (n_ends, client.last_epoch, said)


def test_leatctl_prints_the_warning(folder):
    path = folder / "in.csv"
    write(path, 1)
    with Daemon(folder, data.yaml_text({"s": stream(path)})) as daemon:
        with (folder / "said").open("wb") as said:
            pull = subprocess.Popen([BIN / "leatctl", "pull", "s", "--epochs", "0"], stdout=said, stderr=said,
                                    env={**os.environ, "LEAT_SOCKET": str(daemon.sockets)})
        wait_until(lambda: any(session["state"] == "serving" for session in daemon.sessions()), "a session that is served")
        append(path)
        wait_until(lambda: "in.csv: was appended to" in (folder / "said").read_text(), "a warning")
        assert "leatctl: warning: streams.s: the data changed" in (folder / "said").read_text()
        pull.send_signal(signal.SIGINT)
        pull.wait(HANG_S)


if __name__ == "__main__":
    main(globals())
