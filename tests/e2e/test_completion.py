"""Completion in the shells themselves: bash and zsh with the scripts that leatctl prints."""
import json
import os
import pathlib
import pty
import shutil
import subprocess

from leat_harness import BIN, HANG_S, ROOT, Daemon, Skip, ctl, main, wait_until

CONFIG = f"""
streams:
  titanic:
    source: {{csv: {{paths: [{ROOT}/config/titanic.csv]}}}}
    stages:
      - select: {{fields: [Age]}}
      - cast: {{input: Age, dtype: float32}}
      - batch: {{batch_size: 8}}
  "two words":
    source: {{csv: {{paths: [{ROOT}/config/titanic.csv]}}}}
    stages:
      - select: {{fields: [Fare]}}
      - cast: {{input: Fare, dtype: float32}}
      - batch: {{batch_size: 8}}
"""

BASH = r"""
source <(leatctl completion bash) || exit 1
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_leatctl
printf '%s\n' "${COMPREPLY[@]}"
"""

# what the functions of zsh's own completion are given
ZSH = r"""
compdef() { : }
_describe() { print -rl -- ${(P)argv[-1]} }
_files() { print -- FILES "$@" }
_users() { print -- USERS }
compset() { : }
source =(leatctl completion zsh) || exit 1
words=("$@") CURRENT=$#
PREFIX=$words[-1]
_leatctl
"""


def run(shell, script, words, folder, sockets="/nonexistent"):
    if not shutil.which(shell):
        raise Skip(f"there is no {shell}")
    environment = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", "LEAT_SOCKET": str(sockets), "LC_ALL": "C.UTF-8"}
    norc = ["--norc", "--noprofile"] if shell == "bash" else ["-f"]
    done = subprocess.run([shell, *norc, "-c", script, shell, *words], capture_output=True, text=True, timeout=HANG_S, check=True,
                          cwd=folder, env=environment)
    return [line.rstrip() for line in done.stdout.splitlines() if line]


def bash(folder, *words, **keywords):
    return run("bash", BASH, ("leatctl", *words), folder, **keywords)


def zsh(folder, *words, **keywords):
    return run("zsh", ZSH, ("leatctl", *words), folder, **keywords)


def test_bash(folder):
    (pathlib.Path(folder) / "my file.yaml").write_text(CONFIG)
    assert bash(folder, "cac") == ["cache"]
    assert bash(folder, "cache", "w") == ["warm"]
    assert bash(folder, "explain", "my file.yaml", "--format", "=", "s") == ["svg"]
    assert bash(folder, "explain", "my file.yaml", "--format", "=") == ["text", "json", "dot", "svg"]
    assert bash(folder, "check", "my") == ["my file.yaml"]
    assert bash(folder, "head", "--no") == []
    assert "root" in bash(folder, "kick", "--user", "roo")
    assert bash(folder, "stages", "shuf") == ["shuffle"]


def test_zsh(folder):
    assert zsh(folder, "tokenizer", "sh") == ["show:show the parts of a tokenizer"]
    assert zsh(folder, "explain", "a", "--format=s") == ["--format=svg:"]
    assert zsh(folder, "check", "") == ["FILES"]
    assert zsh(folder, "trace", "--socket", "") == ["FILES -/"]
    script = pathlib.Path(folder) / "_leatctl"
    script.write_bytes(ctl("completion", "zsh").stdout)
    subprocess.run(["zsh", "-n", str(script)], check=True)


def test_streams_of_the_daemon(folder):
    """A prompt waits half a second for the daemon's answer, so a busy machine may complete nothing at first, but never
    anything else."""
    def completes(shell, *words):
        return wait_until(lambda: shell(folder, *words, sockets=daemon.sockets), words)

    with Daemon(folder, CONFIG) as daemon:
        assert completes(bash, "stats", "") == ["titanic", r"two\ words"]
        assert completes(bash, "pull", "ti") == ["titanic"]
        assert completes(bash, "explain", "ti") == ["titanic"]
        assert completes(bash, "explain", "tw") == ["two words"]  # it is quoted with the files
        assert "session" in completes(bash, "log-level", "--room", "")
        if not shutil.which("zsh"):
            raise Skip("zsh is not installed")
        assert completes(zsh, "why", "tw") == ["two words:a stream of the daemon"]


def test_a_daemon_that_hangs(folder):
    """Nobody waits at the prompt for it."""
    with Daemon(folder, CONFIG) as daemon:
        os.kill(daemon.process.pid, 19)
        try:
            assert bash(folder, "stats", "", sockets=daemon.sockets) == []
        finally:
            os.kill(daemon.process.pid, 18)


def test_help_for_programs(_folder):
    reference = json.loads(ctl("help", "--json").stdout)
    one = json.loads(ctl("help", "cache", "warm", "--json").stdout)
    assert one in reference["commands"]
    assert ctl("help", "cache", "warm").stdout == ctl("cache", "warm", "--help").stdout
    assert ctl("help", "nothing", check=False).returncode == 2
    assert ctl("completion", "fish", check=False).returncode == 2
    assert json.loads(ctl("completion", "bash", "--json").stdout)["script"].encode() == ctl("completion", "bash").stdout
    assert json.loads(ctl("completion", "words", "--json", "--", "kick", "--user", "").stdout) == {"with": "users",
                                                                                                 "words": []}


def on_a_terminal(*words, **variables):
    """What leatctl writes to a terminal."""
    ours, theirs = pty.openpty()
    environment = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
    subprocess.run([BIN / "leatctl", *words], stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, timeout=HANG_S, check=False,
                   env={**environment, "TERM": "xterm", **variables})
    os.close(theirs)
    text = b""
    try:
        while more := os.read(ours, 65536):
            text += more
    except OSError:  # all is read
        pass
    os.close(ours)
    return text


def test_colours(_folder):
    assert b"\033[1musage:\033[0m" in on_a_terminal("help")
    assert on_a_terminal("run", "/nonexistent.yaml").startswith(b"\033[1;31m")
    for plain in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        assert b"\033" not in on_a_terminal("help", **plain)
        assert b"\033" not in on_a_terminal("run", "/nonexistent.yaml", **plain)
    assert b"\033" not in ctl("help").stdout
    assert b"\033" not in ctl("run", "/nonexistent.yaml", check=False).stderr


if __name__ == "__main__":
    main(globals())
