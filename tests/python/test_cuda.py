"""What leat asks of CUDA, by a libcuda.so.1 of the test's own: rings are registered once and forgotten in time, slots are
held until they were read, and nothing is left behind."""

from __future__ import annotations

import ctypes
import gc
import itertools
import os
import pathlib
import shutil
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

import leat
from leat import _leat, cuda, frameworks

N_ROWS = 400
BATCH = 10


class Told(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_int) for name in ("registered", "unregistered", "allocated", "freed", "copies", "waits")),
        *((name, ctypes.c_int) for name in ("streams", "events")),
        ("last_flags", ctypes.c_int),
        ("unmapped", ctypes.c_int),
        ("address", ctypes.c_void_p),
        ("n_bytes", ctypes.c_size_t),
        ("last_wait_stream", ctypes.c_void_p),
    ]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Loaded before leat looks for it: by its soname it is then what leat finds."""
    compiler = shutil.which("cc") or pytest.skip("no C compiler")
    path = tmp_path_factory.mktemp("cuda") / "libcuda.so.1"
    source = pathlib.Path(__file__).with_name("fake_cuda.c")
    command = [compiler, "-shared", "-fPIC", "-fvisibility=hidden", "-Wl,-soname,libcuda.so.1", "-o", path, source]
    subprocess.run(command, check=True)
    fake = ctypes.CDLL(str(path))
    fake.fake_told.restype = ctypes.POINTER(Told)
    return fake


@pytest.fixture
def fake(library: Any) -> Iterator[Any]:
    """As new; behind the test every context that was made current is so no more, and no ring is registered."""
    library.fake_advance(10000)
    ctypes.memset(library.fake_told(), 0, ctypes.sizeof(Told))
    library.fake_can_register(1)
    library.fake_refuse_register(0)
    library.fake_fail_copy(0)
    yield library
    cuda._feeders.clear()
    gc.collect()
    assert library.fake_depth() == 0
    assert _leat.cuda_n_rings() == 0
    assert told(library).unmapped == 0


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = tmp_path_factory.mktemp("rows") / "rows.csv"
    path.write_text("number\n" + "".join(f"{i}\n" for i in range(N_ROWS)))
    return leat.csv(path).cast("number", dtype="int32").batch(BATCH)


def told(fake: Any) -> Told:
    found: Told = fake.fake_told().contents
    return found


def numbers_at(address: int, n: int = BATCH) -> list[int]:
    return list((ctypes.c_int32 * n).from_address(address))


def test_devices(fake: Any) -> None:
    device = _leat.CudaDevice(1)
    assert (device.ordinal, device.name) == (1, "Fake 1")
    assert device.stream != 0
    with pytest.raises(leat.NotFoundError, match="no CUDA device 7"):
        _leat.CudaDevice(7)
    del device
    assert told(fake).streams == -0


def test_a_slot_is_held_until_it_was_read(fake: Any, pipeline: Any) -> None:
    device = _leat.CudaDevice()
    memory = device.alloc(BATCH * 4)
    with pipeline.open() as stream:
        batch = stream.next()
        ring, size, _ = batch.ring()
        copy = device.copy([(batch["number"], memory.address)])
        assert (told(fake).registered, told(fake).last_flags, told(fake).address, told(fake).n_bytes) == (1, 9, ring, size)
        assert copy.is_registered and not copy.is_done
        assert batch.release() is False
        assert stream.native.n_held == 1
        fake.fake_advance(1)
        assert not copy.is_done  # the event is still to come
        fake.fake_advance(1)
        assert copy.is_done and stream.native.n_held == 0
        assert numbers_at(memory.address) == list(range(BATCH))
        copy.precede(77)
        assert (told(fake).waits, told(fake).last_wait_stream) == (1, 77)


def test_a_ring_is_registered_once_and_forgotten_before_it_is_unmapped(fake: Any, pipeline: Any) -> None:
    device = _leat.CudaDevice()
    memory = device.alloc(BATCH * 4)
    with pipeline.open() as stream:
        for batch in stream:
            copy = device.copy([(batch["number"], memory.address)])
            copy.wait()
            assert numbers_at(memory.address) == batch["number"].tolist()
        assert (told(fake).registered, told(fake).unregistered, _leat.cuda_n_rings()) == (1, 0, 1)
    del batch, copy
    gc.collect()
    assert (told(fake).unregistered, _leat.cuda_n_rings()) == (1, 0)


def test_a_copy_that_is_dropped_is_waited_for(fake: Any, pipeline: Any) -> None:
    device = _leat.CudaDevice()
    memory = device.alloc(BATCH * 4)
    with pipeline.open() as stream:
        copy = device.copy([(stream.next()["number"], memory.address)])
        stream.close()
        del copy
        assert numbers_at(memory.address) == list(range(BATCH))
    assert told(fake).events == 0


@pytest.mark.parametrize("why", ["cannot", "refused", "is already"])
def test_what_cannot_be_registered_is_copied_all_the_same(fake: Any, pipeline: Any, why: str, caplog: Any) -> None:
    fake.fake_can_register(int(why != "cannot"))
    fake.fake_refuse_register({"refused": 801, "is already": 712}.get(why, 0))
    feeder = cuda.Feeder(0)
    memory = feeder.device.alloc(BATCH * 4)
    with pipeline.open() as stream:
        for batch in stream:
            copy = feeder.send(batch, {"number": memory.address})
            assert copy.is_registered == (why == "is already")
        copy.wait()
    assert numbers_at(memory.address) == list(range(N_ROWS - BATCH, N_ROWS))
    assert told(fake).unregistered == 0
    assert len([record for record in caplog.records if "cannot register" in record.message]) == (0 if why == "is already" else 1)


@pytest.mark.parametrize("window", [1, 2, 5])
def test_never_more_slots_than_the_window(fake: Any, pipeline: Any, window: int) -> None:
    """Nothing advances by itself here: whoever needs a slot has to wait for it."""
    feeder = cuda.Feeder(0)
    memories = []
    with pipeline.open(window=window) as stream:
        for i, batch in zip(range(12), stream):
            memories.append(feeder.device.alloc(BATCH * 4))
            feeder.send(batch, {"number": memories[-1].address})
            batch.release()
            del batch
            assert stream.native.n_held <= min(window, cuda.MAX_UNDER_WAY)
        feeder.settle(0)
        assert [numbers_at(memory.address)[0] for memory in memories] == list(range(0, 12 * BATCH, BATCH))


def test_the_last_slots_go_back(fake: Any, pipeline: Any) -> None:
    """Those that no later transfer asks for: at an epoch's end if they were read, behind a wait where the stream leaves."""
    feeder = cuda.feeder(0)
    memory = feeder.device.alloc(BATCH * 4)
    with pipeline.open(window=4) as stream:
        native = stream.native

        def send() -> None:
            batch = stream.next()
            feeder.send(batch, {"number": memory.address})
            batch.release()
            assert native.n_held == 1

        send()
        assert list(frameworks._Ahead(iter([]), lambda item: lambda: item, True)) == []
        assert native.n_held == 1
        fake.fake_advance(2)
        assert list(frameworks._Ahead(iter([]), lambda item: lambda: item, True)) == []
        assert native.n_held == 0
        send()
        stream.seek(0)
        assert native.n_held == 0 and stream.native is native
        send()
    assert native.n_held == 0


