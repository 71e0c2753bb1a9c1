"""The extension: libleat and libleat-tokenizer for Python. Only `Stream.next` must be fast.

Threads: any thread may use and delete the objects. Waits release the GIL. Fork: a child can only delete its parent's objects;
everything else raises ForkedError.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import PathLike
from types import TracebackType
from typing import Any, Self, final

END_EPOCH: int  # 1: an epoch has ended, and the next one follows
END: int  # 2: the last epoch has ended
NO_RECONNECT: int  # as reconnect_timeout_ms: do not connect again

def check_interpreter() -> None: ...  # ImportError in a subinterpreter
def position_parse(text: str) -> tuple[int, int, int, int]:
    """Returns (epoch, step, seed, world_size) of a position. Raises SpecError if it is not a position."""

# A stream built in code: {"name": str, "source": [kind, {argument: value}], "stages": [[kind, {...}], ...], "options": {...}}.
# Values are str, bool, int, float, lists and dicts of those (sources in sources are [kind, {...}] pairs as {kind: {...}}).
Spec = dict[str, Any]

@final
class Client:
    def __new__(cls, address: str | None = None) -> Client:
        """`address` is the folder of the daemon's sockets, or one of these sockets. With None, libleat searches. This call does
        not connect."""
    def open(self, name: str, options: Mapping[str, Any] | None = None, batch_type: type[Batch] | None = None) -> Stream:
        """Opens a declared stream, within open_timeout_ms.

        options: the members of struct leat_open_options by name; None is the default. delivery is "shared" or "copy", and
            private_writes is True by default.
        reconnect: a function of (kind: "lost", "trying" or "back", attempt: int, waited_s: float, reason: str). It must not
            use the stream. sys.unraisablehook gets its exceptions.
        batch_type: the class of the batches. It is not called."""
    def open_built(self, spec: Spec, options: Mapping[str, Any] | None = None, batch_type: type[Batch] | None = None) -> Stream:
        """Opens a stream that you built in code."""

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
    n_steps: int | None  # of an epoch, over all ranks; None if leat does not know it, at least until an epoch has ended
    steps_reason: str  # why leat does not know n_steps
    left_out: str  # fields of the data that leat does not read, and why
    files: str  # of the data, as leat_stream_files() gives them; "" with one rank
    order: str  # ":order=1", what leat_stream_fingerprint() has behind the position
    n_held: int  # batches that are held, also by arrays
    waited_ns: int  # time in next() since the stream was opened
    n_batches: int  # number of batches that next() returned
    n_ends: int  # number of ends of epochs that next() returned
    is_closed: bool
    def next(self, timeout: float | None = None, n_ends: int = ...) -> Batch | int:
        """Returns the next batch, END_EPOCH or END. It also returns END_EPOCH if `n_ends` is no longer the given number.
        timeout is in seconds. None sets no limit. With 0, it raises TimedOutError at once. An exception of a signal handler
        ends the wait."""
    def seek(self, epoch: int, step: int = 0) -> None:
        """The next batch is this rank's first batch at or after this step. Waiting threads get END_EPOCH."""
    def pause(self) -> None:
        """Ends the session. next() opens another one at the same place."""
    def skip_epoch(self) -> None:
        """Skips the rest of the epoch: the next batch is the first of the next one. Waiting threads get END_EPOCH."""
    def fileno(self) -> int:
        """A descriptor for event loops. When it is readable, call next(0)."""
    def close(self) -> None:
        """Ends the session. You can still read the batches that you hold."""

class Batch:
    """A mapping of names to Tensors, in the order of the stream. It holds a slot of shared memory until you release it and no
    array views it any more."""

    epoch: int
    step: int  # over all ranks
    n_rows: int
    is_released: bool
    stream: Stream | None  # None if the stream no longer exists
    def __getitem__(self, name: str, /) -> Tensor: ...
    def __iter__(self) -> Iterator[str]: ...
    def __len__(self) -> int: ...
    def __contains__(self, name: object, /) -> bool: ...
    def keys(self) -> tuple[str, ...]: ...
    def values(self) -> tuple[Tensor, ...]: ...
    def items(self) -> tuple[tuple[str, Tensor], ...]: ...
    def get(self, name: str, default: Any = None, /) -> Any: ...
    def release(self) -> bool:
        """Gives the slot back to the daemon. You cannot read the batch after that. Returns True if the slot goes back at once.
        Returns False if arrays still view it: the slot then goes back when the last of them is gone."""
    def ring(self) -> tuple[int, int, int]:
        """Returns (address, bytes, number) of the shared read-only memory that holds the batch, so that you can register it
        with a device. The number is unique in this process. Raises ValueError with delivery "copy"."""
    def __enter__(self) -> Self: ...
    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None: ...

@final
class Tensor:
    """A row-major array in the slot of its batch. It supports the buffer protocol (read-only, any dtype except bfloat16) and
    DLPack (both kinds of capsules). If you write through DLPack, only this process sees it, until the slot goes back."""

    name: str
    dtype: str  # "int32"
    shape: tuple[int, ...]
    strides: tuple[int, ...]  # bytes
    ndim: int
    nbytes: int
    itemsize: int
    data_ptr: int  # address of the exported bytes
    shared_ptr: int  # of the same bytes in the read-only mapping
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
    def numpy(self) -> Any: ...  # read-only, over the slot; a copy for bfloat16
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
    """Writes a conversation, a JSON text of [{role, content}, ...], by its template. Also returns the parts that the assistant
    says: native uint32 pairs (start, end), in bytes of UTF-8."""

