"""memory_profile(): what it sees, how it is used, how it is drawn; what the kernel says, of made-up machines too."""

from __future__ import annotations

import logging
import os
import pathlib
import subprocess
import sys
import threading
import time
from typing import Any

import pytest

import leat
from conftest import START_S
from leat.measure import chart, memory, proc
from leat.measure.memory import MemoryProfile

MIB = 1 << 20


def wait_for(profile: MemoryProfile, n: int) -> None:
    """Until it has looked n times more."""
    n += len(profile.samples)
    while len(profile.samples) < n:
        time.sleep(0.005)


def test_with_sees_what_comes_and_goes() -> None:
    with leat.memory_profile(0.005) as profile:
        wait_for(profile, 3)
        held = bytearray(b"x" * (96 * MIB))
        wait_for(profile, 3)
        del held
        wait_for(profile, 3)
    seen = profile.summary()
    assert seen.rss_growth > 90 * MIB and seen.rss_end < seen.rss_peak - 90 * MIB
    assert seen.pss_peak is not None and seen.pss_peak <= seen.rss_peak
    assert 0 < seen.available_least < seen.total
    assert seen.n_samples >= 11 and seen.duration_s >= 9 * 0.005
    times = [sample.time_s for sample in profile.samples]
    assert times == sorted(times) and times[0] >= 0
    assert "RSS" in str(seen) and "MiB" in str(seen) and "available" in str(seen)


def test_decorated_functions_keep_their_profile_and_log(caplog: pytest.LogCaptureFixture) -> None:
    @leat.memory_profile
    def take(n: int, *, times: int = 1) -> int:
        """Takes memory."""
        return len(bytearray(n)) * times

    @leat.memory_profile(interval=0.01, pss=False)
    def fail() -> None:
        raise KeyError("gone")

    with caplog.at_level(logging.INFO, logger="leat.memory"):
        assert take(3, times=2) == 6
    assert take.__name__ == "take" and take.__doc__ == "Takes memory."
    profile: Any = getattr(take, "profile")
    assert profile.summary().n_samples >= 2
    assert "take" in caplog.text and "peak RSS" in caplog.text
    with pytest.raises(KeyError):
        fail()
    failed: Any = getattr(fail, "profile")
    assert not failed.is_running and failed.summary().pss_peak is None


def test_continuous_sampling_starts_stops_and_starts_again() -> None:
    profile = leat.memory_profile(0.005)
    with pytest.raises(RuntimeError, match="start"):
        profile.summary()
    assert profile.stop() is profile
    profile.start()
    assert profile.is_running
    with pytest.raises(RuntimeError, match="running"):
        profile.start()
    wait_for(profile, 2)
    assert profile.stop().summary().n_samples >= 4 and not profile.is_running
    profile.start().stop()
    assert profile.summary().n_samples >= 2  # more where the machine was slow to stop it
    assert not [thread for thread in threading.enumerate() if thread.name == "leat-memory"]


def test_samples_are_bounded_and_keep_the_peak() -> None:
    profile = MemoryProfile(10, max_samples=16, children=False, pss=False)
    for i in range(1000):
        profile._keep(memory.Sample(float(i), 10_000 if i == 333 else i, None, 1, 2))
    assert len(profile.samples) <= 17
    assert profile.summary().rss_peak == 10_000 and profile.samples[0].time_s == 0 and profile.samples[-1].time_s > 900


@pytest.mark.parametrize("arguments", [{"interval": 0}, {"interval": -1}, {"interval": float("nan")}, {"max_samples": 3}])
def test_arguments_are_checked(arguments: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(arguments))):
        leat.memory_profile(**arguments)


def test_descendants_count_and_pss_counts_shared_pages_once() -> None:
    code = "import subprocess, sys, time; x = b'x' * (32 << 20); print(flush=True); time.sleep(100000)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as child:
        try:
            assert child.stdout is not None and child.stdout.readline()
            assert child.pid in proc.descendants(os.getpid())
            with leat.memory_profile() as both, leat.memory_profile(children=False) as alone:
                pass
            assert both.summary().rss_peak - alone.summary().rss_peak > 30 * MIB
            assert proc.rss(child.pid) > 32 * MIB and 32 * MIB < (proc.pss(child.pid) or 0) <= proc.rss(child.pid)
        finally:
            child.kill()
    assert proc.rss(child.pid) == 0 and proc.pss(child.pid) == 0 and not proc.descendants(child.pid)


def test_grandchildren_are_descendants() -> None:
    code = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'print(flush=True); input()'])"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None and child.stdin is not None and child.stdout.readline()
        found = proc.descendants(os.getpid())
        assert child.pid in found and set(proc.descendants(child.pid)) < set(found) and len(found) >= 2
        child.stdin.write(b"\n")


