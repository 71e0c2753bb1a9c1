#!/usr/bin/env python3
"""The configuration read anew while trainers pull: who does not notice, who finishes an epoch, who is told; what is
wrong is told by its place, and disturbs nobody.

    test_reload.py BIN [PATTERN]
"""
import concurrent.futures
import json
import os
import shutil
import signal
import socket
import struct
import subprocess

import data
import leat_harness
import raw_client
from leat_harness import BIN, HANG_S, Daemon, wait_until

STEADY = BIN.parent / "tests" / "e2e" / "steady"
N_ROWS = 600
FAULT = 3  # the exit status of a configuration that is wrong at a place


def numbers(folder, name="numbers.csv", first=0, n_rows=N_ROWS):
    (folder / name).write_text("id\n" + "".join(f"{i}\n" for i in range(first, first + n_rows)))
    return str(folder / name)


def stream(csv, seed=1, batch_size=8, **options):
    made = data.numbers_stream([csv], batch_size=batch_size, **options)
    made["stages"].insert(2, {"shuffle": {"buffer_size": 100, "seed": seed}})
    return made


class Trainer:
    """steady, of which what it printed is read while it goes on. Without `epochs` until it is told to stop."""

    def __init__(self, daemon, name="s", rank=0, world_size=1, hold=1, pause_us=500, epochs=0, delivery=()):
        self.daemon, self.name, self.rank, self.world_size = daemon, name, rank, world_size
        self.process = subprocess.Popen(
            [STEADY, name, *map(str, [rank, world_size, hold, pause_us, epochs]), *delivery],
            env={**os.environ, "LEAT_SOCKET": str(daemon.sockets)}, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def stop(self):
        self.process.terminate()
        return self

    def finish(self):
        """Its epochs as (number, steps, digest), and what else it says."""
        out, err = self.process.communicate(timeout=HANG_S)
        assert self.process.returncode == 0, err.decode()
        *epochs, last = out.decode().splitlines()
        words = last.split()
        return [tuple(line.split()[1:]) for line in epochs], dict(zip(words[::2], map(int, words[1::2])))

    def fail(self):
        """What it said when it could not go on, and its epochs before."""
        out, err = self.process.communicate(timeout=HANG_S)
        assert self.process.returncode == 1, (self.process.returncode, out, err)
        return err.decode(), [tuple(line.split()[1:]) for line in out.decode().splitlines()]

    def again(self, n_epochs):
        """The same epochs as they are now, undisturbed."""
        return Trainer(self.daemon, self.name, self.rank, self.world_size, pause_us=0, epochs=n_epochs).finish()[0]


def write(daemon, streams, **settings):
    daemon.config.write_text(data.yaml_text(streams, workers=2, **settings))


def reload(daemon, *args):
    return json.loads(daemon.ctl("reload", "--json", *args).stdout)


def refuse(daemon):
    """What is wrong, as it is printed."""
    done = daemon.ctl("reload", check=False)
    assert done.returncode == FAULT, (done.returncode, done.stderr)
    return done.stderr.decode().strip()


def changes(report):
    return {change["name"]: change["change"] for change in report["streams"]}


def all_get_batches(daemon, n):
    """Whether so many trainers do."""
    return sum(session["n_batches"] > 20 and session["state"] == "serving" for session in daemon.sessions()) == n


def wait_for_batches(daemon, n=1):
    wait_until(lambda: all_get_batches(daemon, n), f"{n} trainers get batches")


def ids(daemon):
    return sorted(session["id"] for session in daemon.sessions())


def start(folder, streams, **settings):
    return Daemon(folder, data.yaml_text(streams, workers=2, **settings))


def check_switch(before, after, seen):
    """The epochs are first those of one stream, then those of the other: in which the other began."""
    n_old = sum(epoch in before for epoch in seen)
    assert seen[:n_old] == before[:n_old] and seen[n_old:] == after[n_old:len(seen)], (seen, before, after)
    return n_old


def test_who_stays_the_same_does_not_notice(folder):
    """Written otherwise, at other lines, with other options that change no batch; beside streams that come and go."""
    csv = numbers(folder)
    with start(folder, {"s": stream(csv), "old": stream(csv)}) as daemon:
        trainers = [Trainer(daemon), Trainer(daemon, delivery=("copy",))]
        wait_for_batches(daemon, 2)
        before = ids(daemon)
        same = stream(os.path.relpath(csv, folder), block_bytes=8192, on_reload="tell")
        same["stages"] = same["stages"][:-1] + [{"prefetch": {"prefetch_size": 7}}]
        write(daemon, {"new": stream(csv), "s": same}, window=3)
        report = reload(daemon)
        assert changes(report) == {"new": "added", "s": "changed", "old": "removed"}, report
        assert [change["what"] for change in report["streams"]] == ["", "", ""], report
        assert report["settings"] == ["window"] and report["at_start"] == [], report
        write(daemon, {"new": stream(csv), "s": same}, window=3)
        assert set(changes(reload(daemon)).values()) == {"unchanged"}
        assert ids(daemon) == before
        names = {entry["name"] for entry in json.loads(daemon.ctl("streams", "--json").stdout)}
        assert names == {"new", "s"}, names
        for trainer in trainers:
            seen, said = trainer.stop().finish()
            assert said["lost"] == 0 and seen == trainer.again(len(seen)), seen


def test_ranks_finish_their_epoch(folder):
    """Ranks of different paces, deliveries and holds: each epoch is of one stream, the same one for all of them."""
    csv = numbers(folder)
    paces = [(0, 300, ()), (1, 900, ()), (3, 1500, ("copy",))]
    with start(folder, {"s": stream(csv)}) as daemon:
        before = [Trainer(daemon, rank=rank, world_size=3, pause_us=0, epochs=40).finish()[0] for rank in range(3)]
        trainers = [Trainer(daemon, "s", rank, 3, *pace) for rank, pace in enumerate(paces)]
        wait_for_batches(daemon, 3)
        before_ids = set(ids(daemon))
        write(daemon, {"s": stream(csv, seed=2, batch_size=6)})
        report = reload(daemon, "--check")
        assert report["streams"][0]["n_sessions"] == 3 and "finish" in report["streams"][0]["what"], report
        assert reload(daemon) == report
        wait_until(lambda: not set(ids(daemon)) & before_ids and all_get_batches(daemon, 3),
                   "all go on, and hold nothing of the old one")
        seen = [trainer.stop().finish() for trainer in trainers]
        first = set()
        for trainer, old, (epochs, said) in zip(trainers, before, seen):
            first.add(check_switch(old, trainer.again(len(epochs)), epochs))
            assert said["lost"] == 0, said
        assert len(first) == 1, first


def test_twice_before_the_epoch_ends(folder):
    """What counts is what there is when the epoch ends; and nothing has happened if that is what there was."""
    csv = numbers(folder, n_rows=4 * N_ROWS)
    with start(folder, {"s": stream(csv)}) as daemon:
        before = Trainer(daemon, pause_us=0, epochs=3).finish()[0]
        trainer = Trainer(daemon, pause_us=2000, epochs=3)
        wait_for_batches(daemon)
        trainer.process.send_signal(signal.SIGSTOP)  # its epoch must not end in between
        number = ids(daemon)
        write(daemon, {"s": stream(csv, seed=2)})
        assert "finishes" in reload(daemon)["streams"][0]["what"]
        write(daemon, {"s": stream(csv)})
        assert reload(daemon)["streams"][0] == {"name": "s", "change": "changed", "n_sessions": 1, "what": ""}
        trainer.process.send_signal(signal.SIGCONT)
        wait_until(lambda: any(s["epoch"] > 0 for s in daemon.sessions()) or trainer.process.poll() is not None,
                   "the next epoch")
        assert ids(daemon) == number
        write(daemon, {"s": stream(csv, seed=2)})
        reload(daemon)
        write(daemon, {"s": stream(csv, seed=3)})
        reload(daemon)
        seen, _ = trainer.finish()
        assert check_switch(before, trainer.again(3), seen) in (1, 2, 3)


def test_who_is_told(folder):
    """With `on_reload: tell` at once, of a stream that is gone at the end of the epoch; nobody comes back by itself."""
    csv = numbers(folder)
    told = stream(csv, on_reload="tell")
    with start(folder, {"s": told, "gone": stream(csv), "kept": stream(csv)}) as daemon:
        gone = Trainer(daemon, "gone")
        kept, trainer = Trainer(daemon, "kept"), Trainer(daemon, "s")
        wait_for_batches(daemon, 3)
        write(daemon, {"s": {**told, "seed": 5}, "kept": stream(csv)})
        report = {change["name"]: change for change in reload(daemon)["streams"]}
        assert "gets an error" in report["s"]["what"] and "end" in report["gone"]["what"], report
        assert "changed the stream s" in trainer.fail()[0]
        message, epochs = gone.fail()
        assert "no longer in the daemon's settings" in message, message
        assert epochs and epochs == kept.again(len(epochs)), epochs  # "kept" has the same batches
        wait_until(lambda: len(daemon.sessions()) == 1, "they have gone")
        seen, said = kept.stop().finish()
        assert said["lost"] == 0 and seen == kept.again(len(seen))
        assert b"there is no stream" in daemon.pull("gone", check=False).stderr


def test_other_tensors(folder):
    """A trainer is not given tensors that it was not written for."""
    csv = numbers(folder)
    with start(folder, {"s": stream(csv)}) as daemon:
        trainer = Trainer(daemon)
        wait_for_batches(daemon)
        other = stream(csv)
        other["stages"][0]["cast"]["dtype"] = "int32"
        write(daemon, {"s": other})
        reload(daemon)
        assert "its tensor id (int64" in trainer.fail()[0]


def test_contents_of_files_count(folder):
    """A vocabulary with other words makes another stream of the same lines of the configuration."""
    (folder / "texts.csv").write_text("text\n" + "a b c\n" * N_ROWS)
    vocab = folder / "vocab.txt"
    vocab.write_text("[UNK]\na\nb\nc\n")
    made = {"source": {"csv": {"paths": [str(folder / "texts.csv")]}}, "stages": [
        {"tokenize": {"input": "text", "output": "ids", "vocab": str(vocab), "mode": "shortest", "unknown": "skip",
                      "max_length": 4}},
        {"pad": {"input": "ids", "length": 4, "value": 0}}, {"select": {"fields": ["ids"]}},
        {"batch": {"batch_size": 8}}]}
    with start(folder, {"s": made}) as daemon:
        trainer = Trainer(daemon)
        wait_for_batches(daemon)
        assert reload(daemon)["streams"][0]["change"] == "unchanged"
        vocab.write_text("[UNK]\nc\nb\na\n")
        report = reload(daemon)["streams"][0]
        assert report["change"] == "changed" and "finish" in report["what"], report
        trainer.stop().finish()


def test_settings(folder):
    """Limits, roots, groups and the level of the log are in force at once; workers at the next start."""
    csv = numbers(folder)
    with start(folder, {"s": stream(csv)}, max_sessions=2) as daemon:
        trainer = Trainer(daemon)
        wait_for_batches(daemon)
        (folder / "root").mkdir()
        daemon.config.write_text(data.yaml_text({"s": stream(csv)}, workers=3, max_sessions=1, log_level="info",
                                                roots=[str(folder / "root")], memory_limit="8GiB"))
        report = reload(daemon)
        assert sorted(report["settings"]) == ["log_level", "max_sessions", "max_user_sessions", "memory_limit",
                                              "roots"], report
        assert sorted(report["at_start"]) == ["workers"], report
        assert daemon.status()["n_workers"] == 2
        refused = daemon.pull("s", check=False).stderr
        assert b"would exceed the limit of 1 (max_user_sessions)" in refused, refused
        seen, said = trainer.stop().finish()
        wait_until(lambda: not daemon.sessions(), "there is room for another one")
        assert said["lost"] == 0 and seen == trainer.again(len(seen))
        assert "event=opened" in daemon.log  # of level info


def test_files_of_the_folder(folder):
    """streams.d/*.yaml in the order of their names; a name that is there twice is told with both places."""
    csv = numbers(folder)
    more = folder / "streams.d"
    more.mkdir()
    (more / "20-b.yaml").write_text(data.yaml_text({"b": stream(csv)}))
    (more / "10-a.yaml").write_text(data.yaml_text({"a": stream("../numbers.csv")}))
    (more / ".hidden.yaml").write_text("nonsense: [\n")
    (more / "a.yaml.bak").write_text("nonsense: [\n")
    (more / "empty.yaml").write_text("# nothing yet\n")
    with start(folder, {"s": stream(csv)}) as daemon:
        names = [entry["name"] for entry in json.loads(daemon.ctl("streams", "--json").stdout)]
        assert names == ["s", "a", "b"], names
        assert daemon.digest("a", "--epochs", 1) == daemon.digest("s", "--epochs", 1)
        (more / "30-a.yaml").write_text("# again\nstreams:\n  a: " + json.dumps(stream(csv)) + "\n")
        message = refuse(daemon)
        assert f"{more}/30-a.yaml:3:3: streams.a: " in message and f"{more}/10-a.yaml:2:3" in message, message
        (more / "30-a.yaml").write_text("workers: 2\n")
        assert f"{more}/30-a.yaml:1:1: unknown key \"workers\"" in refuse(daemon)
        (more / "30-a.yaml").unlink()
        (more / "10-a.yaml").unlink()
        assert changes(reload(daemon)) == {"s": "unchanged", "b": "unchanged", "a": "removed"}
        shutil.rmtree(more)
        assert changes(reload(daemon)) == {"s": "unchanged", "b": "removed"}
        daemon.config.write_text(data.yaml_text({"s": stream(csv)}, workers=2, include="nowhere"))
        assert "leatd.yaml:2:" in refuse(daemon)


def test_emptied_files(folder):
    """A file that was emptied, or is just being written, does not mean that there are no streams; nor at a start."""
    csv = numbers(folder)
    more = folder / "streams.d"
    more.mkdir()
    (more / "more.yaml").write_text(data.yaml_text({"t": stream(csv)}))
    with start(folder, {"s": stream(csv)}) as daemon:
        trainer = Trainer(daemon)
        wait_for_batches(daemon)
        text = daemon.config.read_text()
        for path, whole in ((daemon.config, text), (more / "more.yaml", data.yaml_text({"t": stream(csv)}))):
            for empty in ("", "\n \t\r\n"):
                path.write_text(empty)
                assert f"{path}:1:1: the file is empty" in refuse(daemon)
                done = subprocess.run([BIN / "leatd", "--check-config", daemon.config], capture_output=True, check=False)
                assert done.returncode != 0 and b"the file is empty" in done.stderr, done
            path.write_text(whole)
        assert set(changes(reload(daemon)).values()) == {"unchanged"}
        daemon.config.write_text("streams: {}\n")
        (more / "more.yaml").write_text("# nothing\n")
        assert changes(reload(daemon)) == {"s": "removed", "t": "removed"}
        daemon.config.write_text(text)
        reload(daemon)
        trainer.process.kill()
        trainer.process.communicate()


def test_by_signal(folder):
    """SIGHUP does the same, and says so in the log: the configuration, or what is wrong with it."""
    csv = numbers(folder)
    with start(folder, {"s": stream(csv)}) as daemon:
        write(daemon, {"s": stream(csv), "t": stream(csv)})
        daemon.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "reloaded" in daemon.log, "it was loaded")
        assert daemon.digest("t", "--epochs", 1)
        daemon.config.write_text("workers: 2\nstreams: 7\n")
        daemon.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "reload-failed" in daemon.log, "it was refused")
        assert "leatd.yaml:2:10" in daemon.log, daemon.log
        assert daemon.digest("t", "--epochs", 1)


