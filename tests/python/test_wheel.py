"""The wheel: `pip install .` into an environment of its own, used there as a newcomer does, and taken out again.

Built with the scikit-build-core of the Python that runs this, and Debian's cmake and ninja, so that nothing is fetched. It is
made of what is built in the tree (LEAT_BUILT). One long test compiles all of it as a newcomer does.
"""

from __future__ import annotations

import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from typing import Any

import pytest
from conftest import ROOT

import leat
from leat import programs

TIMEOUT_S = 1700  # it compiles leat, which a busy machine takes long for
# What macros of the limited API stand for: part of the stable ABI (Misc/stable_abi.toml of CPython) under such names.
STABLE = {"_Py_Dealloc", "_Py_NoneStruct", "_Py_TrueStruct", "_Py_FalseStruct", "_Py_EllipsisObject", "_Py_NotImplementedStruct"}
STABLE |= {"_PyObject_New", "_PyArg_ParseTuple_SizeT", "_PyArg_ParseTupleAndKeywords_SizeT", "_Py_BuildValue_SizeT"}

PIPELINE = f"""(
    leat.csv({str(ROOT / "config" / "titanic.csv")!r})
    .template(["Name: {{Name}}", "Age: {{Age}}"])
    .tokenize(vocab={str(ROOT / "config" / "titanic.vocab.txt")!r}, mode="shortest", unknown="skip")
    .pad(64, value=0).cast("Survived", "labels", dtype="int64").shuffle(1000, seed=42).batch(32)
)"""
NEWCOMER = f"""
import importlib.metadata, json, sys
import leat
from leat import programs

batches = {PIPELINE}
epoch = [{{name: tensor.tolist() for name, tensor in batch.items()}} for batch in batches]
leat.shutdown()
print(json.dumps({{
    "epoch": epoch,
    "file": leat.__file__,
    "version": [leat.__version__, importlib.metadata.version("leat")],
    "programs": [programs.find("leatd"), programs.find("leatctl")],
    "requires": importlib.metadata.requires("leat"),
}}))
"""
IMPORT = """
import json, sys, time
started = time.process_time()
import leat
dir(leat)
print(json.dumps({"cpu_ms": 1e3 * (time.process_time() - started), "modules": sorted(sys.modules)}))
"""


def build_tree() -> pathlib.Path:
    """The tree of the package that is tested."""
    return pathlib.Path(leat.__file__).parents[2]


def tree_says(name: str) -> str:
    """What an option of the build tree is set to; empty: nothing."""
    cache = build_tree() / "CMakeCache.txt"
    lines = cache.read_text().split("\n") if cache.exists() else []
    return next((line.partition("=")[2] for line in lines if line.startswith(f"{name}:")), "")


def environment(**more: str) -> dict[str, str]:
    """Of somebody who has never heard of this build tree."""
    hidden = ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "LEAT_BIN", "LEAT_SOCKET", "VIRTUAL_ENV")
    return {**{name: value for name, value in os.environ.items() if name not in hidden}, **more}


def run(*command: str | pathlib.Path, cwd: pathlib.Path, **more: str) -> str:
    done = subprocess.run(command, cwd=cwd, env=environment(**more), capture_output=True, text=True, timeout=TIMEOUT_S)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def pip(*arguments: str | pathlib.Path, cwd: pathlib.Path, **more: str) -> str:
    quiet = ("--disable-pip-version-check", "--no-input")
    return run(sys.executable, "-m", "pip", *arguments, *quiet, cwd=cwd, **more)


def require_tools() -> None:
    for module in ("scikit_build_core", "pip", "venv"):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{sys.executable} has no {module}: a wheel cannot be built without PyPI")
    for program in ("cmake", "ninja", "cc"):
        if shutil.which(program) is None:
            pytest.skip(f"there is no {program}")


def make(folder: pathlib.Path, built: pathlib.Path | str) -> pathlib.Path:
    """The wheel of what lies in the tree `built`; with an empty text, of what it compiles itself."""
    require_tools()
    settings = (f"build-dir={folder / 'build'}", f"cmake.define.LEAT_BUILT={built}")
    more = {name: tree_says(f"CMAKE_{language}_COMPILER") for name, language in (("CC", "C"), ("CXX", "CXX"))}
    options = [f"--config-settings={setting}" for setting in settings]
    pip("wheel", "--no-build-isolation", "--no-deps", "--no-index", *options, ROOT, cwd=folder,
        PATH="/usr/bin:" + os.environ["PATH"], **more)
    (made,) = folder.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    return make(tmp_path_factory.mktemp("wheel"), build_tree())