def test_a_forked_child_has_no_sampler() -> None:
    code = """
import os, leat
with leat.memory_profile(0.01) as profile:
    pid = os.fork()
    if pid == 0:
        is_running = profile.is_running
        profile.stop()
        os._exit(0 if not is_running and profile.samples else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert profile.is_running
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=START_S)


def test_text_chart(tmp_path: pathlib.Path) -> None:
    with leat.memory_profile(0.005) as profile:
        wait_for(profile, 3)
    drawn = profile.plot(tmp_path / "memory.txt", text=True)
    assert isinstance(drawn, chart.Chart) and repr(drawn) == str(drawn)
    assert (tmp_path / "memory.txt").read_text() == drawn + "\n"
    lines = drawn.split("\n")
    assert "RSS, peak" in lines[0] and "█" in lines[1] and len(lines) == 13
    assert {len(line) for line in lines[1:11]} == {11 + 72}


def test_text_chart_of_little() -> None:
    assert "no samples" in chart.draw([], [], title="RSS")
    assert "█" not in chart.draw([0.0, 1.0], [0, 0], title="RSS")
    stairs = chart.draw([0.0, 1.0, 2.0, 3.0], [0, 100, 50, 100], title="x", width=4, height=2)
    assert [line[11:] for line in stairs.split("\n")[1:3]] == [" █ █", " ███"]


def test_figure(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("matplotlib")
    with leat.memory_profile(0.005) as profile:
        wait_for(profile, 3)
    picture = profile.plot(tmp_path / "memory.png")
    assert (tmp_path / "memory.png").read_bytes()[:4] == b"\x89PNG"
    assert [axes.get_ylabel() for axes in picture.axes] == ["GiB", "GiB"]


def test_without_matplotlib_plot_draws_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with leat.memory_profile() as profile:
        pass
    assert isinstance(profile.plot(), chart.Chart)


class Machine:
    """A /proc and a tree of control groups of our own."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.proc = folder / "proc"
        self.groups = folder / "groups"
        self.write(self.proc / "meminfo", "MemTotal:       16000000 kB\nMemFree: 1 kB\nMemAvailable:    8000000 kB\n")

    @staticmethod
    def write(path: pathlib.Path, text: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def mount(self, cgroup: str, line: str) -> None:
        self.write(self.proc / "self/cgroup", cgroup)
        self.write(self.proc / "self/mountinfo", f"30 1 0:3 / /proc rw - proc proc rw\n{line}\n")


@pytest.fixture
def machine(tmp_path: pathlib.Path) -> Machine:
    return Machine(tmp_path)


def test_machine_without_groups(machine: Machine) -> None:
    assert proc.machine_memory(str(machine.proc)) == proc.MachineMemory(16000000 * 1024, 8000000 * 1024, False)


def test_limits_of_control_groups_of_version_2(machine: Machine) -> None:
    machine.mount("0::/a.slice/b.service\n", f"31 1 0:27 / {machine.groups} rw,nosuid shared:4 - cgroup2 cgroup2 rw")
    inner, outer = machine.groups / "a.slice/b.service", machine.groups / "a.slice"
    machine.write(inner / "memory.max", "max\n")
    machine.write(inner / "memory.current", "5\n")
    machine.write(outer / "memory.max", f"{4 << 30}\n")
    machine.write(outer / "memory.current", f"{3 << 30}\n")
    machine.write(outer / "memory.stat", f"anon 1\ninactive_file {1 << 30}\n")
    assert proc.machine_memory(str(machine.proc)) == proc.MachineMemory(4 << 30, 2 << 30, True)
    machine.write(inner / "memory.max", f"{1 << 30}\n")
    machine.write(inner / "memory.current", f"{2 << 30}\n")
    assert proc.machine_memory(str(machine.proc)) == proc.MachineMemory(1 << 30, 0, True)


def test_limits_of_control_groups_of_version_1(machine: Machine) -> None:
    line = f"14 9 0:32 /docker/x {machine.groups} rw,relatime - cgroup cgroup rw,memory,cpu"
    machine.mount("9:name=systemd:/\n4:cpu,memory:/docker/x\n", line)
    machine.write(machine.groups / "memory.limit_in_bytes", "9223372036854771712\n")
    machine.write(machine.groups / "memory.usage_in_bytes", "4096\n")
    assert not proc.machine_memory(str(machine.proc)).is_limited
    machine.write(machine.groups / "memory.limit_in_bytes", f"{2 << 30}\n")
    machine.write(machine.groups / "memory.usage_in_bytes", f"{1 << 30}\n")
    machine.write(machine.groups / "memory.stat", f"inactive_file 7\ntotal_inactive_file {1 << 20}\n")
    assert proc.machine_memory(str(machine.proc)) == proc.MachineMemory(2 << 30, (1 << 30) + (1 << 20), True)
    machine.write(machine.groups / "cpu.cfs_quota_us", "150000\n")
    machine.write(machine.groups / "cpu.cfs_period_us", "100000\n")
    assert proc.cpu_quota(str(machine.proc)) == 1.5


def test_quotas_of_processors(machine: Machine) -> None:
    machine.mount("0::/x\n", f"31 1 0:27 / {machine.groups} rw - cgroup2 cgroup2 rw")
    assert proc.cpu_quota(str(machine.proc)) == float("inf")
    machine.write(machine.groups / "x/cpu.max", "max 100000\n")
    machine.write(machine.groups / "cpu.max", "250000 100000\n")
    assert proc.cpu_quota(str(machine.proc)) == 2.5


@pytest.mark.parametrize("text", ["", "nonsense\n", "4:memory\n", "0::\n", "a:b:c:d\n\n"])
def test_strange_control_groups_are_passed_over(machine: Machine, text: str) -> None:
    machine.mount(text, "31 1 0:27\n31 1 0:27 / - cgroup2\n - \nx")
    assert not proc.machine_memory(str(machine.proc)).is_limited
    assert proc.cpu_quota(str(machine.proc)) == float("inf")
