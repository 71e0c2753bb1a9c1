"""How streams are opened: options by their Python names and units, made into those of libleat."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypedDict

from . import ranks
from .errors import SpecError

Told = Callable[[str, int, float, str], object]


class OpenOptions(TypedDict, total=False):
    """rank, world_size: which steps are this trainer's; left out: as torch.distributed, JAX or the launcher say.
    window: batches that may be held at once; left out: the daemon's default, or more if they are small.
    epochs, steps: end after so many epochs, or batches of this rank, at least 1; left out: without end.
    first_epoch, first_step: begin there; the step is counted over all ranks.
    seed: in place of the stream's own.
    position: go on there, a text of `Stream.position`; PositionError: it is of another spec, other data, or another seed.
    accept_changes: go on there all the same.
    delivery: "shared" (mapped, the default), or "copy" (through the socket, where memory cannot be mapped).
    open_timeout, reconnect_timeout: seconds that are waited for an answer, and for a daemon that is gone; math.inf: for ever;
        0, of the
        latter: not at all.
    on_reconnect: called as (kind, attempt, waited_s, reason), kind "lost", "trying" or "back".
    client_name: shown to operators.
    expect_digest: 32 bytes; the stream's spec must have this digest.
    progress: a bar of tqdm for each epoch.
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
    progress: bool


_NATIVE = {"epochs": "n_epochs", "steps": "n_steps"}
_AS_THEY_ARE = frozenset(
    "window first_epoch first_step seed position accept_changes delivery client_name expect_digest".split()
)
_NOT_ZERO = frozenset(("epochs", "steps", "window"))  # with libleat 0 is as if they were left out
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
    """The options with others in place of them; a position stands for all that says where to begin."""
    kept = options.copy()
    if changes.get("position") is not None:
        kept.pop("first_epoch", None)
        kept.pop("first_step", None)
    return {**kept, **changes}


def share(options: OpenOptions) -> dict[str, int]:
    """Which steps are this trainer's, as `rank` and `world_size`; empty where libleat is to ask the launcher."""
    return ranks.options(options.get("rank"), options.get("world_size"))


def native(options: OpenOptions, share: Mapping[str, int]) -> dict[str, Any]:
    """The members of struct leat_open_options, but for `on_reconnect` and `progress`, which are others' to use. `share`: as share()
    found it when the stream was opened first."""
    found: dict[str, Any] = dict(share)
    for name, value in options.items():
        if value is None or name in ("rank", "world_size", "on_reconnect", "progress"):
            continue
        if name in _NOT_ZERO and value == 0:
            raise SpecError("0 is less than 1; None is as if it were left out", path=name)
        if name.endswith("_timeout"):
            found[f"{name}_ms"] = _milliseconds(name, float(value))  # type: ignore[arg-type]
        elif name in _NATIVE or name in _AS_THEY_ARE:
            found[_NATIVE.get(name, name)] = value
        else:
            raise SpecError(f'there is no option "{name}"; there are {", ".join(sorted(OpenOptions.__annotations__))}')
    return found
