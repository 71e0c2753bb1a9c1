"""The options for opening streams, and their conversion to those of libleat."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from . import ranks
from .errors import SpecError

if TYPE_CHECKING:
    from . import _leat
    from .agreement import Agreement

Told = Callable[[str, int, float, str], object]


class OpenOptions(TypedDict, total=False):
    """rank, world_size: this trainer's share of the steps (default: of torch.distributed, JAX, Ray Train or the launcher).
    window: batches that you may hold at once (default: the daemon's, or more if they are small).
    epochs, steps: the end, after so many epochs or batches of this rank, at least 1 (default: without end).
    first_epoch, first_step: the beginning; the step is counted over all ranks.
    seed: replaces the stream's own.
    position: a text of `Stream.position` to go on at. PositionError: it is of another spec, other data, or another seed.
    accept_changes: goes on there nevertheless.
    delivery: "shared" (mapped, the default), or "copy" (through the socket, if memory cannot be mapped).
    open_timeout, reconnect_timeout: seconds to wait for an answer, and for a daemon that is gone; math.inf: without limit; a
        reconnect_timeout of 0: not at all.
    on_reconnect: called as (kind, attempt, waited_s, reason), with kind "lost", "trying" or "back".
    client_name: shown to operators.
    expect_digest: 32 bytes, the digest that the stream's spec must have.
    progress: shows a bar for each epoch, where a person looks on: in a terminal or a notebook, and never in a log (default: if
        LEAT_PROGRESS is 1). LEAT_PROGRESS=0 turns all bars off. It is tqdm's, or a line of text if that is not installed.
    agree: "auto" (the default): all ranks compare spec, data, seed, epoch, step and world, before the first batch and at each
        `state_dict()`. They do so through torch.distributed, JAX or mpi4py, if that is initialised with these ranks.
        AgreementError: they differ. True: SpecError if there is no way to compare. A group of torch.distributed or MLX, or a
        communicator of mpi4py: they compare through that. False: they do not compare.
    agree_timeout: seconds that a rank waits for the others then (default: 300).
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
        raise SpecError(f"{seconds!r} is outside 0..2000000 seconds", path=name)
    return max(1, round(seconds * 1000))


def changed(options: OpenOptions, changes: OpenOptions) -> OpenOptions:
    """The options with changes. A position replaces first_epoch and first_step."""
    kept = options.copy()
    if changes.get("position") is not None:
        kept.pop("first_epoch", None)
        kept.pop("first_step", None)
    return {**kept, **changes}


def share(options: OpenOptions) -> dict[str, int]:
    """This trainer's `rank` and `world_size`; empty if libleat is to ask the launcher."""
    return ranks.options(options.get("rank"), options.get("world_size"))


def agreement(options: OpenOptions, native: _leat.Stream) -> Agreement | None:
    """What compares the ranks of this stream. None: nothing does."""
    agree = options.get("agree", "auto")
    if agree is False or native.world_size == 1:
        return None
    from .agreement import Agreement

    return Agreement("auto" if agree is None else agree, options.get("agree_timeout"), native)


def native(options: OpenOptions, share: Mapping[str, int]) -> dict[str, Any]:
    """The members of struct leat_open_options, without those of this package. `share`: of share(), when the stream was
    opened first."""
    found: dict[str, Any] = dict(share)
    for name, value in options.items():
        if value is None or name in _NOT_NATIVE:
            continue
        if name in _NOT_ZERO and value == 0:
            raise SpecError("0 is less than 1; None means the default", path=name)
        if name.endswith("_timeout"):
            found[f"{name}_ms"] = _milliseconds(name, float(value))  # type: ignore[arg-type]
        elif name in _NATIVE or name in _AS_THEY_ARE:
            found[_NATIVE.get(name, name)] = value
        else:
            raise SpecError(f'there is no option "{name}"; there are {", ".join(sorted(OpenOptions.__annotations__))}')
    return found
