"""The options for opening streams, and their conversion to the options of libleat."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from . import ranks
from .errors import SpecError

if TYPE_CHECKING:
    from . import _leat
    from .agreement import Agreement
    from .cursor import Cursor

Told = Callable[[str, int, float, str], object]


class OpenOptions(TypedDict, total=False):
    """rank, world_size: which part of the steps this trainer gets (default: from torch.distributed, JAX, Ray Train or the
        launcher).
    window: how many batches you may hold at once (default: the daemon's setting, or more if batches are small).
    epochs, steps: the stream ends after this many epochs, or batches of this rank (default: no end). Give at least 1.
    first_epoch, first_step: where the stream begins. The step is counted over all ranks.
    seed: replaces the stream's own seed.
    position: continue at this position, a text from `Stream.position`. Raises PositionError if the position belongs to another
        spec, other data or another seed.
    accept_changes: True continues at the position even if spec, data or seed differ.
    delivery: "shared" (through shared memory, the default), or "copy" (through the socket, if you cannot map the daemon's
        memory).
    open_timeout: how many seconds to wait for the daemon's answer. math.inf sets no limit.
    reconnect_timeout: how many seconds to wait for the daemon to come back after it has ended. math.inf sets no limit, and 0
        does not wait.
    on_reconnect: leat calls this function with (kind, attempt, waited_s, reason). kind is "lost", "trying" or "back".
    client_name: a name for this trainer, which operators see.
    expect_digest: the expected digest of the stream's spec, 32 bytes. leat raises an error if the digest differs.
    progress: shows a progress bar for each epoch in a terminal or a notebook, but never in a log file (default: if
        LEAT_PROGRESS is 1). LEAT_PROGRESS=0 hides all bars. leat uses tqdm, or a line of text if tqdm is not installed.
    agree: with "auto" (the default), all ranks compare spec, data, seed, epoch, step and world size before the first batch and
        at each `state_dict()`. They compare through torch.distributed, JAX or mpi4py, if your program has initialised one of
        these with the same ranks. If a value differs, all ranks raise AgreementError. With True, a rank raises SpecError if it
        cannot compare. To choose the way, give a group of torch.distributed or MLX, or a communicator of mpi4py. With False,
        the ranks do not compare.
    agree_timeout: how many seconds a rank waits for the others (default: 300).
    """

    rank: int
    world_size: int
    window: int
    epochs: int
    steps: int
    first_epoch: int
    first_step: int
    seed: int
    position: str
    accept_changes: bool
    delivery: Literal["shared", "copy"]
    open_timeout: float
    reconnect_timeout: float
    on_reconnect: Told
    client_name: str
    expect_digest: bytes
    progress: bool | None
    agree: bool | Literal["auto"] | Any
    agree_timeout: float


_NATIVE = {"epochs": "n_epochs", "steps": "n_steps"}
_AS_THEY_ARE = frozenset(
    "window first_epoch first_step seed position accept_changes delivery client_name expect_digest".split()
)
_NOT_ZERO = frozenset(("epochs", "steps", "window"))  # libleat takes 0 as the default
_NOT_NATIVE = frozenset(("rank", "world_size", "on_reconnect", "progress", "agree", "agree_timeout"))
_NO_RECONNECT = -(2**31)


def _milliseconds(name: str, seconds: float) -> int:
    if name == "reconnect_timeout" and seconds == 0:
        return _NO_RECONNECT
    if seconds == float("inf"):
        return -1
    if not 0 < seconds <= 2_000_000:
        raise SpecError(f"{seconds!r} is out of range: give a number of seconds above 0 and up to 2000000, or math.inf", path=name)
    return max(1, round(seconds * 1000))


def changed(options: OpenOptions, changes: OpenOptions) -> OpenOptions:
    """The options with changes. A position replaces first_epoch and first_step."""
    kept = options.copy()
    if changes.get("position") is not None:
        kept.pop("first_epoch", None)
        kept.pop("first_step", None)
    return {**kept, **changes}


def share(options: OpenOptions) -> dict[str, int]:
    """Returns the `rank` and `world_size` of this trainer. The dict is empty if libleat must ask the launcher."""
    return ranks.options(options.get("rank"), options.get("world_size"))


class Group:
    """The ranks that share the steps of a stream, and the object that compares them.

    A program may initialise its ranks after it has opened the stream, for example because it asked for the length. So each
    epoch uses the ranks that the program has when the epoch begins."""

    def __init__(self, options: OpenOptions) -> None:
        self._options = options
        self._share: dict[str, int] = {}  # that was found last, since a framework may end before the stream
        self._agreements: dict[tuple[int, int], Agreement | None] = {}  # by rank and world size

    def share(self) -> dict[str, int]:
        """Returns the present `rank` and `world_size` of this trainer, as share() does."""
        self._share = share(self._options) or self._share
        return self._share

    def is_present(self, native: _leat.Stream) -> bool:
        """True if the session serves the present ranks."""
        found = self.share()
        return not found or (found["rank"], found["world_size"]) == (native.rank, native.world_size)

    def agreement(self, native: _leat.Stream) -> Agreement | None:
        """Returns the object that compares the ranks of this session, or None if they do not compare."""
        key = native.rank, native.world_size
        if key not in self._agreements:
            self._agreements[key] = _agreement(self._options, native)
        return self._agreements[key]

    def expect(self) -> None:
        """Makes the ranks compare before the next batch, because the stream moves to another position."""
        for agreement in self._agreements.values():
            if agreement is not None:
                agreement.expect()

    def before_first(self, cursor: Cursor) -> None:
        """Switches to the present ranks. Compares them if the stream is new or has moved."""
        self.follow(cursor)
        agreement = self.agreement(cursor.native)
        if agreement is not None:
            agreement.before_first(cursor)

    def may_wait(self, cursor: Cursor) -> bool:
        """True if before_first() may wait for other ranks or the daemon."""
        return not self.is_present(cursor.native) or self.agreement(cursor.native) is not None

    def follow(self, cursor: Cursor) -> None:
        """Before the first batch of a cursor: reopens its session if the session serves other ranks."""
        if not self.is_present(cursor.native):
            cursor.reopen()


def _agreement(options: OpenOptions, native: _leat.Stream) -> Agreement | None:
    agree = options.get("agree", "auto")
    if agree is False or native.world_size == 1:
        return None
    from .agreement import Agreement

    return Agreement("auto" if agree is None else agree, options.get("agree_timeout"), native)


def native(options: OpenOptions, share: Mapping[str, int]) -> dict[str, Any]:
    """Returns the members of struct leat_open_options, without the options that only this package reads. `share` comes from
    share()."""
    found: dict[str, Any] = dict(share)
    for name, value in options.items():
        if name == "on_reconnect" and value is not None and not callable(value):
            raise SpecError(f"{value!r} cannot be called: give a function", path=name)
        if value is None or name in _NOT_NATIVE:
            continue
        if name in _NOT_ZERO and value == 0:
            raise SpecError("0 is not allowed: give 1 or more, or None for the default", path=name)
        if name.endswith("_timeout"):
            found[f"{name}_ms"] = _milliseconds(name, float(value))  # type: ignore[arg-type]
        elif name in _NATIVE or name in _AS_THEY_ARE:
            found[_NATIVE.get(name, name)] = value
        else:
            raise SpecError(f'there is no option "{name}"; the options are {", ".join(sorted(OpenOptions.__annotations__))}')
    return found
