#!/usr/bin/env python3
"""leatctl's command line: one screen of help, options of all commands, what a FILE, a STREAM and a status mean."""
import json
import os
import socket
import subprocess

import data
import leat_harness
from leat_harness import BIN, Daemon, Skip, ctl, run_digest


def settings(folder, *names):
    stream = data.titanic_stream(data.titanic(folder, 200), batch_size=16)
    return data.yaml_text({name: stream for name in names})


def write(folder, *names):
    file = folder / "streams.yaml"
    file.write_text(settings(folder, *names))
    return file


def message(*words, status, **keywords):
    done = ctl(*words, check=False, **keywords)
    assert done.returncode == status, (words, done)
    return done.stderr.decode()


def test_help_is_one_screen(_folder):
    lines = ctl("--help").stdout.decode().splitlines()
    assert len(lines) <= 40 and max(map(len, lines)) <= 100, lines
    assert lines[0].startswith("leat "), lines[0]
    groups = [line.split()[0] for line in lines if line and not line.startswith((" ", "`"))]
    assert groups[1:] == ["usage:", "data", "run", "daemon", "caches", "tokenizers", "leatctl"], groups
    shown = " ".join(lines).replace(",", " ").replace(":", " ").split()
    for command in json.loads(ctl("--json", "help").stdout)["commands"]:
        assert set(command["name"].split()) <= set(shown), command["name"]
    nothing = ctl(check=False)
    assert nothing.returncode == 2 and nothing.stderr.decode().splitlines() == lines


def test_help_of_a_group(_folder):
    """The summaries of `leatctl cache` stand in one column, whatever the longest name is."""
    summaries = {command["name"]: command["summary"] for command in json.loads(ctl("--json", "help").stdout)["commands"]}
    for word in ("cache", "tokenizer"):
        lines = message(word, status=2).splitlines()
        columns = {line.index(summary) for name, summary in summaries.items() for line in lines if f"leatctl {name} " in line}
        assert len(columns) == 1, lines


def test_global_options(folder):
    file = write(folder, "s")
    with Daemon(folder, settings(folder, "s")) as daemon:
        nowhere = {"LEAT_SOCKET": str(folder / "nowhere")}
        for words in (["--socket", daemon.sockets, "--json", "status"], [f"--socket={daemon.sockets}", "status", "--json"],
                      ["--json", "status", "--socket", daemon.sockets], ["status", f"--socket={daemon.sockets}", "--json"]):
            assert json.loads(ctl(*words, env=nowhere).stdout)["pid"] == daemon.pid, words
        assert run_digest(file) == leat_harness.find_digest(ctl("--socket", daemon.sockets, "pull", "s", "--digest").stdout)
        assert ctl("completion", "words", "--", "--socket", daemon.sockets, "pull", "", env=nowhere).stdout.startswith(b"words\ns\t")
    assert json.loads(ctl("--json", "head", file, "-n", 1).stdout)
    assert "does not connect to a daemon" in message("--socket", folder, "head", file, status=2)
    assert "does not connect to a daemon" in message("run", file, "--socket", folder, status=2)


def test_file_and_stream(folder):
    """The same words name the same stream wherever a file is looked at."""
    file, out = write(folder, "one", "two"), folder / "out"
    for words in (["head"], ["describe"], ["spec"], ["explain", "--no-measure"], ["where", "--step", 0], ["run"], ["dump", "-o", out],
                  ["bench", "--batches", 2, "--repeat", 1], ["trace", "-o", folder / "t.json", "--batches", 2]):
        command, *more = words
        assert "add the name of one stream after the file: one, two" in message(command, file, *more, status=3), words
        assert 'the file has no stream "three"' in message(command, file, "three", *more, status=3), words
        ctl(command, file, "two", *more)
        assert "after its FILE" in message(command, file, *more, "--stream", "two", status=2), words
    with Daemon(folder, settings(folder, "one")) as daemon:
        (folder / "one").write_text("not a file of streams")  # of the same name as a stream of the daemon
        for words in (["explain"], ["where", "--step", 0], ["dump", "--batches", 1], ["trace", "-o", folder / "t.json", "--seconds", 1]):
            command, *more = words
            assert message(command, "one", *more, status=3, cwd=folder), words
            ctl("--socket", daemon.sockets, command, "one", *more, cwd=folder)
        for option in (["--workers", 2], ["--no-fuse"], ["--measure"]):
            assert "is for a FILE" in message("explain", "x", *option, status=2)


