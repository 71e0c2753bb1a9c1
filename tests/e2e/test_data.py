#!/usr/bin/env python3
"""Nasty CSV and JSONL, read by leat and by Python's modules; malformed records and what becomes of them.

    test_data.py BIN [PATTERN]
"""
import json
import pathlib
import random
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "reference"))

import data
import leat_harness
import nasty
from leat_harness import BIN, Daemon, ctl


def head(folder, stream, n=1000000, after="source"):
    """Records of a stream as leat sees them after a stage."""
    file = folder / "head.yaml"
    file.write_text(data.yaml_text({"s": stream}))
    out = ctl("head", file, "-n", n, "--after", after, "--json").stdout.decode()
    return [json.loads(line) for line in out.splitlines() if line.strip()]


def first_difference(found, expected):
    for i, (a, b) in enumerate(zip(found, expected)):
        if a != b:
            return f"record {i}: {a!r}, not {b!r}"
    return f"{len(found)} records, not {len(expected)}"


def compare(found, expected, what):
    assert found == expected, f"{what}: {first_difference(found, expected)}"


def test_nasty_csv(folder):
    rng = random.Random(11)
    for case in range(12):
        delimiter = rng.choice([",", ",", ";", "\t", "|"])
        raw = nasty.csv_bytes(case, 400, delimiter, rng.choice(["\n", "\r\n"]), rng.random() < 0.3,
                              rng.random() < 0.5, rng.random() < 0.5)
        (folder / "n.csv").write_bytes(raw)
        header, *rows = nasty.read_csv(raw, delimiter)
        expected = [dict(zip(header, row)) for row in rows]
        for block_bytes in (4096, 262144):
            stream = {"source": {"csv": {"paths": ["n.csv"], "delimiter": delimiter}}, "block_bytes": block_bytes,
                      "stages": [{"cast": {"input": "id", "dtype": "int64"}}, {"select": {"fields": "id"}}]}
            compare(head(folder, stream), expected, f"case {case}, blocks of {block_bytes}")


def test_nasty_jsonl(folder):
    rng = random.Random(12)
    for case in range(12):
        raw = nasty.jsonl_bytes(case + 100, 400, rng.choice(["\n", "\r\n"]), rng.random() < 0.5, rng.random() < 0.5)
        (folder / "n.jsonl").write_bytes(raw)
        parsed = [json.loads(line) for line in raw.decode().split("\n") if line.strip()]
        expected = [{"id": r["id"], "text": r["text"], "flag": r["flag"], "lang": r["meta"]["lang"],
                     "stars": r["meta"]["stars"], "weight": r["weight"], "values": r["values"]} for r in parsed]
        for block_bytes in (4096, 262144):
            stream = {"source": {"jsonl": {"paths": ["n.jsonl"]}}, "block_bytes": block_bytes,
                      "stages": [{"rename": {"fields": {"meta.lang": "lang", "meta.stars": "stars"}}},
                                 {"select": {"fields": "id"}}]}
            found = [dict(sorted(record.items())) for record in head(folder, stream, after="rename")]
            compare(found, [dict(sorted(record.items())) for record in expected], f"case {case}, blocks of {block_bytes}")


def test_titanic_rows(folder):
    raw = data.titanic(folder, 3000).read_bytes()
    header, *rows = nasty.read_csv(raw)
    assert any('"' in row[3] for row in rows) and any(row[-1] == "" for row in rows)
    stream = {"source": {"csv": {"paths": ["titanic-3000.csv"]}}, "block_bytes": 4096,
              "stages": [{"cast": {"input": "Survived", "dtype": "int64"}}, {"select": {"fields": "Survived"}}]}
    compare(head(folder, stream), [dict(zip(header, row)) for row in rows], "titanic")


BAD_CSV = ("id,text\n"
           "1,good\n"
           "2,too,many\n"          # line 3
           "3,good\n"
           "4,\"quo\"ted\"\n"      # line 5
           "5,\"two\nlines\"\n"    # lines 6 and 7
           "x,good\n"              # line 8: no number
           "7\n"                   # line 9
           "8,good\n")
BAD_LINES = [3, 5, 8, 9]
GOOD_IDS = [1, 3, 5, 8]


