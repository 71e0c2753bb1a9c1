"""Memory and processors, from /proc and the control groups (versions 1 and 2) of this process. Sizes are in bytes.

A process that has ended counts as 0. A file that cannot be read gives None.

Available memory is the smallest of MemAvailable and, for each control group above this process, its limit minus its use. The
inactive page cache does not count as use, because the kernel frees it first. So a container with a limit of 4 GiB on a machine
of 64 GiB has 4 GiB.
"""

from __future__ import annotations

import functools
import math
import os
import pathlib
import re
from collections.abc import Iterator
from dataclasses import dataclass

_PROC = "/proc"


@dataclass(frozen=True, slots=True)
class MachineMemory:
    """The machine's memory. `is_limited` is True if a control group allows less than the machine has."""

    total: int
    available: int
    is_limited: bool


def machine_memory(proc: str = _PROC) -> MachineMemory:
    """Returns the memory that the control groups allow. Raises OSError if there is no /proc."""
    info = _numbers(f"{proc}/meminfo")
    machine_total, available = info["MemTotal"] * 1024, info["MemAvailable"] * 1024
    total = machine_total
    for limit, used in _group_limits(proc):
        total = min(total, limit)
        available = min(available, max(0, limit - used))
    return MachineMemory(total, available, total < machine_total)


def rss(pid: int | str = "self", proc: str = _PROC) -> int:
    """Returns the resident bytes of a process, in which shared pages count in full. It is 0 if the process has ended."""
    text = _read(f"{proc}/{pid}/statm")
    return int(text.split()[1]) * _PAGE if text else 0


def pss(pid: int | str = "self", proc: str = _PROC) -> int | None:
    """Returns the resident bytes of a process. A page that n processes share counts as 1/n. It is 0 if the process has ended,
    and None if the process belongs to another user. The kernel visits all pages for this, which takes some milliseconds per
    GB."""
    try:
        with open(f"{proc}/{pid}/smaps_rollup", encoding="ascii", errors="replace") as file:
            found = re.search(r"^Pss:\s+(\d+) kB", file.read(), re.MULTILINE)
    except (FileNotFoundError, ProcessLookupError):
        return 0
    except OSError:
        return None
    return int(found[1]) * 1024 if found else 0


def descendants(pid: int, proc: str = _PROC) -> list[int]:
    """The children of a process, their children, and so on."""
    found: list[int] = []
    parents = [pid]
    while parents:
        children = [child for parent in parents for child in _children(parent, proc) if child not in found]
        found += children
        parents = children
    return found


def _children(pid: int, proc: str) -> list[int]:
    try:
        tasks = os.listdir(f"{proc}/{pid}/task")
    except OSError:
        return []
    return [int(child) for task in tasks for child in (_read(f"{proc}/{pid}/task/{task}/children") or "").split()]


def cpu_model(proc: str = _PROC) -> str:
    """The name of the processor, or "unknown"."""
    found = re.search(r"^model name\s*:\s*(.+)$", _read(f"{proc}/cpuinfo") or "", re.MULTILINE)
    return found[1].strip() if found else "unknown"


def cpu_quota(proc: str = _PROC) -> float:
    """Returns the number of processors that the control groups allow. It is infinite if there is no limit."""
    least = math.inf
    for folder in _group_folders("cpu", proc):
        words = (_read(f"{folder}/cpu.max") or "").split()
        if not words:
            words = [_read(f"{folder}/cpu.cfs_quota_us") or "max", _read(f"{folder}/cpu.cfs_period_us") or "0"]
        quota, period = _whole(words[0]), _whole(words[-1])
        if quota and period and quota > 0:
            least = min(least, quota / period)
    return least


def _group_limits(proc: str) -> Iterator[tuple[int, int]]:
    """Yields (limit, used) of each control group above this process that has a limit."""
    for folder in _group_folders("memory", proc):
        limit = _whole(_read(f"{folder}/memory.max") or _read(f"{folder}/memory.limit_in_bytes"))
        used = _whole(_read(f"{folder}/memory.current") or _read(f"{folder}/memory.usage_in_bytes"))
        if limit is None or used is None or limit >= 2**60:  # "max", or version 1's way to say so
            continue
        stat = _numbers(f"{folder}/memory.stat")
        cache = stat.get("total_inactive_file", stat.get("inactive_file", 0))
        yield limit, max(0, used - cache)


@functools.lru_cache(maxsize=16)
def _group_folders(controller: str, proc: str) -> tuple[str, ...]:
    """The folders of this process's control groups for one controller, the innermost first. Cached."""
    return tuple(_find_group_folders(controller, proc))


def _find_group_folders(controller: str, proc: str) -> Iterator[str]:
    for path, version in _group_paths(controller, proc):
        for root, mount in _group_mounts(controller, version, proc):
            inner = os.path.relpath(path, root) if path.startswith(root) else "."
            folder = pathlib.PurePath(mount, inner)
            while True:
                yield str(folder)
                if str(folder) == mount or len(folder.parts) <= 1:
                    break
                folder = folder.parent


def _group_paths(controller: str, proc: str) -> Iterator[tuple[str, int]]:
    """Yields (path, version) of the groups that may limit this process: lines "4:memory:/path" and "0::/path"."""
    for line in (_read(f"{proc}/self/cgroup") or "").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if not path.startswith("/"):
            continue
        if not controllers:
            yield path, 2
        elif controller in controllers.split(","):
            yield path, 1


def _group_mounts(controller: str, version: int, proc: str) -> Iterator[tuple[str, str]]:
    """Yields (mounted group, path) of the control group file systems of this version. In a container the group is often not
    "/"."""
    for line in (_read(f"{proc}/self/mountinfo") or "").splitlines():
        head, _, tail = line.partition(" - ")
        fields, kind = head.split(" "), tail.split(" ")
        if len(fields) < 5:
            continue
        if version == 2 and kind[0] == "cgroup2":
            yield fields[3], fields[4]
        elif version == 1 and kind[0] == "cgroup" and controller in kind[-1].split(","):
            yield fields[3], fields[4]


def _read(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return None


def _numbers(path: str) -> dict[str, int]:
    """Reads lines "Name: 12 kB" or "name 12"."""
    return {name: int(value) for name, value in re.findall(r"^(\w+):?\s+(\d+)", _read(path) or "", re.MULTILINE)}


def _whole(text: str | None) -> int | None:
    try:
        return int(text) if text is not None else None
    except ValueError:
        return None


_PAGE = os.sysconf("SC_PAGE_SIZE")
