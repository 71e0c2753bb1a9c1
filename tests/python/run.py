"""Runs one file of tests, as ctest does: run.py PACKAGE_FOLDER test_NAME.py [pytest's arguments].

With the Python that LEAT_TEST_PYTHON names, or that `./bootstrap test` furnished (build/venv); else with this one, or Debian's,
whichever has pytest. 77, which ctest shows as skipped, if none has it or no tests of the file could run.
"""
import os
import pathlib
import subprocess
import sys

SKIPPED = 77
NO_TESTS_RAN = 5


DEBIANS = "/usr/bin/python3"  # for which bootstrap installs packages where PyPI cannot be reached


def candidates():
    """The Pythons that may run the tests, the best first."""
    named = os.environ.get("LEAT_TEST_PYTHON")
    if named:
        return [named]
    furnished = pathlib.Path(__file__).resolve().parents[2] / "build" / "venv" / "bin" / "python"
    return [str(furnished)] if furnished.exists() else [sys.executable, DEBIANS]


def has_pytest(python):
    check = "import sys, importlib.util as util; sys.exit(sys.version_info < (3, 11) or util.find_spec('pytest') is None)"
    return os.path.exists(python) and subprocess.run([python, "-c", check], capture_output=True).returncode == 0


def main():
    package, *arguments = sys.argv[1:]
    python = next(filter(has_pytest, candidates()), None)
    if python is None:
        who = " nor ".join(candidates())
        print(f"skipped: all: {who} has no pytest (or is older than 3.11): ./bootstrap deps furnishes build/venv, or set LEAT_TEST_PYTHON")
        return SKIPPED
    environment = {
        **os.environ,
        "PYTHONPATH": package,
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # those of other packages take a quarter of a second to load
        "HF_HUB_OFFLINE": "1",
        "HF_DATASETS_OFFLINE": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "JAX_PLATFORMS": "cpu",
        "OMP_NUM_THREADS": "1",  # models are small, and threads of torch that wait for each other take time from other tests
    }
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    status = subprocess.run(command, env=environment).returncode
    return SKIPPED if status == NO_TESTS_RAN else status


if __name__ == "__main__":
    sys.exit(main())