def render_chats(
    template: str | bytes, variables: bytes, year: int, month: int, day: int
) -> tuple[list[tuple[str, bytes]], int]:
    """Writes conversations by a Jinja template: `variables` is the JSON text of a list of objects, one a conversation. Returns
    for each what chat() returns, and 1 if the template marks with {% generation %} what the assistant says. The day is for
    strftime_now()."""

class Tokenizer:
    """Immutable. A call with many texts uses several threads, without the GIL."""

    pad_id: int | None
    n_threads: int  # of a call
    pads_left: bool  # by its file
    cuts_left: bool
    def __init__(self, path: str | os.PathLike[str], json: bytes = b"", threads: int = 0) -> None:
        """path: a tokenizer.json, vocab.txt, vocab.json beside merges.txt, or their folder. With json, it is a name for errors.
        threads: 0 means one for each CPU, but at most 8."""
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
        words: Sequence[bytes] | None = None,
        pair_words: Sequence[bytes] | None = None,
    ) -> Encodings:
        """columns: bits of the columns besides ids: 1 type ids, 2 offsets, 4 special tokens, 16 marks (tokens in `marks`, the
        parts of chat()), 32 tokens, 64 word ids, 128 sequence ids. max_length: -1: no truncation. words: for texts of joined
        words, where each word ends, native uint32 in bytes of UTF-8. An exception of a signal handler ends the call."""
    def decode(self, ids: Sequence[int], skips_special: bool = False) -> str: ...
    def join(self, tokens: Iterable[str], /) -> str: ...
    def id(self, token: str) -> int | None: ...
    def token(self, id: int) -> str | None: ...
    def is_special(self, id: int) -> bool: ...
    def added(self, id: int) -> tuple[bool, bool, bool, bool, bool] | None:
        """single_word, lstrip, rstrip, normalized, special of an added token. It is None for any other token."""
    def vocab(self, only_added: bool) -> dict[str, int]: ...
    def n_tokens(self, with_added: bool) -> int: ...
    def n_added(self, is_pair: bool) -> int:
        """The number of special tokens around a text or a pair."""
    def describe(self) -> str: ...

class Encodings:
    """Rows of tokens, in the order of the texts. A text with overflow has several rows."""

    longest: int  # row, in tokens
    n_tokens: int  # of all rows
    def __len__(self) -> int: ...
    def lists(self, column: str, width: int = 0, fill: int = 0, pads_left: bool = False) -> list[Any]:
        """A list for each row, padded to width: of int for input_ids, attention_mask, token_type_ids, special_tokens_mask and
        assistant_masks; of tuples (start, end) for offset_mapping; of str for tokens; of int or None for word_ids and
        sequence_ids. Raises KeyError if there is no such column."""
    def fill(
        self, column: str, into: Any, is_wide: bool, width: int, fill: int = 0, pads_left: bool = False
    ) -> None:
        """Writes int64 (is_wide) or int32 [rows, width], or [rows, width, 2] for offset_mapping, into a writable buffer.
        Raises ValueError if the buffer has another size, or if a row is longer than width."""
    def flat(self, column: str, into: Any) -> None:
        """Writes int32 [n_tokens], or [n_tokens, 2] for offset_mapping, row after row, into a writable buffer of that size."""
    def row_offsets(self, into: Any) -> None:
        """Writes int64 [rows + 1]: where each row starts in the tokens, and where the last one ends."""
    def lengths(self) -> list[int]: ...
    def inputs(self) -> list[int]:
        """The index of each row's text."""

# ---- saving

SAVE_BY_NAME: int  # the suffix of the path decides
SAVE_SAFETENSORS: int
SAVE_NPZ: int
SAVE_JSONL: int

def save_batch(batch: Batch, path: str | PathLike[str], format: int, compression: int, /) -> None:
    """Writes a temporary file, syncs and renames it. `compression` is for .npz: 0, or zlib's level. Raises SpecError if there
    is no such format, or if it cannot hold the names. Raises OSError if the file system fails."""

# ---- CUDA, for cuda.py. The first use loads its driver.

def cuda_n_rings() -> int:
    """The number of rings of batches that are registered with CUDA."""

class CudaDevice:
    ordinal: int
    name: str
    stream: int  # the CUstream on which copies run
    def __init__(self, ordinal: int = 0) -> None:
        """A GPU, in its primary context. NotFoundError: no CUDA, or no such device."""
    def copy(self, pieces: Sequence[tuple[Tensor, int]], /) -> CudaCopy:
        """Begins to copy each tensor to its device address, and holds the slots until they were read."""
    def alloc(self, nbytes: int, /) -> CudaMemory: ...

class CudaCopy:
    is_done: bool  # and the slots were returned
    is_registered: bool  # it reads registered memory, at the full speed of the bus
    def wait(self) -> None: ...
    def precede(self, stream: int, /) -> None:
        """Makes that CUstream wait for the copy."""

class CudaMemory:
    address: int
    nbytes: int
    def capsule(self, tensor: Tensor, /) -> Any:
        """Makes an unversioned DLPack capsule with the dtype and shape of a tensor. The capsule keeps the memory."""