def test_failures(fake: Any, pipeline: Any) -> None:
    device = _leat.CudaDevice()
    memory = device.alloc(BATCH * 4)
    with pipeline.open() as stream:
        batch = stream.next()
        piece = batch["number"], memory.address
        fake.fake_fail_copy(2)
        with pytest.raises(leat.Error, match="cuMemcpyHtoDAsync: CUDA_ERROR_OF_THE_TEST"):
            device.copy([piece, piece])
        for wrong in ([3], [(3, 4)], [(batch["number"], -1)], [(batch["number"], "x")], 7, [(batch["number"],)]):
            with pytest.raises((TypeError, OverflowError)):
                device.copy(wrong)
        assert device.copy([]).is_done
        batch.release()
        assert stream.native.n_held == 0
        with pytest.raises(ValueError):
            device.copy([piece])
    with pytest.raises((TypeError, OverflowError)):
        device.alloc(-1)
    with pytest.raises(TypeError):
        type(device.copy([]))()


def test_memory_and_its_capsules(fake: Any, pipeline: Any) -> None:
    device = _leat.CudaDevice()
    memory, little = device.alloc(BATCH * 4), device.alloc(BATCH * 4 - 1)
    with pipeline.open() as stream, stream.next() as batch:
        capsule = memory.capsule(batch["number"])
        with pytest.raises(ValueError, match="needs more than the 39 bytes"):
            little.capsule(batch["number"])
        with pytest.raises(TypeError):
            memory.capsule(batch)
        copy = device.copy([(batch["number"], memory.address)])
        lent = cuda._Lent(memory, copy, batch["number"], device.ordinal)
        assert lent.__dlpack_device__() == (2, 0) and "dltensor" in repr(lent.__dlpack__())
        assert copy.is_done and numbers_at(memory.address) == list(range(BATCH))
        lent.__dlpack__(stream=7)
        assert told(fake).last_wait_stream == 7
        del lent
    assert memory.nbytes == BATCH * 4
    del little, memory
    assert told(fake).freed == 1  # the capsule has the other still
    del capsule
    assert (told(fake).allocated, told(fake).freed) == (2, 2)


