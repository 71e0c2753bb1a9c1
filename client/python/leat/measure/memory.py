"""Memory of this process, its children and the machine, sampled by a thread.

RSS counts shared pages in full, so a sum over processes counts them several times. PSS counts 1/n of a page that n processes
share. So you can add up the PSS of leat's daemon and its trainers, or of a DataLoader and its workers. Available and total
memory are those of the machine, or of a control group (a container, a service) with a lower limit.

A sample of RSS takes about 20 us per process. For PSS the kernel visits every page, so leat spends at most 2 % of the time on
samples of PSS. Between two of these samples, leat uses the last value. It does not see a peak between two samples.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Any, ParamSpec, TypeVar, overload

from . import chart, proc
from .sizing import format_memory_size
from .table import figure, seconds, table

P = ParamSpec("P")
R = TypeVar("R")

_PSS_SHARE = 0.02  # of the time, at most
_log = logging.getLogger("leat.memory")


@dataclass(frozen=True, slots=True)
class Sample:
    """One sample, in bytes. `time_s` is the time since the start. `pss` is None if the kernel does not report it."""

    time_s: float
    rss: int
    pss: int | None
    available: int
    total: int


@dataclass(frozen=True, slots=True)
class MemorySummary:
    """The use of memory from start to stop, in bytes. str() makes a table of it."""

    duration_s: float
    n_samples: int
    rss_start: int
    rss_end: int
    rss_peak: int
    pss_start: int | None
    pss_end: int | None
    pss_peak: int | None
    available_least: int
    total: int

    @property
    def rss_growth(self) -> int:
        """The peak minus the value at the start."""
        return self.rss_peak - self.rss_start

    @property
    def pss_growth(self) -> int | None:
        """The peak minus the value at the start."""
        return None if self.pss_peak is None or self.pss_start is None else self.pss_peak - self.pss_start

    def __str__(self) -> str:
        rows = [
            ("RSS", _size(self.rss_start), _size(self.rss_end), _size(self.rss_peak), _size(self.rss_growth)),
            ("PSS", _size(self.pss_start), _size(self.pss_end), _size(self.pss_peak), _size(self.pss_growth)),
        ]
        seen = f"{seconds(self.duration_s)}, {self.n_samples} samples"
        left = f"available at least {_size(self.available_least)} of {_size(self.total)}"
        return "\n".join((table(rows, ("memory", "start", "end", "peak", "growth")), f"{seen}; {left}"))


@dataclass(frozen=True, slots=True)
class Region:
    """A named part of a profile: its time in seconds since the start, and RSS in bytes."""

    name: str
    start_s: float
    end_s: float
    rss_start: int
    rss_end: int
    rss_peak: int

    def __str__(self) -> str:
        grown = format_memory_size(abs(self.rss_end - self.rss_start), binary=True)
        sign = "-" if self.rss_end < self.rss_start else "+"
        return f"{self.name}: {seconds(self.end_s - self.start_s)}, peak {_size(self.rss_peak)}, {sign}{grown}"


def _size(n_bytes: int | None) -> str | None:
    return None if n_bytes is None else format_memory_size(n_bytes, binary=True)


class MemoryProfile:
    """Samples of memory from start() to stop(). Create one with memory_profile().

    After `max_samples` samples, it merges each two neighbours into the higher one, and doubles the interval. Call its methods
    in one thread only."""

    def __init__(self, interval: float = 0.05, *, children: bool = True, pss: bool = True, max_samples: int = 20_000) -> None:
        if not interval > 0:
            raise ValueError(f"interval is {interval}, but it must be a number of seconds above 0")
        if max_samples < 16:
            raise ValueError(f"max_samples is {max_samples}, but it must be at least 16")
        self.interval = interval
        self.children = children
        self.pss = pss
        self.max_samples = max_samples
        self.samples: list[Sample] = []
        self.regions: list[Region] = []  # in the order of their ends
        self._pss: int | None = None
        self._pss_due = 0.0
        self._thread: threading.Thread | None = None
        self._ending = threading.Event()
        self._started = 0.0
        self._stride = 1

    def start(self) -> MemoryProfile:
        """Takes the first sample at once, and then samples in a thread. Raises RuntimeError if the profile is already running."""
        if self.is_running:
            raise RuntimeError("this profile is already running: stop() it first, or make another one")
        self.samples, self.regions = [], []
        self._pss_due, self._stride = 0.0, 1
        self._ending = threading.Event()
        self._started = time.monotonic()
        self.samples.append(self._sample(is_pss_due=True))
        self._thread = threading.Thread(target=self._run, args=(self._ending,), name="leat-memory", daemon=True)
        self._thread.start()
        return self

    def stop(self) -> MemoryProfile:
        """Takes the last sample and ends the thread, if there is one."""
        thread, self._thread = self._thread, None
        if thread is not None:
            self._ending.set()
            thread.join()
            self._keep(self._sample(is_pss_due=True))
        return self

    @property
    def is_running(self) -> bool:
        """True between start() and stop(). False in a forked child, because a child does not inherit its parent's threads."""
        return self._thread is not None and self._thread.is_alive()

    @contextlib.contextmanager
    def region(self, name: str) -> Iterator[None]:
        """Names the code in a `with` block. `regions` then has the block's RSS at the start, the end and the peak, even if
        the block raises an exception. Regions may be nested and repeated. Raises RuntimeError if the profile is not running."""
        if not self.is_running:
            raise RuntimeError("this profile is not running: start() it first, or use it in a `with` statement")
        first = self._sample()
        try:
            yield
        finally:
            last = self._sample()
            within = [sample.rss for sample in list(self.samples) if first.time_s <= sample.time_s <= last.time_s]
            peak = max(first.rss, last.rss, *within)
            self.regions.append(Region(name, first.time_s, last.time_s, first.rss, last.rss, peak))

    def summary(self) -> MemorySummary:
        """Summarises the samples so far. Raises RuntimeError if the profile was never started."""
        samples = list(self.samples)
        if not samples:
            raise RuntimeError("this profile has no samples yet: start() it, or use it in a `with` statement")
        known = [sample.pss for sample in samples if sample.pss is not None]
        return MemorySummary(
            duration_s=samples[-1].time_s,
            n_samples=len(samples),
            rss_start=samples[0].rss,
            rss_end=samples[-1].rss,
            rss_peak=max(sample.rss for sample in samples),
            pss_start=samples[0].pss,
            pss_end=samples[-1].pss,
            pss_peak=max(known, default=None),
            available_least=min(sample.available for sample in samples),
            total=samples[-1].total,
        )

    def plot(self, path: str | os.PathLike[str] | None = None, *, text: bool = False) -> Any:
        """Draws RSS, PSS and available memory over time as a matplotlib Figure. If you give `path`, it also writes the figure
        to this file, in the format that the suffix names. With `text`, or without matplotlib, it returns a chart of RSS as a
        str."""
        lines = {"RSS": [s.rss for s in self.samples], "PSS": [s.pss for s in self.samples if s.pss is not None]}
        times = [sample.time_s for sample in self.samples]
        if len(lines["PSS"]) != len(times):
            del lines["PSS"]
        if not text:
            figure_ = chart.figure(times, lines, {"available": [s.available for s in self.samples]})
            if figure_ is not None:
                if path is not None:
                    figure_.savefig(path)
                return figure_
        drawn = chart.draw(times, lines["RSS"], title="RSS")
        if path is not None:
            with open(path, "w", encoding="utf-8") as file:
                file.write(drawn + "\n")
        return drawn

    def __enter__(self) -> MemoryProfile:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        """As a decorator, it profiles each call, logs its peak, and keeps the last profile as `function.profile`."""

        @functools.wraps(function)
        def profiled(*args: P.args, **kwargs: P.kwargs) -> R:
            profile = MemoryProfile(self.interval, children=self.children, pss=self.pss, max_samples=self.max_samples)
            setattr(profiled, "profile", profile)
            with profile:
                result = function(*args, **kwargs)
            _log_call(function, profile.summary())
            return result

        return profiled

    def _run(self, ending: threading.Event) -> None:
        while not ending.wait(self.interval * self._stride):
            self._keep(self._sample())

    def _sample(self, is_pss_due: bool = False) -> Sample:
        pids = [os.getpid(), *(proc.descendants(os.getpid()) if self.children else [])]
        now = time.monotonic()
        if self.pss and (is_pss_due or now >= self._pss_due):
            self._pss = _pss_of(pids)
            took = time.monotonic() - now
            self._pss_due = now + took / _PSS_SHARE
        machine = proc.machine_memory()
        return Sample(now - self._started, sum(map(proc.rss, pids)), self._pss, machine.available, machine.total)

    def _keep(self, sample: Sample) -> None:
        self.samples.append(sample)
        if len(self.samples) > self.max_samples:
            first, *others = self.samples
            pairs = zip(others[::2], others[1::2])
            kept = [a if a.rss > b.rss else b for a, b in pairs]
            self.samples = [first, *kept, *(others[-1:] if len(others) % 2 else [])]
            self._stride *= 2


