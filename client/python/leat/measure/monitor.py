"""Measures how fast a loop runs, and how long it waits for batches.

A Monitor stands between a loop and its batches. At any time it is in one phase: training, warm-up or compiling. It adds time
and batches to the present phase. Its clock runs while you loop over batches, and inside `warm_up()` and `compiling()`. It stops
between epochs.

Use a Monitor in the thread that loops. A thread of leat.measure.memory samples memory while the clock runs.
"""

from __future__ import annotations

import collections
import contextlib
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TextIO, TypeVar

from .counting import TokenCount, samples_of
from .memory import MemoryProfile
from .sizing import format_memory_size
from .table import figure, percent, seconds, table

B = TypeVar("B")

TRAINING, WARM_UP, COMPILING = "training", "warm-up", "compiling"
_N_STEP_TIMES = 10_000  # the last ones, which make the median


@dataclass(frozen=True, slots=True)
class Phase:
    """The figures of one phase. Times are in seconds. `n_tokens` is None if no batch has tokens.

    wall_s     all time
    fetched_s  the part of wall_s inside iter() and next() of the loader
    waited_s   the part of fetched_s in which the loop only waited; for loaders other than leat's, it equals fetched_s"""

    wall_s: float = 0.0
    fetched_s: float = 0.0
    waited_s: float = 0.0
    n_batches: int = 0
    n_samples: int = 0
    n_tokens: int | None = None
    n_steps: int = 0

    @property
    def samples_per_s(self) -> float | None:
        """n_samples / wall_s."""
        return self.n_samples / self.wall_s if self.wall_s and self.n_samples else None

    @property
    def tokens_per_s(self) -> float | None:
        """n_tokens / wall_s. If there is a mask, padding does not count."""
        return self.n_tokens / self.wall_s if self.wall_s and self.n_tokens else None

    @property
    def waited_share(self) -> float | None:
        """waited_s / wall_s, 0 to 1."""
        return self.waited_s / self.wall_s if self.wall_s else None


@dataclass(frozen=True, slots=True)
class Summary:
    """The figures of a Monitor. str() makes a table of them. Memory is in bytes, or None if it was not sampled. `step_s`
    (median) and `step_p95_s` come from the last 10,000 training steps."""

    name: str
    training: Phase
    warm_up: Phase
    compiling: Phase
    step_s: float | None
    step_p95_s: float | None
    rss_peak: int | None
    pss_peak: int | None

    def __str__(self) -> str:
        phases = [(name, phase) for name, phase in self.phases.items() if phase.wall_s or name == TRAINING]
        rows = [(label, *(show(get(phase)) for _, phase in phases)) for label, get, show in _PHASE_ROWS]
        lines = [table(rows, (self.name, *(name for name, _ in phases)))]
        if self.step_s is not None:
            lines.append(f"a step takes {seconds(self.step_s)} (median; 95 % within {seconds(self.step_p95_s)})")
        if self.rss_peak is not None:
            lines.append(f"peak memory {_size(self.rss_peak)} of RSS, {_size(self.pss_peak)} of PSS")
        return "\n".join(lines)

    @property
    def phases(self) -> dict[str, Phase]:
        """Each phase by its name."""
        return {TRAINING: self.training, WARM_UP: self.warm_up, COMPILING: self.compiling}


def _size(n_bytes: float | None) -> str:
    return "-" if n_bytes is None else format_memory_size(n_bytes, binary=True)


