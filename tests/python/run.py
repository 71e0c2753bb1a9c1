"""Runs one file of tests, as ctest does: run.py PACKAGE_FOLDER test_NAME.py [pytest's arguments].

With the Python that `./bootstrap test` furnished (build/venv), or that LEAT_TEST_PYTHON names, else with this one. 77, which
ctest shows as skipped, if that has no pytest or no tests of the file could run.
"""
import os
import pathlib
import subprocess
import sys

SKIPPED = 77
NO_TESTS_RAN = 5


def interpreter():
    here = pathlib.Path(__file__).resolve()
    furnished = here.parents[2] / "build" / "venv" / "bin" / "python"
    named = os.environ.get("LEAT_TEST_PYTHON")
    return named or (str(furnished) if furnished.exists() else sys.executable)


def main():
    package, *arguments = sys.argv[1:]
    python = interpreter()
    if subprocess.run([python, "-c", "import pytest"], capture_output=True).returncode != 0:
        print(f"skipped: {python} has no pytest: ./bootstrap deps furnishes build/venv, or set LEAT_TEST_PYTHON")
        return SKIPPED
    environment = {
        **os.environ,
        "PYTHONPATH": package,
        "PYTHONDONTWRITEBYTECODE": "1",
        "HF_HUB_OFFLINE": "1",
        "HF_DATASETS_OFFLINE": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "JAX_PLATFORMS": "cpu",
    }
    command = [python, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", *arguments]
    status = subprocess.run(command, env=environment).returncode
    return SKIPPED if status == NO_TESTS_RAN else status


if __name__ == "__main__":
    sys.exit(main())
