#!/usr/bin/env python3
"""leat beside its peers in one run: are the outputs equal, how many samples a second, how much memory.

    compare.py [--rows N] [--documents FILE.jsonl] [--tokenizer tokenizer.json] [--rounds N] [--seconds S]
               [--pipelines titanic,titanic-model,prose,prepared] [--json FILE]
               [--contenders torch,torch-map,mlx-data,datasets,grain,streaming,litdata,leat,leat-lean,leat-torch]

    titanic        the reference pipeline, config/titanic.yaml, over that file's rows again and again, --rows of them
    titanic-model  the same texts with the tokenizer of a model, 128 tokens
    prose          JSONL with the tokenizer of a model, 1024 tokens
    prepared       the same documents, tokenized before the clock starts: packed rows of 1024 tokens (see prepared.py)

    torch        DataLoader, 2 workers, `tokenizers`, each worker its share of a stream
    torch-map    the same with a Dataset that holds 100,000 rows
    mlx-data     2 threads; its own trie where the pipeline has a list of tokens, else `tokenizers`
    datasets     an IterableDataset that maps batches of texts by `tokenizers`, 2 threads
    grain        a MapDataset that holds 100,000 rows, 2 processes
    streaming    Mosaic's StreamingDataset, and litdata: they read a format of their own, so they have the pipeline `prepared` alone
    leat         views of NumPy. Its epochs are told apart: `cold` is the first one, which parses, tokenizes and writes the
                 cache; `cached` those behind it
    leat-lean    the same with blocks of 64 KiB, three at once;  leat-torch: writable tensors of torch

First each gives an epoch of the first --check-rows records, from which the rows must be the same: ids, mask and label. (Of
equally short segmentations `tokenizers` takes others than a trie: there text and number of tokens of each row must be.) Then
each runs for --seconds in a process of its own, in turns, --rounds times. A rate counts from the first batch on. Memory is the
peak of the sum of PSS of all its processes, daemon and workers too; `own` is without what the process had before there was a
loader (Python and NumPy or torch). Ratios are medians of those of rounds. Files lie in the page cache before. Needs `import
leat` (PYTHONPATH=build/python) for itself.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import importlib
import itertools
import json
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any

from contenders import CONTENDERS, N_MAP_ROWS, Task, is_here
from prepared import PREPARED

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "client/python"))  # for the look at memory alone, where leat is not built
from leat.measure import proc  # noqa: E402
from leat.measure.sizing import device_info  # noqa: E402
from leat.measure.table import figure, seconds, table  # noqa: E402

MIB = 1 << 20
ALL_CONTENDERS = list(dict.fromkeys([*CONTENDERS, *PREPARED]))
KEYS = ("samples_per_s", "cached_samples_per_s", "first_batch_s", "memory", "own_memory")
PIPELINES = ("titanic", "titanic-model", "prose", "prepared")
RATIOS = ("cold", "cached", "memory", "own_memory")
Results = dict[str, list[dict[str, Any]]]  # of each contender, of each round


# What runs in a process of its own: one contender, one task.


def reader_of(contender: str, task: Task) -> tuple[Any, str]:
    """The function that makes epochs, and the framework that its users have imported."""
    return PREPARED[contender][1:] if task.prepared else CONTENDERS[contender]


def run_one(job: dict[str, Any]) -> dict[str, Any]:
    """Epochs until the time is over; of leat at least a whole one and one more."""
    task = Task(**job["task"])
    make, framework = reader_of(job["contender"], task)
    importlib.import_module(framework)
    base = proc.pss() or 0
    is_leat = job["contender"].startswith("leat") and not task.prepared  # a prepared stream has no first epoch
    epochs: list[dict[str, Any]] = []
    start = time.perf_counter()
    for batches in make(task):
        epochs.append(run_epoch(batches, start, None if is_leat and not epochs else job["seconds"]))
        if epochs[-1]["is_cut"] or (epochs[-1]["end_s"] > job["seconds"] and len(epochs) > is_leat):
            break
    first, last = (epochs[:1], epochs[1:]) if is_leat else (epochs, [])
    return {
        "base": base,
        "first_batch_s": epochs[0]["first_s"],
        "samples_per_s": rate(first),
        "cached_samples_per_s": rate(last) if last else None,
    }


def run_epoch(batches: Any, start: float, limit_s: float | None) -> dict[str, Any]:
    """One pass; samples of the first batch, which comes before the clock starts, do not count."""
    n = -1
    first_s = end_s = 0.0
    is_cut = False
    for batch in batches:
        if n < 0:
            first_s = time.perf_counter() - start
            n = 0
            continue
        n += batch["input_ids"].shape[0]
        if limit_s is not None and time.perf_counter() - start - first_s > limit_s:
            is_cut = True
            break
    end_s = time.perf_counter() - start
    return {"n": n, "first_s": first_s, "end_s": end_s, "is_cut": is_cut}


def rate(epochs: list[dict[str, Any]]) -> float:
    return float(sum(each["n"] for each in epochs) / sum(each["end_s"] - each["first_s"] for each in epochs))


def prepare_one(job: dict[str, Any]) -> None:
    PREPARED[job["contender"]][0](Task(**job["task"]))


def check_one(job: dict[str, Any]) -> dict[str, Any]:
    """Digests of all rows of an epoch, sorted: of ids, mask and label, and of text, number of tokens and label."""
    import numpy

    task = Task(**job["task"])
    if task.prepared:
        PREPARED[job["contender"]][0](task)
    tokens = task.tokens() if task.vocab else []
    exact, loose, n_tokens = [], [], 0
    for batch in next(iter(reader_of(job["contender"], task)[0](task))):
        held = [batch[name] for name in ("input_ids", "attention_mask", "labels") if name in batch]
        for row in zip(*(numpy.asarray(each).astype(numpy.int64) for each in held)):
            length = int(row[1].sum()) if len(row) > 1 else len(row[0])
            text = "".join(tokens[i] for i in row[0][:length]) if tokens else ""
            exact.append(hashlib.sha256(b"".join(each.tobytes() for each in row)).hexdigest())
            loose.append(hashlib.sha256(f"{text} {length} {row[2:]}".encode()).hexdigest())
            n_tokens += length
    return {"n": len(exact), "n_tokens": n_tokens, "exact": digest(exact), "loose": digest(loose)}


def digest(rows: list[str]) -> str:
    return hashlib.sha256("".join(sorted(rows)).encode()).hexdigest()


# The one that starts them, and looks at their memory.


def call(job: dict[str, Any], folder: pathlib.Path, looks: list[int] | None = None) -> dict[str, Any]:
    """Runs a job in a process of its own, whose daemon has learnt nothing before; `looks` gets the sums of PSS."""
    command = [sys.executable, __file__, "--job", json.dumps(job)]
    is_parallel = "false" if job["contender"].startswith("torch") else "true"  # workers of torch have one thread each
    env = {**os.environ, "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": is_parallel, "RAYON_NUM_THREADS": "2"}
    env |= {"XDG_RUNTIME_DIR": str(folder), "XDG_STATE_HOME": str(folder / "state"), "LEAT_SOCKET": str(folder)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env) as process:
        while looks is not None and process.poll() is None:
            looked = time.monotonic()
            looks.append(sum(proc.pss(pid) or 0 for pid in [process.pid, *proc.descendants(process.pid)]))
            took = time.monotonic() - looked
            time.sleep(max(0.1, 40 * took))
        out, complaint = process.communicate()
    if process.returncode:
        sys.exit(f"{job['contender']} on {job['task']['name']} failed ({process.returncode}):\n{complaint[-3000:]}")
    return json.loads(out.splitlines()[-1])  # type: ignore[no-any-return]


def measure(contender: str, task: Task, options: argparse.Namespace, folder: pathlib.Path) -> dict[str, Any]:
    if task.prepared:
        task = dataclasses.replace(task, prepared=str(folder / "prepared"))
        call({"contender": contender, "task": dataclasses.asdict(task), "prepare": True}, folder)
    elif contender.startswith("leat"):
        task = dataclasses.replace(task, cache=str(folder / "cache"))
    if contender == "torch-map" and task.field is None:
        task = dataclasses.replace(task, path=head_of(task, N_MAP_ROWS, folder))
    looks: list[int] = []
    found = call({"contender": contender, "task": dataclasses.asdict(task), "seconds": options.seconds}, folder, looks)
    for left in ("cache", "state", "prepared"):
        shutil.rmtree(folder / left, ignore_errors=True)
    found["memory"] = max(looks)
    found["own_memory"] = max(looks) - found.pop("base")
    return found


def check(task: Task, names: list[str], options: argparse.Namespace, folder: pathlib.Path) -> dict[str, str]:
    """Name → how equal its rows are to the first one's of leat, or of all. Ends the program where they are not."""
    short = dataclasses.replace(task, path=head_of(task, options.check_rows, folder))
    found = {}
    for name in names:
        if task.prepared:
            short = dataclasses.replace(short, prepared=str(folder / f"check-{name}"))
        found[name] = call({"contender": name, "task": dataclasses.asdict(short), "check": True}, folder)
    reference = next((found[name] for name in names if name.startswith("leat")), found[names[-1]])
    said = {}
    for name, each in found.items():
        if each["exact"] == reference["exact"]:
            said[name] = f"{each['n']:,} rows, {each['n_tokens']:,} tokens: the same"
        elif task.vocab and each["loose"] == reference["loose"]:
            said[name] = f"{each['n']:,} rows, {each['n_tokens']:,} tokens: the same texts in as many tokens a row"
        else:
            sys.exit(f"{task.name}: rows of {name} are others than leat's: {each} against {reference}")
    return said