def _whole(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


_PHASE_ROWS: tuple[tuple[str, Callable[[Phase], Any], Callable[[Any], str]], ...] = (
    ("time", lambda phase: phase.wall_s, seconds),
    ("batches", lambda phase: phase.n_batches, _whole),
    ("samples", lambda phase: phase.n_samples, _whole),
    ("tokens", lambda phase: phase.n_tokens, _whole),
    ("samples/s", lambda phase: phase.samples_per_s, figure),
    ("tokens/s", lambda phase: phase.tokens_per_s, figure),
    ("waited for data", lambda phase: phase.waited_share, percent),
)


class _Tally:
    """The figures of a Phase that still change."""

    def __init__(self) -> None:
        self.wall_ns = self.fetched_ns = self.waited_ns = 0
        self.n_batches = self.n_samples = self.n_steps = 0
        self.tokens = TokenCount()

    def phase(self) -> Phase:
        return Phase(
            self.wall_ns / 1e9, self.fetched_ns / 1e9, self.waited_ns / 1e9,
            self.n_batches, self.n_samples, self.tokens.total(), self.n_steps,
        )


class Monitor(Generic[B]):
    """Measures a loop over any iterable of batches.

            monitor = leat.Monitor(batches)            # a Pipeline, a Stream, a DataLoader, a list, ...
            epoch = iter(monitor)
            with monitor.compiling():
                train(next(epoch))                     # the first call compiles
            for batch in epoch:
                train(batch)
            print(monitor.summary())

    A batch is a mapping of names to arrays, an array, or a sequence of arrays. Its samples are its rows: `n_rows`, or the
    length of the first axis. A mapping that holds a plain number is one sample. Its number of tokens is the sum of its tensor
    `mask`.
        Without a `mask`, it is the number of elements of `tokens`, or unknown. Sums stay on their device until you ask for a
    summary.

    memory_interval: seconds between two samples of the memory of this process and its children. With None, memory is not
    sampled.
    count: a function of a batch that returns (samples, tokens or None). It replaces the rules above.
    """

    def __init__(
        self,
        batches: Iterable[B] | None = None,
        *,
        name: str = "run",
        tokens: str = "input_ids",
        mask: str = "attention_mask",
        memory_interval: float | None = 0.25,
        count: Callable[[B], tuple[int, int | None]] | None = None,
    ) -> None:
        self.name = name
        self._batches = batches
        self._names = (mask, tokens)
        self._count = count
        self._tallies = {phase: _Tally() for phase in (TRAINING, WARM_UP, COMPILING)}
        self._phases = [TRAINING]
        self._n_running = 0
        self._last_ns = 0
        self._began_ns = [0, 0]  # when the present step began: by the loop's body, and by step()
        self._is_stepped = False
        self._open: dict[object, int] = {}  # passes within a step, and the depth of phases when its batch came
        self._step_times: collections.deque[int] = collections.deque(maxlen=_N_STEP_TIMES)
        self._memory = MemoryProfile(memory_interval) if memory_interval is not None else None
        self._peaks: tuple[int | None, int | None] = (None, None)

    def __iter__(self) -> Iterator[B]:
        """Begins a pass over the batches. Raises TypeError if you made the Monitor without batches; then use watch()
        instead."""
        if self._batches is None:
            raise TypeError("this Monitor was made without batches: loop over monitor.watch(batches), or make Monitor(batches)")
        return self.watch(self._batches)

    def __len__(self) -> int:
        return len(self._batches)  # type: ignore[arg-type]

    def watch(self, batches: Iterable[B]) -> Iterator[B]:
        """Begins a pass over `batches` and returns its iterator."""
        with self._running():
            iterator, waited = self._begin(batches)
        return self._pass(iterator, waited)

    def _pass(self, iterator: Iterator[B], waited: Callable[[], int] | None) -> Iterator[B]:
        with self._running(), self._passing() as this:
            while True:
                batch = self._fetch(iterator, waited)
                if batch is _END:
                    return
                self._open[this] = len(self._phases)
                yield batch
                if self._open.pop(this, None) is None:  # the step ended with its phase
                    self._began_ns[False] = time.perf_counter_ns()
                else:
                    self._end_step(is_marked=False)

    @contextlib.contextmanager
    def warm_up(self) -> Iterator[None]:
        """Counts the time in its `with` block as warm-up."""
        with self._inside(WARM_UP):
            yield

    @contextlib.contextmanager
    def compiling(self) -> Iterator[None]:
        """Counts the time in its `with` block as compiling (the first call of torch.compile, jax.jit or mlx.core.compile)."""
        with self._inside(COMPILING):
            yield

    def step(self) -> None:
        """Marks the end of a step. Use it if a step is not one pass of the loop's body: several batches per step, or several
        steps per batch. After the first call, only these marks count as steps."""
        if not self._is_stepped:
            self._is_stepped = True
            self._step_times.clear()
            for tally in self._tallies.values():
                tally.n_steps = 0
        self._end_step(is_marked=True)

    @property
    def n_batches(self) -> int:
        """The number of batches in all phases."""
        return sum(tally.n_batches for tally in self._tallies.values())

    def summary(self) -> Summary:
        """Returns the figures up to now. Waits for the sums that a device still computes."""
        self._charge()
        self._see_peaks()
        phases = {name: tally.phase() for name, tally in self._tallies.items()}
        times = sorted(self._step_times)
        return Summary(
            self.name, phases[TRAINING], phases[WARM_UP], phases[COMPILING],
            statistics.median(times) / 1e9 if times else None,
            times[min(len(times) - 1, int(len(times) * 0.95))] / 1e9 if times else None,
            *self._peaks,
        )

    def _begin(self, batches: Iterable[B]) -> tuple[Iterator[B], Callable[[], int] | None]:
        """Returns the iterator of a pass, and a function that returns how long it has waited. The time to open a stream or to
        start workers counts as waiting."""
        self._charge()
        start = self._last_ns
        iterator = iter(batches)
        waited = _waiting_of(iterator, batches)
        self._charge()
        self._add_fetch(self._last_ns - start, self._last_ns - start)
        return iterator, waited

    def _add_fetch(self, took_ns: int, waited_ns: int) -> None:
        tally = self._tallies[self._phases[-1]]
        tally.fetched_ns += took_ns
        tally.waited_ns += waited_ns

    def _fetch(self, iterator: Iterator[B], waited: Callable[[], int] | None) -> Any:
        before = waited() if waited else 0
        self._charge()
        start = self._last_ns
        batch = next(iterator, _END)
        self._charge()
        took = self._last_ns - start
        self._add_fetch(took, min(took, waited() - before) if waited else took)
        if batch is not _END:
            self._count_batch(self._tallies[self._phases[-1]], batch)
        return batch

    def _count_batch(self, tally: _Tally, batch: Any) -> None:
        tally.n_batches += 1
        if self._count:
            n_samples, n_tokens = self._count(batch)
            tally.n_samples += n_samples
            if n_tokens is not None:
                tally.tokens.add_number(n_tokens)
        else:
            tally.n_samples += samples_of(batch)
            tally.tokens.add(batch, *self._names)

    def _end_step(self, is_marked: bool) -> None:
        self._charge()
        phase = self._phases[-1]
        if is_marked == self._is_stepped:
            self._tallies[phase].n_steps += 1
            if phase == TRAINING:
                self._step_times.append(self._last_ns - self._began_ns[is_marked])
        self._began_ns[is_marked] = self._last_ns

    def _end_steps_of_phase(self) -> None:
        """Ends the steps whose batches came in the phase that ends now."""
        for this in [this for this, depth in self._open.items() if depth == len(self._phases)]:
            del self._open[this]
            self._end_step(is_marked=False)

    def _charge(self) -> None:
        """Adds the time since the last call to the present phase, if the clock runs."""
        now = time.perf_counter_ns()
        if self._n_running:
            self._tallies[self._phases[-1]].wall_ns += now - self._last_ns
        self._last_ns = now

    @contextlib.contextmanager
    def _running(self) -> Iterator[None]:
        self._charge()
        if self._n_running == 0:
            self._began_ns = [self._last_ns] * 2
            if self._memory:
                self._memory.start()
        self._n_running += 1
        try:
            yield
        finally:
            self._charge()
            self._n_running -= 1
            if self._n_running == 0 and self._memory:
                self._memory.stop()
                self._see_peaks()

    @contextlib.contextmanager
    def _passing(self) -> Iterator[object]:
        this = object()
        try:
            yield this
        finally:
            self._open.pop(this, None)

    @contextlib.contextmanager
    def _inside(self, phase: str) -> Iterator[None]:
        with self._running():
            start = self._last_ns
            self._phases.append(phase)
            try:
                yield
            finally:
                self._charge()
                self._end_steps_of_phase()
                self._phases.pop()
                self._began_ns = [began + self._last_ns - max(start, began) for began in self._began_ns]  # not part of a step

    def _see_peaks(self) -> None:
        if self._memory and self._memory.samples:
            seen = self._memory.summary()
            self._peaks = (_higher(self._peaks[0], seen.rss_peak), _higher(self._peaks[1], seen.pss_peak))


_END: Any = object()


def _higher(a: int | None, b: int | None) -> int | None:
    return max((value for value in (a, b) if value is not None), default=None)


def _waiting_of(*places: object) -> Callable[[], int] | None:
    """Returns a function that returns how long a stream of leat has waited, in nanoseconds. The stream is that of the first
    object in `places` that has a stream."""
    for place in places:
        native = _native_of(place)
        if native is not None:
            return lambda: int(native.waited_ns)
    return None


def _native_of(place: object) -> Any:
    """Returns the native stream behind a Stream, a Pipeline, a DataLoader, or the result of to(). Returns None for a
    TorchDataset: it opens its streams itself, also in workers, and its pipeline would open another one."""
    native = getattr(place, "native", None)
    if isinstance(getattr(native, "waited_ns", None), int):
        return native
    module = type(place).__module__
    if not module.startswith("leat.") or module == "leat.torch_data":
        return None
    inner = (getattr(place, name, None) for name in ("source", "stream"))
    return next((found for found in map(_native_of, inner) if found is not None), None)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Several runs side by side, compared with the first one."""

    summaries: tuple[Summary, ...]

    @property
    def ratios(self) -> dict[str, tuple[float | None, ...]]:
        """For each label of the table: the figure of each run, divided by the figure of the first run."""
        return {label: _ratios([get(each) for each in self.summaries]) for label, get, _ in _RUN_ROWS}

    def __str__(self) -> str:
        head = ["", self.summaries[0].name]
        for each in self.summaries[1:]:
            head += [each.name, "ratio"]
        rows = (row for row in _RUN_ROWS if any(row[1](each) for each in self.summaries))
        return table([self._row(label, get, show) for label, get, show in rows], head)

    def _row(self, label: str, get: Callable[[Summary], Any], show: Callable[[Any], str]) -> list[str]:
        values = [get(each) for each in self.summaries]
        row = [label, show(values[0])]
        for value, ratio in zip(values[1:], _ratios(values)[1:]):
            row += [show(value), "-" if ratio is None else f"{ratio:.2f}x" if ratio < 10 else f"{ratio:,.0f}x"]
        return row


def _ratios(values: Sequence[float | None]) -> tuple[float | None, ...]:
    first = values[0]
    return tuple(None if value is None or not first else value / first for value in values)


_RUN_ROWS: tuple[tuple[str, Callable[[Summary], Any], Callable[[Any], str]], ...] = (
    ("samples/s", lambda run: run.training.samples_per_s, figure),
    ("tokens/s", lambda run: run.training.tokens_per_s, figure),
    ("waited for data", lambda run: run.training.waited_share, percent),
    ("step, median", lambda run: run.step_s, seconds),
    ("peak RSS", lambda run: run.rss_peak, _size),
    ("peak PSS", lambda run: run.pss_peak, _size),
    ("time", lambda run: run.training.wall_s, seconds),
    ("warm-up", lambda run: run.warm_up.wall_s, seconds),
    ("compiling", lambda run: run.compiling.wall_s, seconds),
)


def compare(*runs: Monitor[Any] | Summary, file: TextIO | None = None) -> Comparison:
    """Prints runs side by side to `file` (default: standard output). After the first run, each has its ratio to the first.

            leat.compare(by_torch, by_leat)     # Monitors or their summaries

    Raises ValueError if there is no run.
    """
    if not runs:
        raise ValueError("give compare() at least one Monitor, or its summary()")
    comparison = Comparison(tuple(run.summary() if isinstance(run, Monitor) else run for run in runs))
    print(comparison, file=file or sys.stdout)
    return comparison
