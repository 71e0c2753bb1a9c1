"""tests/suite.py with a ctest of four small tests: the list of what was skipped, outputs of failures, the end, exit statuses."""
import pathlib
import subprocess
import sys
import tempfile

SUITE = pathlib.Path(__file__).resolve().parents[1] / "suite.py"
TESTS = """
add_test(whole sh -c "echo ok")
add_test(half sh -c "echo 'skipped: one: it rains'; echo 'skipped: one: it rains'; echo 'skipped: two: it rains: much'")
add_test(none sh -c "echo 'skipped: all: no oracle'; exit 77")
add_test(mute sh -c "exit 77")
set_tests_properties(none mute PROPERTIES SKIP_RETURN_CODE 77)
"""
FAILURE = """
add_test(bad sh -c "echo '7: a line like those of ctest'; echo '100% tests passed'; echo 'skipped: three: snow'; exit 3")
"""


def run(tests, *arguments):
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "CTestTestfile.cmake").write_text(tests)
        done = subprocess.run([sys.executable, SUITE, folder, *arguments], capture_output=True, text=True)
    return done.returncode, done.stdout.replace(folder, "FOLDER")  # whose random name may hold any word


def test_nothing_skipped():
    status, text = run(TESTS, "-R", "whole")
    assert status == 0 and "\nNothing was skipped.\n\n100% tests passed, 0 tests failed out of 1\n" in text, text
    assert "case" not in text and "ok" not in text and "tests passed:" not in text, text


def test_skips():
    status, text = run(TESTS, "-j2")
    assert status == 0, text
    results, _, rest = text.partition("\nSkipped: 2 whole tests, and 2 cases of other tests.\n")
    assert [line.partition("sec")[2] for line in results.split("\n") if ": half " in line and "sec" in line] == ["  (2 cases skipped)"], text
    listed, _, summary = rest.partition("\n\n")
    assert listed.split("\n") == [
        "  half: one: it rains", "  half: two: it rains: much", "  mute: all: the test gives no reason", "  none: all: no oracle",
    ], text  # fmt: skip
    assert summary.startswith("100% tests passed, 0 tests failed out of 4\n") and "none (Skipped)" in summary, text


def test_failure():
    status, text = run(TESTS + FAILURE)
    assert status not in (0, 77), text
    assert "7: a line like those of ctest\n100% tests passed\nskipped: three: snow\n" in text, text
    assert "  bad: three: snow\n" in text and text.index("  bad: three") < text.index("\n80% tests passed, 1 tests failed out of 5"), text


def test_no_such_folder():
    with tempfile.TemporaryDirectory() as folder:
        assert subprocess.run([sys.executable, SUITE, f"{folder}/x"], capture_output=True).returncode != 0


if __name__ == "__main__":
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            test()
            print(f"{name}: ok")
