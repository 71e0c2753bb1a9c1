"""Finds the rank of this process, and the number of ranks.

Your arguments come first. Next is torch.distributed or JAX, if the program has initialised it. Next is Ray Train, if this is
one of its workers. Otherwise libleat reads the environment variables of the launcher (torchrun, mlx.launch, Open MPI, MPICH,
Slurm, Kubernetes, or LEAT_RANK and LEAT_WORLD_SIZE). Without a launcher, this process is the only trainer. MLX reads its ranks
from the same variables. This module imports and initialises no framework.
"""

from __future__ import annotations

import operator
import sys
from typing import Any, NamedTuple

from .errors import SpecError


class Ranks(NamedTuple):
    """Rank `rank` of `world_size`. `source` says where both numbers come from: "torch.distributed", "jax" or "ray.train"."""

    rank: int
    world_size: int
    source: str


def find() -> Ranks | None:
    """Returns the ranks of an initialised framework. Returns None if no framework is initialised: libleat then asks the
    launcher."""
    return _ask_torch() or _ask_jax() or _ask_ray()


def of_group(group: Any) -> Ranks:
    """Returns the rank and the size of a group of torch.distributed or mlx.core.distributed.

    With tensor or pipeline parallelism, give the data-parallel group: the processes that see different data.
    """
    rank, size = getattr(group, "rank", None), getattr(group, "size", None)
    if not callable(rank) or not callable(size):
        raise SpecError(f"a group must have rank() and size(), as in torch and MLX, but {group!r} does not have them")
    return Ranks(int(rank()), int(size()), f"{type(group).__module__} group")


def options(rank: int | None = None, world_size: int | None = None) -> dict[str, int]:
    """Returns the options `rank` and `world_size` for opening a stream. The dict is empty if libleat must ask the launcher.

    Give both, neither, or only `world_size=1`. With `world_size=1` this process is the only trainer, and leat ignores the
    launcher. Raises SpecError if only one of them is given otherwise.
    """
    if rank is None and world_size is None:
        found = find()
        return {} if found is None else {"rank": found.rank, "world_size": found.world_size}
    if world_size is None:
        raise SpecError(f"you gave rank {rank}, but no world_size: give both")
    if rank is None and world_size != 1:
        raise SpecError(f"you gave world_size {world_size}, but no rank: give both, or world_size=1")
    rank = _whole("rank", rank or 0)
    world_size = _whole("world_size", world_size)
    if world_size < 1:
        raise SpecError(f"world_size is {world_size}, but it must be at least 1")
    if not 0 <= rank < world_size:
        raise SpecError(f"rank is {rank}, but with world_size {world_size} it must be in 0..{world_size - 1}")
    return {"rank": rank, "world_size": world_size}


def _whole(name: str, number: Any) -> int:
    """Returns a whole number. Raises SpecError for any other value, for example the text of an environment variable."""
    try:
        return operator.index(number)
    except TypeError:
        raise SpecError(f"{name} is {number!r}, but it must be a whole number") from None


def _ask_torch() -> Ranks | None:
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return None
    return Ranks(distributed.get_rank(), distributed.get_world_size(), "torch.distributed")


def _ask_jax() -> Ranks | None:
    jax = sys.modules.get("jax")
    is_initialized = getattr(getattr(jax, "distributed", None), "is_initialized", None)
    if jax is None or is_initialized is None or not is_initialized():
        return None
    return Ranks(jax.process_index(), jax.process_count(), "jax")


def _ask_ray() -> Ranks | None:
    train = sys.modules.get("ray.train")
    if train is None:
        return None
    try:
        context = train.get_context()
    except (RuntimeError, DeprecationWarning):  # not in a worker; in a trial of Ray Tune
        return None
    return Ranks(context.get_world_rank(), context.get_world_size(), "ray.train")