def bad_stream(folder, **options):
    (folder / "bad.csv").write_text(BAD_CSV)
    stream = data.numbers_stream([str(folder / "bad.csv")], batch_size=2, **options)
    file = folder / "bad.yaml"
    file.write_text(data.yaml_text({"s": stream}))
    return file


def good_digest(folder):
    (folder / "good.csv").write_text("id,text\n" + "".join(f"{i},good\n" for i in GOOD_IDS))
    file = folder / "good.yaml"
    file.write_text(data.yaml_text({"s": data.numbers_stream([str(folder / "good.csv")], batch_size=2)}))
    return leat_harness.run_digest(file, "--no-daemon")


def test_bad_record_fails(folder):
    file = bad_stream(folder)
    for mode in (["--no-daemon"], []):
        done = ctl("run", file, *mode, check=False)
        assert done.stderr.count(b"bad.csv:3") == 1, done.stderr
        assert done.returncode not in (0, 2, 130) and done.returncode > 0, done
        message = done.stderr.decode()
        assert "bad.csv:3" in message, f"names no line: {message}"


def test_bad_records_are_skipped(folder):
    expected = good_digest(folder)
    file = bad_stream(folder, on_error="skip")
    assert leat_harness.run_digest(file, "--no-daemon") == expected
    for mode in (["--no-daemon"], []):
        told = ctl("run", file, *mode).stdout.decode()
        assert f"{len(BAD_LINES)} bad records; the last one: " in told and f"bad.csv:{BAD_LINES[-1]}" in told, told
    for n, told in ((1, 0), (2, 1), (100, len(BAD_LINES))):  # who looks for a record sees why it is not there
        head = ctl("head", file, "-n", n, "--after", "cast")
        assert (f"skipped {told} bad record{'' if told == 1 else 's'}. The first is: " in head.stderr.decode()) == (told > 0) and bool(head.stderr) == (told > 0), head
    with Daemon(folder, file) as daemon:
        assert daemon.digest("s") == expected
        stats = json.loads(daemon.ctl("stats", "--json").stdout)
        assert f'"n_bad_records": {len(BAD_LINES)}' in json.dumps(stats), stats


def test_bad_records_in_quarantine(folder):
    expected = good_digest(folder)
    aside = folder / "aside.jsonl"
    file = bad_stream(folder, on_error="quarantine", quarantine=str(aside))
    for mode in (["--no-daemon"], ["--workers", "4"]):
        aside.unlink(missing_ok=True)
        assert leat_harness.run_digest(file, *mode) == expected
        records = [json.loads(line) for line in aside.read_text().splitlines()]
        assert sorted(record["line"] for record in records) == BAD_LINES, records
        assert all(record["file"].endswith("bad.csv") for record in records), records


def test_a_quarantine_that_cannot_be_written(folder):
    """The end of an epoch is not told before its bad records are in their file: here nobody misses that they are not."""
    file = bad_stream(folder, on_error="quarantine", quarantine="/proc/no/such/aside.jsonl")
    for mode in (["--no-daemon"], [], ["--workers", "1"], ["--batches", "1000"]):
        done = ctl("run", file, *mode, check=False)
        assert done.returncode == 3 and b"cannot write bad records" in done.stderr, done


def test_too_many_errors(folder):
    file = bad_stream(folder, on_error="skip", max_errors=3)
    done = ctl("run", file, "--no-daemon", check=False)
    assert done.returncode != 0 and b"max_errors" in done.stderr, done


def test_errors_name_their_place(folder):
    for text, place, word in [("streams:\n  s:\n    source: {csv: {paths: [x.csv]}}\n    stages:\n      - shufle: {}\n", ":5:", "shuffle"),
                              ("streams:\n  s:\n    source: {csv: {paths: [x.csv]}}\n    stages:\n      - batch: {batch_sise: 3}\n", ":5:", "batch_size"),
                              ("streams:\n  s:\n    source: {csv: {paths: [x.csv]}}\n    stages:\n      - batch: {batch_size: 0}\n", ":5:", "1..1048576"),
                              ("streams:\n  s:\n    source: {csv: {pats: [x.csv]}}\n    stages: []\n", ":3:", "paths"),
                              ("streams:\n  s: {source: [\n", ":3:", "")]:
        file = folder / "wrong.yaml"
        file.write_text(text)
        done = ctl("check", file, check=False)
        message = (done.stdout + done.stderr).decode()
        assert done.returncode == 3 and f"wrong.yaml{place}" in message and word in message, (text, done)
        run = ctl("run", file, check=False)
        assert run.stderr.count(b"wrong.yaml:") == 1, run.stderr  # once, not in the words of a log as well