def test_many_at_once(folder):
    """They wait for each other; trainers come and go meanwhile, and see one stream or the other."""
    csv = numbers(folder)
    both = [stream(csv), stream(csv, seed=2)]
    with start(folder, {"s": both[0]}) as daemon:
        digests = set()
        for made in reversed(both):
            write(daemon, {"s": made})
            reload(daemon)
            digests.add(daemon.digest("s", "--epochs", 1))

        def disturb(i):
            text = data.yaml_text({"s": both[i % 2]}, workers=2)
            temporary = daemon.config.with_suffix(f".{i}")
            temporary.write_text(text)
            temporary.rename(daemon.config)
            if i % 4 == 3:
                daemon.process.send_signal(signal.SIGHUP)
            return daemon.ctl("reload", "--json").returncode

        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            reloads = [pool.submit(disturb, i) for i in range(16)]
            pulls = [pool.submit(daemon.digest, "s", "--epochs", 1) for _ in range(12)]
            assert all(done.result() == 0 for done in reloads)
            assert {pull.result() for pull in pulls} <= digests


def test_two_in_one_write(folder):
    """The second one begins when the first is over, and once."""
    frame = struct.pack("<I", 4) + bytes([0x08, 1, 0x52, 0])  # version 1, reload
    csv = numbers(folder)
    with start(folder, {"s": stream(csv)}) as daemon:
        client = raw_client.RawClient(daemon, endpoint="control.sock", kind=socket.SOCK_STREAM)
        for _ in range(20):
            client.send(frame * 3)
        wait_until(lambda: daemon.log.count("event=reloaded") >= 60, "all have been answered")
        client.close()
        assert changes(reload(daemon)) == {"s": "unchanged"}
        assert daemon.log.count("event=reloaded") == 61, daemon.log[-2000:]


