"""leat gives your training loop batches of token ids. You can resume at any step, and batches are not copied.

    import leat

    batches = (
        leat.csv("train.csv")
        .template(parts=["Name: {Name}", "Age: {Age}"])
        .tokenize("./modernbert", max_length=128)
        .pad(128)
        .cast("Survived", "labels", dtype="int64")
        .shuffle(1000, seed=42)
        .batch(32)
    )
    for batch in batches:               # each loop is one epoch
        tensors = batch.to("torch")     # {"input_ids": int32 [32, 128], "labels": int64 [32], ...}

help(leat.Pipeline) lists all stages and their arguments. help(leat.Batch) shows what you can do with a batch.
help(leat.errors) lists the errors. `import leat` is fast: leat imports NumPy or a framework only when you call a function that
needs this library.
"""

from __future__ import annotations

import importlib
import logging
import sys
from typing import TYPE_CHECKING

# The module of each public name.
_PLACES = {
    "pipeline": ["Pipeline", "LeftOutWarning", "open", "concat", "mix", "csv", "jsonl", "text", "arrow", "parquet",
                 "source", "from_yaml"],
    "daemon": ["connect", "shutdown"],
    "stream": ["Stream"],
    "batch": ["Batch", "Tensor"],
    "errors": [
        "AgreementError", "Error", "SpecError", "DataError", "NotFoundError", "DaemonError", "ForkedError", "HeldError",
        "PermissionDeniedError", "PositionError", "TimedOutError",
    ],
    "arrays": ["convert"],
    "frameworks": ["to_device"],
    "torch_data": ["TorchDataset"],
    "loader": ["DataLoader", "dataloader"],
    "instruct": ["instructions"],
    "data.hub": ["hub"],
    "tokenizer": ["Tokenizer"],
    "measure.monitor": ["Monitor", "compare"],
    "measure.calls": ["profile"],
    "measure.memory": ["memory_profile"],
    "measure.sizing": ["device_info", "estimate_model_size", "format_memory_size", "optimal_batch_size"],
}
logging.getLogger(__name__).addHandler(logging.NullHandler())  # a program without handlers prints nothing

_PLACE_OF = {name: place for place, names in _PLACES.items() for name in names}

__version__ = "0.1.0"
__all__ = ["__version__", *_PLACE_OF]

if TYPE_CHECKING:  # `X as X` makes X an export for type checkers
    from ._stages import arrow as arrow, csv as csv, jsonl as jsonl, parquet as parquet, text as text
    from .arrays import convert as convert
    from .batch import Batch as Batch, Tensor as Tensor
    from .daemon import connect as connect, shutdown as shutdown
    from .data.hub import hub as hub
    from .loader import DataLoader as DataLoader, dataloader as dataloader
    from .errors import AgreementError as AgreementError, DaemonError as DaemonError, DataError as DataError, Error as Error
    from .errors import ForkedError as ForkedError
    from .errors import HeldError as HeldError, NotFoundError as NotFoundError, PermissionDeniedError as PermissionDeniedError
    from .errors import PositionError as PositionError, SpecError as SpecError, TimedOutError as TimedOutError
    from .frameworks import to_device as to_device
    from .instruct import instructions as instructions
    from .measure.calls import profile as profile
    from .measure.memory import memory_profile as memory_profile
    from .measure.monitor import Monitor as Monitor, compare as compare
    from .pipeline import LeftOutWarning as LeftOutWarning, Pipeline as Pipeline, concat as concat, from_yaml as from_yaml
    from .pipeline import mix as mix, open as open, source as source
    from .measure.sizing import device_info as device_info, estimate_model_size as estimate_model_size
    from .measure.sizing import format_memory_size as format_memory_size, optimal_batch_size as optimal_batch_size
    from .stream import Stream as Stream
    from .tokenizer import Tokenizer as Tokenizer
    from .torch_data import TorchDataset as TorchDataset


def _import(place: str) -> object:
    try:
        return importlib.import_module(f".{place}", __name__)
    except ModuleNotFoundError as error:
        if error.name not in ("leat._leat", "leat._stages"):
            raise
        what = f"{__path__[0]} is the source of leat, without the compiled module {error.name}"
        how = "run `pip install .` in the checkout, and start Python in another folder"
        raise ImportError(
            f"{what}: {how}; or build with cmake, and set PYTHONPATH=build/release/python", name=error.name
        ) from None


def __getattr__(name: str) -> object:
    if name in ("chats", "cluster", "data", "ranks", "ray", "saving", "torch_data"):  # public modules
        return _import(name)
    place = _PLACE_OF.get(name)
    if place is None:  # Python makes a "did you mean" of `name` and `obj`
        raise AttributeError(f"module 'leat' has no attribute {name!r}", name=name, obj=sys.modules[__name__])
    value: object = getattr(_import(place), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Returns the names for help() and completion. TorchDataset is one of them only if torch is installed."""
    import importlib.util

    has_torch = "torch" in sys.modules or importlib.util.find_spec("torch") is not None
    return sorted(name for name in __all__ if has_torch or name not in _PLACES["torch_data"])