WRONG = """\
workers: none
windo: 3
control_groups: [no-such-group]
log_level: loud
streams:
  a:
    source: { csv: { paths: [a.csv], delimitr: ";", trim: maybe } }
    on_error: perhaps
    seed: x
    stages:
      - pad: { lenght: 3, value: [] }
      - shufle: {}
      - clip: { mni: 3, input: [] }
      - cast: { input: id, dtype: int65 }
      - batch: { batch_size: 0 }
      - prefetch: { prefetch_size: many }
  b: 7
  c:
    stages: []
  d:
    source: { csv: { pats: [a.csv] } }
    stages:
      - clip: {}
  e:
    source: { csv: { paths: [a.csv] } }
    stages:
      - cast: { input: nothing, output: x, dtype: int64 }
      - batch: { batch_size: 2 }
  fine:
    source: { csv: { paths: [a.csv] } }
    stages: [{ cast: { input: id, dtype: int64 } }, { batch: { batch_size: 2 } }]
"""
# Of each fault its line and column; none twice, and none that is only the consequence of another one.
FAULTS = ["1:10", "2:1", "3:18", "4:12", "7:38", "7:53", "8:15", "9:11", "11:9", "11:16", "11:34", "12:9", "13:17", "13:32", "14:35",
          "15:30", "16:36", "17:6", "18:3", "21:22", "23:9"]
OF_DATA = "27:24"  # which `leatctl check` reads, and `leatd --check-config` does not


def test_all_faults(folder):
    """All that is wrong with a file is told at once, each with its place; the exit statuses say that it has one."""
    (folder / "a.csv").write_text("id\n1\n")
    file = folder / "wrong.yaml"
    file.write_text(WRONG)
    done = ctl("check", file, check=False)
    places = re.findall(r"^.*wrong\.yaml:(\d+:\d+): ", done.stdout.decode(), re.M)
    assert done.returncode == 3 and sorted(places) == sorted([*FAULTS, OF_DATA]), done.stdout.decode()
    assert "stream fine: ok" in done.stdout.decode()
    done = ctl("check", "--json", file, check=False)
    errors = [entry["error"] for entry in json.loads(done.stdout)["results"] if not entry["ok"]]
    assert done.returncode == 3 and [f"{error['line']}:{error['column']}" for error in errors] == places, errors
    done = subprocess.run([BIN / "leatd", "--check-config", file], capture_output=True, check=False)
    places = re.findall(r"^leatd: .*wrong\.yaml:(\d+:\d+): ", done.stderr.decode(), re.M)
    assert done.returncode == 78 and sorted(places) == sorted(FAULTS), done.stderr.decode()
    assert ctl("check", folder / "none.yaml", check=False).returncode == 1


def test_reference(folder):
    """What `leatctl stages` tells of each source, stage and option; in lines that fit."""
    kinds = {entry["name"]: entry["kind"] for entry in json.loads(ctl("stages", "--json").stdout)}
    assert kinds["csv"] == "source" and kinds["pack"] == "order" and kinds["options"] == "options"
    for name in kinds:
        text = ctl("stages", name).stdout.decode()
        assert text.startswith(f"{name} ({kinds[name]}): "), text
        wide = [line for line in text.splitlines() if len(line) > 100 and line.startswith(" " * 20)]
        assert not wide, wide
    assert b"cache.max_age" in ctl("stages", "cache").stdout and b"the longest" not in ctl("stages", "cache").stdout
    assert b'default: " "\n' in ctl("stages", "template").stdout and b"default: -" not in ctl("stages", "options").stdout
    assert json.loads(ctl("stages", "max_errors", "--json").stdout)["kind"] == "option"
    wrong = ctl("stages", "max_erors", check=False)
    assert wrong.returncode == 2 and b'did you mean "max_errors"?' in wrong.stderr


if __name__ == "__main__":
    leat_harness.main(globals())