def test_beside_openings_that_load(folder):
    """Under a memory_limit, where plans claim what they take while they are made."""
    csv = numbers(folder)
    streams = {f"s{i}": stream(csv, seed=i) for i in range(4)}
    with start(folder, streams, memory_limit="400MiB", max_user_memory="400MiB") as daemon:
        trainers = [Trainer(daemon, name) for name in streams]
        wait_for_batches(daemon, len(streams))
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            pulls = [pool.submit(daemon.digest, f"s{i % 4}", "--epochs", 1) for i in range(24)]
            for i in range(12):
                write(daemon, {**streams, "more": stream(csv, seed=i)}, memory_limit="400MiB", max_user_memory="400MiB")
                reload(daemon)
            assert len({pull.result() for pull in pulls}) == 4
        for trainer in trainers:
            trainer.stop().finish()


def test_data_that_is_gone_disturbs_nobody(folder):
    """A stream that is written as before goes on, whatever a start would find; FIFOs are not opened."""
    csv, more = numbers(folder), numbers(folder, "more.csv", n_rows=200000)  # an epoch outlasts the test
    os.mkfifo(folder / "fifo")
    fifo = data.numbers_stream([str(folder / "fifo")])
    with start(folder, {"s": stream(more), "f": fifo, "t": stream(csv)}) as daemon:
        trainer = Trainer(daemon, pause_us=20000)
        wait_for_batches(daemon)
        reader = subprocess.Popen([BIN / "leatctl", "pull", "f", "--epochs", "1", "--json"], stdout=subprocess.PIPE,
                                  env={**os.environ, "LEAT_SOCKET": str(daemon.sockets)})
        writer = os.open(folder / "fifo", os.O_WRONLY)
        os.write(writer, b"id\n" + b"1\n" * 64)
        wait_until(lambda: len(daemon.sessions()) == 2, "it reads")
        os.rename(more, folder / "away")
        report = reload(daemon)
        assert set(changes(report).values()) == {"unchanged"}, report
        write(daemon, {"s": stream(more, seed=9), "f": fifo})
        assert "more.csv" in refuse_any(daemon)
        os.write(writer, b"1\n" * 64)
        os.close(writer)
        assert json.loads(reader.communicate(timeout=HANG_S)[0])["rows"] == 128
        os.rename(folder / "away", more)
        assert trainer.process.poll() is None, "it goes on"
        trainer.process.kill()
        trainer.process.communicate()


