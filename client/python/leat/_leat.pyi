"""The extension: libleat and libleat-tokenizer as Python sees them. Nothing per record; `Stream.next` is the one hot call.

Threads: objects may be used, and dropped, by any thread; the GIL is let go while something is waited for. Fork: in a child everything
here raises ForkedError, but for dropping it.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import PathLike
from types import TracebackType
from typing import Any, final

END_EPOCH: int  # 1: an epoch ended, the next one follows
END: int  # 2: nothing follows
NO_RECONNECT: int  # as reconnect_timeout_ms: not at all

def version() -> str: ...
def position_parse(text: str) -> tuple[int, int, int, int]:
    """(epoch, step, seed, world_size) of a position. SpecError: it is none."""

# A stream built in code: {"name": str, "source": [kind, {argument: value}], "stages": [[kind, {...}], ...], "options": {...}}.
# Values are str, os.PathLike, bool, int, float, lists and dicts of those (sources in sources are [kind, {...}] pairs as {kind: {...}}).
Spec = dict[str, Any]

@final
class Client:
    def __new__(cls, address: str | None = None) -> Client:
        """Where the daemon is: its socket directory, or a socket in it; None: as libleat searches. Does not connect."""
    def open(self, name: str, options: Mapping[str, Any] | None = None, batch_type: type[Batch] | None = None) -> Stream:
        """Opens a declared stream. `options` are the members of struct leat_open_options by name, None as if left out (delivery:
        "shared" or "copy"; rank: a number or "launcher"; private_writes: True); reconnect: callable(kind: "lost", "trying" or
        "back", attempt: int, waited_s: float, reason: str), which must not use the stream, and whose exceptions go to
        sys.unraisablehook. Batches are made as `batch_type`, without a call of it."""
    def open_built(self, spec: Spec, options: Mapping[str, Any] | None = None, batch_type: type[Batch] | None = None) -> Stream: ...

@final
class Stream:
    name: str
    tensors: tuple[tuple[str, str, tuple[int, ...]], ...]  # (name, dtype, shape; -1: varies)
    batch_size: int
    window: int
    rank: int
    world_size: int
    rank_source: str
    digest: bytes
    position: str
    position_numbers: tuple[int, int]  # epoch, step
    n_steps: int | None  # over all ranks; None: not known, at least until an epoch has ended, for
    steps_reason: str
    left_out: str  # fields of the data that are not read, and why
    n_held: int  # batches that are held, by views too
    waited_ns: int  # in next(), since the opening
    n_batches: int
    n_ends: int  # of epochs, that next() told
    is_closed: bool
    def next(self, timeout: float | None = None, n_ends: int = ...) -> Batch | int:
        """The next batch, or END_EPOCH, or END; END_EPOCH too if `n_ends` is another by now than this one. timeout in seconds; None: without limit; 0: TimedOutError at once. A signal whose
        handler raises ends the waiting with that exception."""
    def seek(self, epoch: int, step: int = 0) -> None:
        """The next batch is the first one of this rank at or after that step. Who waits for a batch is told END_EPOCH."""
    def pause(self) -> None:
        """Gives the session up. next() opens another one, in the same place."""
    def skip_epoch(self) -> None:
        """Gives up what is left of the epoch: the next batch is the first of the next one. Who waits for a batch is told END_EPOCH."""
    def fileno(self) -> int: ...
    def close(self) -> None: ...

class Batch:
    """name → Tensor, in the order of the stream. Holds a slot of the ring until nothing looks into it any more, or release()."""

    epoch: int
    step: int  # over all ranks
    n_rows: int
    is_released: bool
    stream: Stream | None  # None once the stream is gone
    def __getitem__(self, name: str, /) -> Tensor: ...
    def __iter__(self) -> Iterator[str]: ...
    def __len__(self) -> int: ...
    def __contains__(self, name: object, /) -> bool: ...
    def keys(self) -> tuple[str, ...]: ...
    def values(self) -> tuple[Tensor, ...]: ...
    def items(self) -> tuple[tuple[str, Tensor], ...]: ...
    def get(self, name: str, default: Any = None, /) -> Any: ...
    def release(self) -> bool:
        """Gives the slot back: at once and True if no array looks into it; else when the last of them is gone, and False. The batch
        itself can be read no more."""
    def ring(self) -> tuple[int, int, int]:
        """(address, bytes, number) of the shared read-only mapping that the batch lies in, for who registers it with a device;
        no other mapping of this process has that number, before or after. ValueError if it lies in memory of this process (delivery "copy")."""
    def __enter__(self) -> Batch: ...
    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None: ...

@final
class Tensor:
    """An array in the batch's slot, row-major. Buffer protocol (read-only, any dtype but bfloat16) and DLPack (versioned and not).
    What is written through DLPack stays in this process, and is gone when the slot is."""

    name: str
    dtype: str  # "int32"
    shape: tuple[int, ...]
    strides: tuple[int, ...]  # bytes
    ndim: int
    nbytes: int
    itemsize: int
    data_ptr: int  # of what is exported
    shared_ptr: int  # the same bytes in the read-only mapping
    def __len__(self) -> int: ...
    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...
    def __buffer__(self, flags: int) -> memoryview: ...
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any: ...
    def __jax_array__(self) -> Any: ...  # a copy
    def __getitem__(self, key: Any) -> Any: ...  # of numpy()
    def __iter__(self) -> Iterator[Any]: ...  # of numpy()
    def numpy(self) -> Any: ...  # looks into the slot, read-only; of bfloat16 a copy
    def tolist(self) -> list[Any]: ...

# ---- the tokenizer

chat_templates: tuple[str, ...]

def chat(
    messages: str | bytes,
    template: str,
    bos: str | None = None,
    eos: str | None = None,
    system: str | None = None,
    add_generation_prompt: bool = False,
) -> tuple[str, bytes]:
    """A conversation, a JSON text of [{role, content}, ...], as its template writes it, and the parts of it that the assistant
    says: native uint32 pairs (start, end), in bytes of UTF-8."""

class Tokenizer:
    """Immutable; a call with many texts uses several threads, without the GIL."""

    n_ids: int  # ids are 0..n_ids - 1
    pad_id: int | None
    n_bytes: int  # of memory, without caches
    n_threads: int  # that a call may use
    pads_left: bool  # by its file
    cuts_left: bool
    def __init__(self, path: str | os.PathLike[str], json: bytes = b"", threads: int = 0) -> None:
        """path: a tokenizer.json, vocab.txt, vocab.json beside merges.txt, or their folder; with json, the name of those bytes in
        errors. threads 0: one for each CPU, 8 at most."""
    def encode(
        self,
        texts: Sequence[str],
        pairs: Sequence[str] | None = None,
        marks: Sequence[bytes] | None = None,
        columns: int = 0,
        max_length: int = -1,
        stride: int = 0,
        strategy: str = "longest_first",
        cuts_left: bool = False,
        with_overflow: bool = False,
        adds_special_tokens: bool = True,
        splits_special_tokens: bool = False,
        seed: int = 0,
        words: Sequence[bytes] | None = None,
        pair_words: Sequence[bytes] | None = None,
    ) -> Encodings:
        """columns: bits of what is wanted besides ids: 1 type ids, 2 offsets, 4 special tokens, 16 marks (of the parts that
        `marks` has, as chat() gives them), 32 tokens, 64 word ids, 128 sequence ids. max_length -1: no truncation. words: of
        texts that are words one behind the other, native uint32: where each ends, in bytes of UTF-8. A signal whose handler
        raises ends it."""
    def decode(self, ids: Sequence[int], skips_special: bool = False) -> str: ...
    def join(self, tokens: Iterable[str], /) -> str: ...
    def id(self, token: str) -> int | None: ...
    def token(self, id: int) -> str | None: ...
    def is_special(self, id: int) -> bool: ...
    def added(self, id: int) -> tuple[bool, bool, bool, bool, bool] | None:
        """single_word, lstrip, rstrip, normalized, special of an added token; None: it is none."""
    def vocab(self, only_added: bool) -> dict[str, int]: ...
    def n_tokens(self, with_added: bool) -> int: ...
    def n_added(self, is_pair: bool) -> int:
        """Special tokens that it puts around a text, or a pair."""
    def describe(self) -> str: ...

class Encodings:
    """Rows of tokens, in the order of the texts; overflow makes several of one text."""

    longest: int  # row, in tokens
    n_tokens: int  # of all rows
    def __len__(self) -> int: ...
    def lists(self, column: str, width: int = 0, fill: int = 0, pads_left: bool = False) -> list[Any]:
        """input_ids, attention_mask, token_type_ids, special_tokens_mask, assistant_masks: a list of int for each row, padded to
        width; offset_mapping: of tuples (start, end); tokens: of str; word_ids, sequence_ids: of int or None. KeyError: the
        column was not made."""
    def fill(
        self, column: str, into: Any, is_wide: bool, width: int, fill: int = 0, pads_left: bool = False
    ) -> None:
        """Writes int64 (is_wide) or int32 [rows, width], of offset_mapping [rows, width, 2], into a writable buffer of just that
        size. ValueError: it has another, or a row is longer."""
    def flat(self, column: str, into: Any) -> None:
        """Writes int32 [n_tokens], of offset_mapping [n_tokens, 2], all rows one behind the other, into a writable buffer of just
        that size."""
    def row_offsets(self, into: Any) -> None:
        """Writes int64 [rows + 1]: where each row starts among the tokens, and where the last one ends."""
    def lengths(self) -> list[int]: ...
    def inputs(self) -> list[int]:
        """The text that each row is of."""
SAVE_BY_NAME: int  # formats: as the path ends
SAVE_SAFETENSORS: int
SAVE_NPZ: int
SAVE_JSONL: int

def save_batch(batch: Batch, path: str | PathLike[str], format: int, compression: int, /) -> None:
    """Writes it under a temporary name, syncs, renames. compression: of .npz, 0 or zlib's level. SpecError: no such format, names that
    it cannot hold; OSError: what the disk says."""

# ---- CUDA, whose driver is loaded when one of these is first used. cuda.py is what they are for.

def cuda_count() -> int:
    """Number of CUDA devices; 0 without a driver."""

def cuda_n_rings() -> int:
    """Rings of batches that are registered with CUDA."""

class CudaDevice:
    ordinal: int
    name: str
    stream: int  # the CUstream on which copies run
    can_register: bool  # memory that is mapped read-only
    def __init__(self, ordinal: int = 0) -> None:
        """A GPU, in its primary context. NotFoundError: no CUDA, or no such device."""
    def copy(self, pieces: Sequence[tuple[Tensor, int]], /) -> CudaCopy:
        """Begins to copy each tensor to its device address. The slots are held until they were read."""
    def alloc(self, nbytes: int, /) -> CudaMemory: ...

class CudaCopy:
    is_done: bool  # then the slots have gone back
    is_registered: bool
    def wait(self) -> None: ...
    def precede(self, stream: int, /) -> None:
        """What is queued on that CUstream from now on begins after the copy."""

class CudaMemory:
    address: int
    nbytes: int
    def capsule(self, code: int, bits: int, shape: tuple[int, ...], /) -> Any:
        """A DLPack capsule (unversioned) of it, which keeps it."""