def head_of(task: Task, n: int, folder: pathlib.Path) -> str:
    """A file of the first n records."""
    path = folder / f"{task.name}-{n}{pathlib.Path(task.path).suffix}"
    if not path.exists():
        with open(task.path, "rb") as file:
            path.write_bytes(b"".join(itertools.islice(file, n + (task.field is None))))
    return str(path)


def run_rounds(task: Task, names: list[str], options: argparse.Namespace, folder: pathlib.Path) -> Results:
    """In turns, forwards and backwards."""
    results: Results = {name: [] for name in names}
    for turn in range(options.rounds):
        for name in names if turn % 2 == 0 else names[::-1]:
            results[name].append(measure(name, task, options, folder))
            print(f"  {task.name} {turn + 1}/{options.rounds} {name}: {results[name][-1]}", file=sys.stderr, flush=True)
    return results


# What comes of it.


def median(results: list[dict[str, Any]], key: str) -> float | None:
    values = [each[key] for each in results if each[key] is not None]
    return statistics.median(values) if values else None


def ratio(leat: list[dict[str, Any]], other: list[dict[str, Any]], key: str, other_key: str | None = None) -> float | None:
    """The median of leat's over the other's, of rounds."""
    pairs = [(a[key], b[other_key or key]) for a, b in zip(leat, other)]
    values = [a / b for a, b in pairs if a is not None and b]
    return statistics.median(values) if values else None