def _pss_of(pids: list[int]) -> int | None:
    """The sum over processes, or None if one of them belongs to another user."""
    each = [proc.pss(pid) for pid in pids]
    known = [value for value in each if value is not None]
    return sum(known) if len(known) == len(each) else None


def _log_call(function: Callable[..., object], seen: MemorySummary) -> None:
    name = getattr(function, "__qualname__", repr(function))
    _log.info(
        "%s: peak RSS %s, %s above the start, in %s (%s samples)",
        name,
        _size(seen.rss_peak),
        _size(seen.rss_growth),
        seconds(seen.duration_s),
        figure(seen.n_samples),
    )


@overload
def memory_profile(
    interval: float = ..., *, children: bool = ..., pss: bool = ..., max_samples: int = ...
) -> MemoryProfile: ...
@overload
def memory_profile(interval: Callable[P, R]) -> Callable[P, R]: ...


def memory_profile(
    interval: Any = 0.05, *, children: bool = True, pss: bool = True, max_samples: int = 20_000
) -> Any:
    """Samples memory every `interval` seconds: in a `with` statement, as a decorator, or from start() to stop().

        with leat.memory_profile() as profile:
            train()
        print(profile.summary())          # RSS and PSS at the start, at the end, at the peak, in GiB (2^30 bytes)
        profile.plot("memory.png")        # with matplotlib; else a chart of characters

        @leat.memory_profile              # or @leat.memory_profile(interval=0.01)
        def load(): ...                   # each call is logged at level info to "leat.memory"; load.profile is the last one

        profile = leat.memory_profile(interval=1).start()
        ...
        profile.stop().samples            # list of Sample: time_s, rss, pss, available, total, in bytes

    children: also counts child processes (workers of a DataLoader, a daemon that leat started).
    pss: also samples PSS.
    """
    if callable(interval):
        return MemoryProfile()(interval)
    return MemoryProfile(interval, children=children, pss=pss, max_samples=max_samples)