def test_statuses(folder):
    none = message("status", status=4, env={"LEAT_SOCKET": str(folder)})
    assert str(folder) in none
    if os.getuid() != 0:
        raise Skip("another user's rights can be tried by root only")
    # a socket that this user may not connect to is there
    closed = folder / "closed"
    closed.mkdir()
    folder.chmod(0o755)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(closed / "control.sock"))
        listener.listen()
        (closed / "control.sock").chmod(0o600)
        for words in (["status"], ["--json", "streams", "--users"], ["stats", "--watch"], ["top", "--once"]):
            done = subprocess.run([BIN / "leatctl", *words], capture_output=True, user=65534, group=65534, extra_groups=[], check=False,
                                  env={**os.environ, "LEAT_SOCKET": str(closed)})
            assert done.returncode == 5 and b"not in the group" in done.stderr, (words, done)


def test_flags_that_would_do_nothing(folder):
    file = write(folder, "s")
    for words in (["stats", "--interval", 2], ["stats", "--updates", 2], ["stats", "--watch", "--since", "1m"], ["stats", "--since", "soon"],
                  ["stats", "--since", "0"], ["stats", "--since", "5d"], ["streams", "--users", "--trainers"], ["reload", "--wait"],
                  ["explain", file, "--json", "--format", "svg"], ["run", file, "--json", "--format", "jsonl"], ["explain", file, "--svg"],
                  ["stages", "--json", "--format", "markdown"], ["bench", file, "--json", "--save", folder / "x.json"]):
        assert message(*words, status=2), words
    done = subprocess.run([BIN / "leatd", "--config", file, "-f"], capture_output=True, check=False)
    assert done.returncode != 0 and b"-f" in done.stderr, done


def test_moved_commands(_folder):
    for name, place in (("tokenize", "tokenizer encode"), ("decode", "tokenizer decode"),
                        ("quota", "streams --users"), ("trainers", "streams --trainers"), ("history", "stats --since"),
                        ("protocol", "leat-control(7)")):
        assert place in message(name, "x", status=2), name
    assert 'did you mean "status"' in message("statuss", status=2)


def told_of(folder, paths, tokenizer="t.json"):
    """What `check` says of a stream of these."""
    file = folder / "elsewhere.yaml"
    stages = [{"tokenize": {"input": "text", "output": "ids", "tokenizer": tokenizer}}, {"batch": {"batch_size": 2}}]
    file.write_text(data.yaml_text({"s": {"source": {"text": {"paths": paths}}, "stages": stages}}))
    text = ctl("check", file, check=False).stdout.decode().splitlines()[0]
    assert str(folder) not in text.partition("elsewhere.yaml:")[2], text
    return text


def test_names_of_what_is_elsewhere(folder):
    """A name that is no path gets an answer about what it is; what is there is read, whatever it is called."""
    for name, what in (("S3://b/{0..3}.txt", "an object in S3"),
                       ("gs://b/a.txt", "Google Cloud Storage"), ("HTTPS://x.org/a.txt", "a web address"),
                       ("hf://datasets/o/n/a.txt", "Hugging Face Hub"), ("file:///tmp/a.txt", "a URL"), ("r2://b/a.txt", "an address")):
        text = told_of(folder, [name])
        assert what in text and "leat can read only local files" in text, text
        assert what in message("head", name + ".yaml", status=1), name
    (folder / "a.txt").write_text("a text\n")
    for name in ("gpt2", "openai-community/gpt2"):
        text = told_of(folder, ["a.txt"], name)
        assert f'"{name}", and leat downloads nothing' in text and f"hf download {name} tokenizer.json" in text, text
        for verb in ("show", "encode", "decode"):
            assert f"hf download {name} " in message("tokenizer", verb, name, status=1)
    assert "an object in S3" in told_of(folder, ["a.txt"], "s3://b/tokenizer.json")
    for name in ("./gpt2", "a/b/c", "x/tokenizer.json"):
        assert "there is no such file" in message("tokenizer", "show", name, status=3, cwd=folder)
    (folder / "r2:" / "b").mkdir(parents=True)
    (folder / "r2:" / "b" / "a.txt").write_text("a text\n")
    assert "r2:" not in told_of(folder, ["r2://b/a.txt"]), "that is there"


if __name__ == "__main__":
    leat_harness.main(globals())