def ratios(results: Results) -> list[dict[str, Any]]:
    return [
        {
            "leat": mine,
            "other": other,
            "cold": ratio(results[mine], results[other], "samples_per_s"),
            "cached": ratio(results[mine], results[other], "cached_samples_per_s", "samples_per_s"),
            "memory": ratio(results[mine], results[other], "memory"),
            "own_memory": ratio(results[mine], results[other], "own_memory"),
        }
        for mine in results if mine.startswith("leat")
        for other in results if not other.startswith("leat")
    ]


def report(task: Task, results: Results, said: dict[str, str]) -> dict[str, Any]:
    medians = {name: {key: median(rounds, key) for key in KEYS} for name, rounds in results.items()}
    found = {"task": dataclasses.asdict(task), "equal": said, "medians": medians, "ratios": ratios(results), "rounds": results}
    print(f"\n{task.name}: {task.length} tokens a row, batches of {task.batch_size}, a shuffle of {task.shuffle}")
    for name, words in said.items():
        print(f"  {name}: {words}")
    head = ("", "samples/s", "cached", "first batch", "memory", "own")
    rows = [
        (name, figure(each["samples_per_s"]), figure(each["cached_samples_per_s"]), seconds(each["first_batch_s"]),
         mib(each["memory"]), mib(each["own_memory"]))
        for name, each in medians.items()
    ]
    print("\n" + table(rows, head))
    lines = [[f"{each['leat']} / {each['other']}", *(times(each[key]) for key in RATIOS)] for each in ratios(results)]
    if lines:
        print("\n" + table(lines, ("", "cold", "cached", "memory", "own")), flush=True)
    return found


def mib(n_bytes: float | None) -> str:
    return "-" if n_bytes is None else f"{n_bytes / MIB:,.0f} MiB"


def times(value: float | None) -> str:
    return "-" if value is None else f"{value:,.1f}x" if value >= 10 else f"{value:.2f}x"


# The data.


def repeat_rows(n: int, path: pathlib.Path) -> None:
    """The rows of config/titanic.csv, again and again. Their last field, where it is empty, is written as "": mlx-data 0.1
    takes a row that ends in a comma for one with a field too few."""
    head, *rows = (ROOT / "config/titanic.csv").read_bytes().replace(b",\n", b',""\n').splitlines(keepends=True)
    with open(path, "wb") as file:
        file.write(head)
        file.writelines(itertools.islice(itertools.cycle(rows), n))