def open_unshuffled(daemon):
    """The stream s in the order of its data, with a window that is never given back."""
    client = raw_client.RawClient(daemon)
    client.send(raw_client.hello())
    assert client.receive()[0] == raw_client.WELCOME
    request = raw_client.open_request("s", window=4)
    payload = request[64:] + raw_client.field(15, 2)
    client.send(raw_client.packet(raw_client.OPEN, payload=payload))
    assert client.receive()[0] == raw_client.OPENED
    return client


def test_as_a_trainer_wants_it(folder):
    """A declared stream without its shuffle is another one when the rest of it is, and not when the shuffle is. What
    comes at the end of the epoch, where nothing is left of it to be sent, is GOAWAY with a code of its own."""
    csv = numbers(folder, n_rows=32)
    with start(folder, {"s": stream(csv)}) as daemon:
        client = open_unshuffled(daemon)
        held = [client.batch() for _ in range(4)]  # all of the epoch: its END comes when one is given back
        write(daemon, {"s": stream(csv, seed=2)})
        assert reload(daemon)["streams"][0]["what"] == ""
        write(daemon, {"s": stream(csv, batch_size=4)})
        assert "finishes" in reload(daemon)["streams"][0]["what"]
        client.send(raw_client.release(*held[0]))
        assert client.receive()[0] == raw_client.END
        kind, said = client.receive()
        assert kind == raw_client.GOAWAY and b"open it again to continue" in said, (kind, said)
        assert [s["state"] for s in daemon.sessions()] == ["leaving"]
        client.send(raw_client.release(*held[1]))
        client.send(raw_client.packet(raw_client.BYE))
        wait_until(lambda: not daemon.sessions(), "it has gone")


