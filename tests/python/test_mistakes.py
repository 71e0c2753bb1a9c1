"""What a newcomer does wrong: each message says what is wrong, with the value, and what would be right; and nothing else is
printed.
"""

from __future__ import annotations

import copy
import logging
import os
import pathlib
import pickle
import shutil
import subprocess
import sys
import textwrap
from typing import Any

import pytest
from conftest import ROOT

import leat
from leat import daemon

TIMEOUT_S = 600  # they take a second; imports on a busy machine take longer than that
LABELS = 'leat.csv("titanic.csv").cast("Survived", "labels", dtype="int64").select(["labels"])'


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """titanic.csv and a tokenizer, `model`."""
    made = tmp_path_factory.mktemp("mistakes")
    shutil.copy(ROOT / "config" / "titanic.csv", made)
    shutil.copytree(ROOT / "config" / "sentences", made / "model")
    return made


MISTAKES: list[tuple[str, type[Exception], list[str]]] = [
    # files
    ('leat.csv("nofile.csv").batch(2).head()', leat.NotFoundError, ["nofile.csv: streams.pipeline.source.csv.paths[0]: No such file"]),
    ('next(iter(leat.csv("nofile.csv").batch(2)))', leat.NotFoundError, ["nofile.csv: streams.pipeline.source.csv.paths[0]: No such file"]),
    ('leat.csv("").head()', leat.SpecError, ["is empty: expected a path"]),
    ("leat.csv(3)", leat.SpecError, ["3 has type int: give a path"]),
    ('leat.csv(open("titanic.csv"))', leat.SpecError, ["an open file: give its path, 'titanic.csv'"]),
    ('leat.jsonl("titanic.csv").head()', leat.DataError, ["titanic.csv:1:1", "found 'P'"]),
    # names
    ('leat.csv("titanic.csv").cast("Agee", dtype="float32").head()', leat.SpecError, ['no field "Agee"', 'did you mean "Age"?']),
    ('leat.csv("titanic.csv").template("{Nme}").head()', leat.SpecError, ['no field "Nme"', 'did you mean "Name"?']),
    ('leat.csv("titanic.csv").head(after="tokenize")', leat.SpecError, ['no stage "tokenize"', "give a name"]),
    ("leat.dataset", AttributeError, ["no attribute 'dataset'"]),
    ('leat.from_yaml("titan.yaml")', leat.NotFoundError, ["titan.yaml: No such file"]),
    # stages
    (f'{LABELS}.batch("2").check()', leat.SpecError, ["batch_size: expected a whole number", '"2"']),
    (f"{LABELS}.batch(0).check()", leat.SpecError, ["batch_size: 0 is outside 1.."]),
    (f"{LABELS}.batch(2).shuffle(9).check()", leat.SpecError, ["shuffle: must come before `batch`"]),
    (f"{LABELS}.shuffle().batch(2).check()", leat.SpecError, ["buffer_size is missing"]),
    ('leat.csv("titanic.csv").cast("Pclass", dtype="long").check()', leat.SpecError, ['"long" is not one of float32, float64']),
    ('next(iter(leat.csv("titanic.csv").batch(2)))', leat.SpecError, ["all fields are texts, which a batch cannot hold: `tokenize` or `cast`"]),
    ('leat.csv("titanic.csv").tokenize("model").check()', leat.SpecError, ["12 fields are texts", "Name"]),
    (
        'next(iter(leat.csv("titanic.csv").tokenize("model", input="Name").batch(2)))',
        leat.SpecError,
        ["have different lengths: `pad` it before `batch`"],
    ),
    (
        'list(leat.csv("titanic.csv").cast("Age", dtype="float32").select(["Age"]).batch(2))',
        leat.DataError,
        ["titanic.csv:3:", "cast.Age: is empty: give `default`"],
    ),
    # batches
    (f'next(iter({LABELS}.batch(2)))["label"]', KeyError, ["no tensor 'label'", "'labels'"]),
    (f"list({LABELS}.batch(2))", leat.HeldError, ["batches, and `window` allows no more: release() some, make copies"]),
    (f'{LABELS}.batch(2).to("tensorflow")', leat.SpecError, ["'tensorflow' is not one of numpy, torch, jax, mlx"]),
    # other processes and loaders
    (f"pickle.dumps({LABELS}.batch(2).open())", TypeError, ["cannot pickle or copy a stream", "pickle its pipeline"]),
    (f"pickle.dumps(iter({LABELS}.batch(2)))", TypeError, ["cannot pickle or copy a stream"]),
    (f"copy.deepcopy({LABELS}.batch(2).first())", TypeError, ["cannot pickle or copy a batch", "batch.to(..)"]),
    (f'copy.copy({LABELS}.batch(2).first()["labels"])', TypeError, ["cannot pickle or copy a tensor", "batch.to(..)"]),
    (f'{LABELS}.batch(2).open(rank="1", world_size=2)', leat.SpecError, ["rank is '1', but it must be a whole number"]),
    (f"{LABELS}.batch(2).open(on_reconnect=3)", leat.SpecError, ["on_reconnect: 3 cannot be called"]),
    # what needs more than there is
    ('leat.Tokenizer("model")', TypeError, ["leat.Tokenizer.from_pretrained(", "'model'"]),
    ('leat.Tokenizer.from_pretrained("nobody/nothing")', leat.NotFoundError, ["hf download nobody/nothing"]),
    ('leat.open("titanic")', leat.DaemonError, ["no leatd answers at", "leatd --config FILE", "LEAT_SOCKET"]),
    ('leat.dataloader("titanic.csv", "model", batch_size=2)', leat.SpecError, ["several columns of texts", "text='"]),
]