class Home:
    """An environment of its own, with leat in it, and an empty folder to work in. `before`: the files without leat."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.root = folder / "env"
        self.folder = folder / "empty"
        self.folder.mkdir()
        run(sys.executable, "-m", "venv", "--without-pip", self.root, cwd=folder)
        self.python = self.root / "bin" / "python"
        self.before = self.files()

    @property
    def package(self) -> pathlib.Path:
        (extension,) = self.root.rglob("_leat.abi3.so")
        return extension.parent

    def files(self) -> set[pathlib.Path]:
        return set(self.root.rglob("*"))

    def pip(self, *arguments: str | pathlib.Path) -> None:
        pip("--python", self.python, *arguments, cwd=self.folder)


def home_with(wheel: pathlib.Path, folder: pathlib.Path) -> Home:
    made = Home(folder)
    made.pip("install", "--no-index", wheel)
    return made


@pytest.fixture(scope="module")
def home(wheel: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    made = home_with(wheel, tmp_path_factory.mktemp("home"))
    yield made
    shutil.rmtree(made.root)


def test_what_is_in_the_wheel(wheel: pathlib.Path) -> None:
    assert wheel.name.startswith(f"leat-{leat.__version__}-cp311-abi3-linux_")
    with zipfile.ZipFile(wheel) as archive:
        files = {name: info.file_size for name, info in ((info.filename, info) for info in archive.infolist())}
    source = ROOT / "client" / "python"
    modules = {str(path.relative_to(source)) for path in (source / "leat").rglob("*.py")}
    needed = {"leat/_leat.abi3.so", "leat/_leat.pyi", "leat/_stages.py", "leat/py.typed", "leat/bin/leatd", "leat/bin/leatctl",
              "leat/bin/leat-fetch"}
    there = {name for name in files if ".dist-info/" not in name}
    assert there == modules | needed
    print(f"\n{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB, {sum(files.values()) / 1e6:.1f} MB unpacked")


def test_a_newcomer_gets_batches(home: Home) -> None:
    """In an empty folder, without the tree: the version, the package's own programs, and the batches of the build tree."""
    told: dict[str, Any] = json.loads(run(home.python, "-c", NEWCOMER, cwd=home.folder))
    package = pathlib.Path(told["file"]).parent
    assert package.is_relative_to(home.root)
    assert told["version"] == [leat.__version__] * 2
    assert told["programs"] == [str(package / "bin" / "leatd"), str(package / "bin" / "leatctl")]
    assert not told["requires"]
    batches = eval(PIPELINE, {"leat": leat})
    assert told["epoch"] == [{name: tensor.tolist() for name, tensor in batch.items()} for batch in batches]
    assert len(told["epoch"]) == 28
    assert not list(home.folder.iterdir())


@pytest.mark.long
def test_compiled_as_a_newcomer_does(tmp_path: pathlib.Path) -> None:
    compiled = make(tmp_path, "")
    test_what_is_in_the_wheel(compiled)
    test_a_newcomer_gets_batches(home_with(compiled, tmp_path))


def test_the_extension_takes_the_limited_api_alone(home: Home) -> None:
    if shutil.which("nm") is None:
        pytest.skip("there is no nm")
    extension = home.package / "_leat.abi3.so"
    symbols = {line.split()[-1] for line in run("nm", "-D", "--undefined-only", extension, cwd=home.folder).splitlines()}
    assert "PyModule_Create2" in symbols or "PyModuleDef_Init" in symbols
    assert {name for name in symbols if name.startswith("_Py")} <= STABLE
    exported = {line.split()[-1] for line in run("nm", "-D", "--defined-only", extension, cwd=home.folder).splitlines()}
    assert exported == {"PyInit__leat"}


def test_the_programs_run(home: Home) -> None:
    for name in ("leatd", "leatctl"):
        for program in (home.package / "bin" / name, home.python.with_name(name)):  # the second is the command on the PATH
            assert leat.__version__ in run(program, "--version", cwd=home.folder)
    assert run(home.python.with_name("leatctl"), "stages", "pad", cwd=home.folder) == run(programs.find("leatctl"), "stages", "pad", cwd=home.folder)


def test_nothing_stays_behind(home: Home) -> None:
    """The last one, since it takes leat out."""
    assert home.files() != home.before
    home.pip("uninstall", "-y", "leat")
    assert home.files() == home.before


def test_import_is_light() -> None:
    """No framework, and none of leat but what says where things are."""
    told = json.loads(subprocess.check_output([sys.executable, "-c", IMPORT], timeout=TIMEOUT_S))
    heavy = {"numpy", "torch", "jax", "mlx", "pandas", "asyncio", "subprocess", "leat._leat"}
    assert not heavy & set(told["modules"])
    print(f"\nimport leat: {told['cpu_ms']:.1f} ms of CPU")


def test_programs_are_those_of_the_tree() -> None:
    assert pathlib.Path(programs.find("leatd")).is_relative_to(build_tree())