def write_prose(path: pathlib.Path, n: int = 4000) -> None:
    """Documents of words of the README, of log-normal lengths."""
    rng = random.Random(1)
    words = (ROOT / "README.md").read_text(encoding="utf-8").split()
    with open(path, "w", encoding="utf-8") as file:
        for _ in range(n):
            text = " ".join(rng.choices(words, k=max(5, min(5000, int(rng.lognormvariate(6.3, 0.8))))))
            file.write(json.dumps({"text": text}) + "\n")


def text_field(path: str) -> str:
    """The first field of the first record that is a text."""
    with open(path, encoding="utf-8") as file:
        record = json.loads(file.readline())
    return next(str(name) for name, value in record.items() if isinstance(value, str))


def tasks(options: argparse.Namespace, folder: pathlib.Path) -> dict[str, Task]:
    titanic, prose = folder / "titanic.csv", folder / "prose.jsonl"
    repeat_rows(options.rows, titanic)
    if options.documents is None:
        write_prose(prose)
    documents = str(options.documents or prose)
    model = str(options.tokenizer or ROOT / "config/sentences/tokenizer.json")
    return {
        "titanic": Task("titanic", str(titanic), 64, vocab=str(ROOT / "config/titanic.vocab.txt")),
        "titanic-model": Task("titanic-model", str(titanic), 128, tokenizer=model),
        "prose": Task("prose", documents, options.length, tokenizer=model, field=text_field(documents)),
        "prepared": Task("prepared", documents, options.length, tokenizer=model, field=text_field(documents), prepared="prepared"),
    }


def existing(text: str) -> pathlib.Path:
    path = pathlib.Path(text).resolve()
    if not path.is_file():
        raise argparse.ArgumentTypeError(f"{text} is no file")
    return path


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000, help="of the Titanic pipelines")
    parser.add_argument("--documents", type=existing, help="JSONL; else some are made of words of the README")
    parser.add_argument("--tokenizer", type=existing, help="a tokenizer.json; else that of config/sentences")
    parser.add_argument("--length", type=int, default=1024, help="tokens of a row of prose")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--check-rows", type=int, default=2000)
    parser.add_argument("--pipelines", default=",".join(PIPELINES))
    parser.add_argument("--contenders", default=",".join(ALL_CONTENDERS))
    parser.add_argument("--folder", type=pathlib.Path, help="for data and caches, which go at the end; else $TMPDIR")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--job", help=argparse.SUPPRESS)
    options = parser.parse_args()
    for name in options.contenders.split(","):
        if name not in ALL_CONTENDERS:
            parser.error(f"{name!r} is not a contender; choose from {', '.join(ALL_CONTENDERS)}")
    for name in options.pipelines.split(","):
        if name not in PIPELINES:
            parser.error(f"{name!r} is not a pipeline; choose from {', '.join(PIPELINES)}")
    if min(options.rows, options.length, options.rounds, options.check_rows, options.seconds) <= 0:
        parser.error("--rows, --length, --rounds, --check-rows and --seconds are above 0")
    return options


def main() -> None:
    options = arguments()
    if options.job:
        job = json.loads(options.job)
        found = prepare_one(job) if job.get("prepare") else check_one(job) if job.get("check") else run_one(job)
        print(json.dumps(found), flush=True)
        if job["contender"] == "mlx-data":
            os._exit(0)  # its threads are still at work, and it does not stop them
        return
    names = []
    for name in options.contenders.split(","):
        why = is_here(name)
        if why:
            print(f"{name} is left out: {why}", file=sys.stderr)
        else:
            names.append(name)
    if not names:
        sys.exit("there is none to compare")
    info, load = device_info(), os.getloadavg()[0]
    print(f"{info.cpu}, {info.n_cpus:g} CPUs, load {load:.1f}; {options.rounds} rounds of {options.seconds:g} s")
    with tempfile.TemporaryDirectory(prefix="leat-compare-", dir=options.folder) as folder_name:
        folder = pathlib.Path(folder_name)
        all_tasks = tasks(options, folder)
        found = []
        for task in (all_tasks[name] for name in options.pipelines.split(",")):
            able = [name for name in names if name in (PREPARED if task.prepared else CONTENDERS)]
            said = check(task, able, options, folder)
            found.append(report(task, run_rounds(task, able, options, folder), said))
    if options.json:
        options.json.write_text(json.dumps({"machine": str(info), "load": load, "found": found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