@pytest.mark.parametrize(("code", "kind", "words"), MISTAKES, ids=lambda value: value if isinstance(value, str) else "")
def test_the_message_helps(
    code: str, kind: type[Exception], words: list[str], folder: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    monkeypatch.setenv("LEAT_SOCKET", str(folder / "nowhere"))
    with pytest.raises(kind) as raised:
        eval(code, {"leat": leat, "copy": copy, "pickle": pickle})
    text = str(raised.value)
    assert [word for word in words if word not in text] == [], text


def alone(code: str, folder: pathlib.Path, **more: str) -> list[str]:
    """What a Python of its own prints as it ends with an exception, but for the lines of the traceback."""
    environment = {name: value for name, value in os.environ.items() if name not in ("LEAT_SOCKET", "XDG_RUNTIME_DIR")}
    run = [sys.executable, "-c", f"import leat\n{code}"]
    done = subprocess.run(run, cwd=folder, env={**environment, **more}, capture_output=True, text=True, timeout=TIMEOUT_S)
    assert done.returncode == 1 and not done.stdout
    first, *lines = done.stderr.splitlines()
    assert first.startswith("Traceback")
    return [line for line in lines if not line.startswith("  ")]


@pytest.mark.parametrize(
    "code",
    [
        'next(iter(leat.csv("nofile.csv").batch(2)))',
        'for batch in leat.csv("titanic.csv").cast("Age", dtype="float32").select(["Age"]).batch(2): pass',
        'next(iter(leat.csv("titanic.csv").cast("Pclass", dtype="int32").batch(2))); raise SystemError',
        'next(iter(leat.csv("titanic.csv").cast("Pclass", dtype="int32").batch(2))); leat.daemon.embedded().process.kill(); 1 / 0',
    ],
)
def test_nothing_is_printed_beside_it(code: str, folder: pathlib.Path) -> None:
    assert len(alone(code.replace("leat.daemon", "__import__('leat.daemon').daemon"), folder)) == 1


def test_a_subinterpreter_is_refused(folder: pathlib.Path) -> None:
    pytest.importorskip("_xxsubinterpreters")
    code = """
        import sys
        import _xxsubinterpreters as interpreters
        begin = f"import sys; sys.path[:] = {sys.path}; "
        use = "import leat; leat.csv('titanic.csv').cast('Pclass', dtype='int32').batch(2).first().release()"
        interpreters.run_string(interpreters.create(isolated=False), begin + use)
    """
    (line,) = alone(textwrap.dedent(code), folder)
    assert "leat works only in the main interpreter" in line


@pytest.mark.parametrize("made", ["iter(batches)", "iter(batches.to('numpy'))", "iter(leat.TorchDataset(batches))"])
def test_nothing_is_printed_about_an_iterator_at_the_end(made: str, folder: pathlib.Path) -> None:
    """At the end of the process Python sets the names of modules to None, and drops objects after that."""
    if "Torch" in made:
        pytest.importorskip("torch")
    code = f"""
        batches = leat.csv("titanic.csv").cast("Pclass", dtype="int32").batch(2)
        iterator = {made}
        from leat import epoch, frameworks
        modules = [epoch, frameworks, *([__import__("leat.torch_data").torch_data] if "Torch" in {made!r} else [])]
        for name, module in [(name, module) for module in modules for name in vars(module) if not name.startswith("__")]:
            setattr(module, name, None)
        del iterator
        raise SystemError
    """
    assert alone(textwrap.dedent(code), folder) == ["SystemError"]


def test_the_log_is_there_for_who_asks(folder: pathlib.Path, caplog: pytest.LogCaptureFixture) -> None:
    assert any(isinstance(handler, logging.NullHandler) for handler in logging.getLogger("leat").handlers)
    with caplog.at_level(logging.WARNING, "leat"):
        daemon._log_line(b'{"level": "warning", "event": "bad-records", "n": 3}')
    assert "bad-records n=3" in caplog.text


def test_a_misspelt_name_of_leat_is_told(folder: pathlib.Path) -> None:
    assert alone("leat.dataloadr", folder)[-1].endswith("Did you mean: 'dataloader'?")


def test_the_source_is_no_package(folder: pathlib.Path) -> None:
    """`import leat` in client/python finds the source."""
    source = ROOT / "client" / "python"
    (line,) = alone('leat.csv("a.csv")', source, PYTHONPATH="")
    assert line.startswith(f"ImportError: {source / 'leat'} is the source of leat") and "`pip install .` in the checkout" in line


def test_without_programs(folder: pathlib.Path, tmp_path: pathlib.Path) -> None:
    shutil.copytree(pathlib.Path(leat.__file__).parent, tmp_path / "leat")
    paths = {"PYTHONPATH": str(tmp_path), "LEAT_BIN": str(tmp_path / "bin"), "PATH": str(tmp_path)}
    for code, name in (("head()", "leatctl"), ("check()", "leatctl"), ("batch(2).open()", "leatd")):
        (line,) = alone(f'leat.csv("titanic.csv").{code}', folder, **paths)
        assert f"leat did not find {name} in" in line and "install leat's wheel" in line and "LEAT_BIN" in line


def test_help(folder: pathlib.Path) -> None:
    """`help(leat)`, with torch and without, opens with what leat is and a pipeline; each public name has a text of its own."""
    import pydoc

    text = pydoc.plain(pydoc.render_doc(leat))
    assert "import leat" in text and ".batch(32)" in text and 'batch.to("torch")' in text
    public: list[Any] = [getattr(leat, name) for name in dir(leat) if name != "__version__"]
    assert [thing for thing in public if not (thing.__doc__ or "").strip()] == []
    for name in ("csv", "dataloader", "Pipeline", "Tokenizer"):
        assert name in text, "help lists it"


@pytest.mark.parametrize("how", ["head", "check", "open"])
def test_where_in_the_data(folder: pathlib.Path, how: str) -> None:
    """What is wrong with the files has the file, line and column as attributes, whoever finds it, and when."""
    (folder / "broken.jsonl").write_text('{"a" 1}\n')
    (folder / "broken.csv").write_text('a,"b" c\n1,2\n')
    (folder / "later.jsonl").write_text('{"a":1}\n{"a":,}\n')
    for name, kind, place in (
        ("none.csv", leat.NotFoundError, (None, None)),
        ("*.none", leat.NotFoundError, (None, None)),
        ("broken.jsonl", leat.DataError, (1, 6)),
        ("broken.csv", leat.DataError, (1, 6)),
        ("later.jsonl", leat.DataError, (2, 6)),
    ):
        made = leat.csv(folder / name) if name.endswith("csv") else leat.jsonl(folder / name)
        if how == "check" and name == "later.jsonl":
            continue  # which reads no further than it must
        with pytest.raises(kind) as caught:
            list(made.batch(1)) if how == "open" else getattr(made, how)()
        assert caught.value.file == str(folder / name)
        assert (caught.value.line, caught.value.column) == place
        assert kind is leat.DataError or (caught.value.path or "").endswith("paths[0]")


def test_nothing_is_left(folder: pathlib.Path) -> None:
    """An epoch without a batch is the data's fault, as the message says, and not one that nobody can name."""
    (folder / "header.csv").write_text("n\n")
    with pytest.raises(leat.DataError, match="no batches: leat read 0 records"):
        list(leat.csv(folder / "header.csv"))