def refuse_any(daemon):
    done = daemon.ctl("reload", check=False)
    assert done.returncode != 0, done.stdout
    return done.stderr.decode().strip()


HEAD = "workers: 2\nlog: auto\n"
SOURCE = "    source: { csv: { paths: [numbers.csv] } }\n"
# what is written, line and column of the fault, a part of what is said
BROKEN = [
    ("wrokers: 2\n", 1, 1, "did you mean \"workers\""),
    ("workers: two\n", 1, 10, "whole number"),
    ("workers: 0\n", 1, 10, "outside 1..1024"),
    ("workers: 2\nworkers: 3\n", 2, 1, ""),
    ("window: 129\n", 1, 9, "outside"),
    ("window: 9\nmax_window: 8\n", 1, 9, "max_window"),
    ("max_sessions: 5\nmax_user_sessions: 6\n", 2, 20, "max_sessions"),
    ("max_ring_bytes: 5\n", 1, 17, "outside"),
    ("max_ring_bytes: 999999999999999\n", 1, 17, "85 %"),
    ("memory_limit: 1MB\n", 1, 15, "outside"),
    ("memory_limit: 900TB\n", 1, 15, "too much"),
    ("memory_limit: much\n", 1, 15, ""),
    ("log: loud\n", 1, 6, "not one of"),
    ("log_level: [debug]\n", 1, 12, ""),
    ("exec: yes\n", 1, 7, "not one of"),
    ("roots: {a: b}\n", 1, 8, "list"),
    ("admin_groups: [no-such-group]\n", 1, 16, "admin_groups[0]: \"no-such-group\" is not a group of this machine"),
    ("tuner: maybe\n", 1, 8, "not one of"),
    ("include: nowhere\n", 1, 10, "nowhere"),
    ("- a\n", 1, 1, "map"),
    ("workers: [\n", 2, 1, ""),
    ("workers: 2\n\tx: 1\n", 2, 1, ""),
    ("a: &x 1\nb: *x\n", 1, 4, ""),
    (HEAD + "streams: 5\n", 3, 10, "map"),
    (HEAD + "streams:\n  s: 5\n", 4, 6, "map"),
    (HEAD + "streams:\n  s: { stages: [] }\n", 4, 3, "source is missing"),
    (HEAD + "streams:\n  s:\n    source: { cvs: { paths: [a] } }\n", 5, 15, "csv"),
    (HEAD + "streams:\n  s:\n    source: { csv: { } }\n", 5, 15, "paths"),
    (HEAD + "streams:\n  s:\n    source: { csv: { path: [a] } }\n", 5, 22, "paths"),
    (HEAD + "streams:\n  s:\n" + SOURCE + "    stages: 7\n", 6, 13, "list"),
    (HEAD + "streams:\n  s:\n" + SOURCE + "    stages: [batsh]\n", 6, 14, "batch"),
    (HEAD + "streams:\n  s:\n" + SOURCE + "    stages:\n      - batch: { batch_size: 0 }\n", 7, 30, "outside"),
    (HEAD + "streams:\n  s:\n" + SOURCE + "    stages:\n      - batch: { batch_size: 2, drop_lost: true }\n", 7, 33, "drop_last"),
    (HEAD + "streams:\n  s:\n" + SOURCE + "    stages:\n      - shuffle: { buffer_size: x }\n", 7, 33, "whole number"),
    (HEAD + "streams:\n  s:\n" + SOURCE + "    stages:\n      - { batch: {}, pad: {} }\n", 7, 9, "one name"),
    (HEAD + "streams:\n  s:\n" + SOURCE + "    stages:\n      - batch: { batch_size: 2 }\n      - batch: { batch_size: 2 }\n",
     8, 9, ""),
    (HEAD + "streams:\n  s:\n" + SOURCE + "    seed: -1\n", 6, 11, "outside"),
    (HEAD + "streams:\n  s:\n" + SOURCE + "    on_reload: never\n", 6, 16, "finish_epoch"),
    (HEAD + "streams:\n  s:\n" + SOURCE + "    on_errer: skip\n", 6, 5, "on_error"),
    (HEAD + "streams:\n  s:\n" + SOURCE + "    block_bytes: 1\n", 6, 18, "outside"),
    (HEAD + "streams:\n  s:\n" + SOURCE + "    cache: { pahts: x }\n", 6, 14, "path"),
    (HEAD + "streams:\n  s:\n" + SOURCE + "  s:\n" + SOURCE, 6, 3, ""),
    (HEAD + "streams:\n  " + "n" * 65 + ":\n" + SOURCE, 4, 3, "1 to 63 bytes"),
    (HEAD + "streams:\n  s:\n" + SOURCE + "    stages:\n      - batch: { batch_size: 2 }\n      - cast: { input: id, dtype: int65 }\n",
     8, 35, "not one of"),
]


def test_broken_configurations(folder):
    """Each is refused with its line and column, and a trainer's batches flow on as if nothing had been."""
    assert len(BROKEN) >= 40 and len({text for text, *_ in BROKEN}) == len(BROKEN)
    csv = numbers(folder)
    with start(folder, {"s": stream(csv)}) as daemon:
        trainer = Trainer(daemon)
        wait_for_batches(daemon)
        before = ids(daemon)
        wrong = []
        for text, line, column, says in BROKEN:
            daemon.config.write_text(text)
            message = refuse(daemon)
            if not message.startswith(f"{daemon.config}:{line}:{column}: ") or says not in message:
                wrong.append(f"{text!r} at {line}:{column} ({says}): {message}")
        assert not wrong, "\n".join(wrong)
        assert ids(daemon) == before
        assert daemon.log.count("reload-failed") == len(BROKEN)
        seen, said = trainer.stop().finish()
        assert said["lost"] == 0 and seen == trainer.again(len(seen))


if __name__ == "__main__":
    leat_harness.main(globals())