def test_memory_is_lent_again_when_it_was_read(fake: Any) -> None:
    class Array:
        is_there = is_gone = False

        def is_ready(self) -> bool:
            return self.is_there

        def is_deleted(self) -> bool:
            return self.is_gone

    memories = cuda._Memories(_leat.CudaDevice())
    first, array = memories.take(100), Array()
    memories.give(first, array)
    assert memories.take(100).address != first.address
    array.is_there = True
    assert memories.take(30).address != first.address  # far too large
    assert memories.take(90).address == first.address


def test_a_forked_child_is_told(fake: Any, pipeline: Any) -> None:
    device = _leat.CudaDevice()
    memory = device.alloc(BATCH * 4)
    with pipeline.open() as stream:
        copy = device.copy([(stream.next()["number"], memory.address)])
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                for use in (lambda: device.alloc(4), lambda: copy.wait(), lambda: copy.is_done):
                    try:
                        use()
                    except leat.ForkedError:
                        continue
                    os._exit(2)
                del copy, memory, device
                status = 0
            finally:
                os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        copy.wait()
        assert numbers_at(memory.address) == list(range(BATCH))


class Numbers(frameworks.Converted):
    """The numbers of batches, each begun ahead of the step."""

    def _begin(self, batch: Any) -> Any:
        number = batch["number"].tolist()[0] // BATCH
        batch.release()
        return lambda: number

    def _is_ahead(self) -> bool:
        return True


def test_a_state_is_behind_what_was_given(pipeline: Any) -> None:
    """Whether the next batch, or the end of the epoch, was seen already or was not there yet."""
    n_steps = N_ROWS // BATCH
    with pipeline.open() as stream:
        numbers = Numbers(stream, "torch", "cuda")
        it = iter(numbers)
        for source in (numbers, it, stream):
            for number in itertools.islice(it, n_steps // 3):
                assert _leat.position_parse(source.state_dict()["position"])[:2] == (0, number + 1)
        state = numbers.state_dict()
        assert list(it) == list(range(n_steps // 3 * 3, n_steps))
        assert _leat.position_parse(numbers.state_dict()["position"])[:2] == (1, 0)
        assert list(itertools.islice(numbers, 2)) == [0, 1]  # one that is dropped with what was ahead
        assert _leat.position_parse(numbers.state_dict()["position"])[:2] == (1, 2)
        assert [len(list(numbers)) for _ in range(2)] == [n_steps] * 2
        numbers.load_state_dict(state)
        assert list(numbers) == list(range(n_steps // 3 * 3, n_steps))


def test_what_is_raised_ahead_is_so_behind_the_step() -> None:
    def items() -> Iterator[int]:
        yield 1
        raise ValueError("bad")

    given = []
    with pytest.raises(ValueError, match="bad"):
        for item in frameworks._Ahead(items(), lambda item: lambda: item, True):
            given.append(item)
    assert given == [1]


def test_one_batch_is_ahead_of_the_step(pipeline: Any) -> None:
    """Begun before the step that goes before it, finished behind it; and the position is that of what was given."""
    log: list[str] = []

    class Ahead(frameworks.Converted):
        def _begin(self, batch: Any) -> Any:
            number = batch["number"].tolist()[0] // BATCH
            log.append(f"begin {number}")
            batch.release()
            return lambda: log.append(f"finish {number}") or {"number": number}

        def _is_ahead(self) -> bool:
            return True

    with pipeline.open(window=4) as stream:
        ahead = Ahead(stream, "torch", "cuda")
        it = iter(ahead)
        assert next(it)["number"] == 0
        while "begin 1" not in log:  # it was not there yet, perhaps: the next step looks again
            assert next(it)
        assert log[:2] == ["begin 0", "finish 0"] or log[:3] == ["begin 0", "begin 1", "finish 0"]
        given = int(log[-1].split()[1]) + 1
        state = ahead.state_dict()
        assert _leat.position_parse(state["position"])[:2] == (0, given)
        assert [batch["number"] for batch in it] == list(range(given, N_ROWS // BATCH))
        assert [batch["number"] for batch in ahead] == list(range(N_ROWS // BATCH))
        ahead.load_state_dict(state)
        assert [batch["number"] for batch in ahead] == list(range(given, N_ROWS // BATCH))
        ahead.set_epoch(7)
        assert len([batch for batch in ahead]) == N_ROWS // BATCH
        assert _leat.position_parse(ahead.state_dict()["position"])[0] == 8
