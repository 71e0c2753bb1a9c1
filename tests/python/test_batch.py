"""Batches and tensors: what they say of themselves, buffers, DLPack, the lives of slots, writes that reach nobody else."""

from __future__ import annotations

import collections.abc
import ctypes
import gc
import pickle
import threading
import time
import weakref

import pytest
from conftest import BATCH, DTYPES, N_ROWS, Leatd, expected, take

import leat
from leat import _leat

CPU = (1, 0)
ITEM_BYTES = {"bool": 1, "uint8": 1, "uint16": 2, "int8": 1, "int16": 2, "float16": 2, "bfloat16": 2, "int32": 4, "float32": 4}
N_STEPS = -(-N_ROWS // BATCH)


def shared(tensor: leat.Tensor) -> bytes:
    """What stands in the daemon's memory."""
    return ctypes.string_at(tensor.shared_ptr, tensor.nbytes)


class TestMapping:
    def test_names(self, numbers: Leatd) -> None:
        with numbers.open("rows") as stream, take(stream) as batch:
            assert isinstance(batch, leat.Batch) and isinstance(batch, collections.abc.Mapping)
            assert list(batch) == DTYPES == list(batch.keys()) and len(batch) == len(DTYPES)
            assert [tensor.name for tensor in batch.values()] == DTYPES
            assert [name for name, _ in batch.items()] == DTYPES
            assert dict(**batch).keys() == set(DTYPES)
            assert "int32" in batch and "nothing" not in batch and 3 not in batch
            assert batch.get("nothing") is None and batch.get("nothing", 7) == 7 and batch.get("int32").dtype == "int32"
            with pytest.raises(KeyError, match="no tensor 'nothing'; it has .*int32"):
                batch["nothing"]
            assert "epoch 0, step 0: 8 rows" in repr(batch) and "int32 (8,)" in repr(batch["int32"])

    def test_numbers(self, numbers: Leatd) -> None:
        with numbers.open("rows", n_epochs=2) as stream:
            for epoch in range(2):
                for step, batch in enumerate(stream):
                    assert (batch.epoch, batch.step) == (epoch, step)
                    assert batch.n_rows == len(expected("int32", step))
                    for dtype in DTYPES:
                        assert batch[dtype].tolist() == expected(dtype, step), dtype
                assert step == N_STEPS - 1

    def test_what_a_tensor_says(self, numbers: Leatd) -> None:
        with numbers.open("wide") as stream, take(stream) as batch:
            wide = batch["wide"]
            assert (wide.shape, wide.strides, wide.ndim, wide.nbytes) == ((10, 1024), (4096, 4), 2, 40960)
            assert (wide.dtype, wide.itemsize, len(wide)) == ("float32", 4, 10)
            assert wide.data_ptr % 64 == 0 and wide.data_ptr != wide.shared_ptr
            assert wide.tolist() == [[float(i == n) for i in range(1024)] for n in range(10)]
            address, size, _ = batch.ring()
            assert address <= wide.shared_ptr and wide.shared_ptr + wide.nbytes <= address + size

    def test_every_item_size(self, numbers: Leatd) -> None:
        with numbers.open("rows") as stream, take(stream) as batch:
            for tensor in batch.values():
                assert tensor.itemsize == ITEM_BYTES.get(tensor.dtype, 8) and tensor.nbytes == tensor.itemsize * BATCH

    def test_nobody_else_makes_or_pickles_them(self, numbers: Leatd) -> None:
        for kind in (_leat.Batch, leat.Batch, leat.Tensor, _leat.Stream):
            with pytest.raises(TypeError):
                kind()
        with numbers.open("rows") as stream, take(stream) as batch:
            for thing in (batch, batch["int32"], stream.native):
                with pytest.raises(TypeError, match="pickle"):
                    pickle.dumps(thing)


class TestBuffers:
    def test_formats(self, numbers: Leatd) -> None:
        formats = {"bool": "?", "uint8": "B", "uint16": "H", "int8": "b", "int16": "h", "int32": "i", "int64": "l", "float16": "e", "float32": "f"}
        with numbers.open("rows") as stream, take(stream) as batch:
            for dtype in DTYPES:
                if dtype == "bfloat16":
                    continue
                with memoryview(batch[dtype]) as view:
                    assert view.format == formats.get(dtype, "d") and view.readonly and view.c_contiguous
                    assert view.shape == (BATCH,) and view.nbytes == batch[dtype].nbytes

    def test_bfloat16_has_no_format(self, numbers: Leatd) -> None:
        numpy = pytest.importorskip("numpy")
        with numbers.open("rows") as stream, take(stream) as batch:
            with pytest.raises(BufferError, match="bfloat16 is bfloat16"):
                memoryview(batch["bfloat16"])
            pytest.importorskip("ml_dtypes")
            assert numpy.asarray(batch["bfloat16"]).tolist() == expected("bfloat16", 0)
            with pytest.raises(ValueError, match="only with a copy"):
                batch["bfloat16"].__array__(copy=False)

    def test_it_is_used_as_an_array(self, numbers: Leatd) -> None:
        numpy = pytest.importorskip("numpy")
        with numbers.open("rows") as stream, take(stream) as batch:
            tensor = batch["int32"]
            looking = tensor.numpy()
            assert looking.ctypes.data == tensor.data_ptr and not looking.flags.writeable
            assert looking.dtype == numpy.int32 and tensor[0] == looking[0] and tensor[-1] == expected("int32", 0)[-1]
            assert tensor[1:3].tolist() == expected("int32", 0)[1:3] and [int(n) for n in tensor] == expected("int32", 0)
            with pytest.raises(IndexError):
                tensor[BATCH]
            assert numpy.asarray(tensor, dtype="float64").dtype == numpy.float64
            assert batch.release() is False  # `looking` holds the slot
            with pytest.raises(ValueError, match="released"):
                tensor[0]

    def test_jax_takes_it(self, numbers: Leatd) -> None:
        jnp = pytest.importorskip("jax.numpy")
        with numbers.open("rows") as stream, take(stream) as batch:
            for name in ("int32", "float32", "uint8", "bool"):
                assert jnp.asarray(batch[name]).tolist() == expected(name, 0)

    def test_numpy_looks_in_and_cannot_write(self, numbers: Leatd) -> None:
        numpy = pytest.importorskip("numpy")
        with numbers.open("rows") as stream, take(stream) as batch:
            for dtype in DTYPES:
                if dtype == "bfloat16":
                    continue
                array = numpy.asarray(batch[dtype])
                assert array.dtype == numpy.dtype(dtype) and array.ctypes.data == batch[dtype].data_ptr
                assert array.tolist() == expected(dtype, 0)
                assert not array.flags.writeable and not array.flags.owndata
                with pytest.raises(ValueError):
                    array.flags.writeable = True


class TestSlots:
    def test_released_at_once(self, numbers: Leatd) -> None:
        with numbers.open("rows") as stream:
            batch = take(stream)
            tensor = batch["int32"]
            assert stream.native.n_held == 1 and not batch.is_released
            assert batch.release() and batch.release() and batch.is_released and stream.native.n_held == 0
            assert "released" in repr(batch) and "released" in repr(tensor)
            assert tensor.shape == (BATCH,) and batch.step == 0 and "int32" in batch
            for read in (
                lambda: batch["int32"], batch.values, batch.items, batch.ring, batch.__enter__, tensor.tolist,
                lambda: tensor.data_ptr, lambda: memoryview(tensor), tensor.__dlpack__,
            ):  # fmt: skip
                with pytest.raises(ValueError, match="released"):
                    read()

    def test_kept_by_views(self, numbers: Leatd) -> None:
        with numbers.open("rows") as stream:
            batch = take(stream)
            first, second = memoryview(batch["int32"]), memoryview(batch["int64"])
            assert not batch.release() and stream.native.n_held == 1
            assert first.tolist() == expected("int32", 0)
            first.release()
            assert stream.native.n_held == 1 and not batch.release()
            second.release()
            assert stream.native.n_held == 0 and batch.release()

    def test_kept_by_a_tensor_of_a_batch_that_is_gone(self, numbers: Leatd) -> None:
        with numbers.open("rows") as stream:
            tensor = take(stream)["int32"]
            gc.collect()
            assert stream.native.n_held == 1 and tensor.tolist() == expected("int32", 0)
            del tensor
            assert stream.native.n_held == 0

    def test_kept_by_capsules(self, numbers: Leatd) -> None:
        with numbers.open("rows") as stream:
            batch = take(stream)
            capsules = [batch["int32"].__dlpack__(), batch["int32"].__dlpack__(max_version=(1, 0))]
            assert not batch.release()
            del capsules[0]
            assert stream.native.n_held == 1
            capsules.clear()
            assert stream.native.n_held == 0

    def test_all_held_is_an_error(self, numbers: Leatd) -> None:
        with numbers.open("rows", window=4) as stream:
            window = stream.window
            batches = [take(stream) for _ in range(window)]
            views = [memoryview(batch["int32"]) for batch in batches]
            batches.pop(0).release()
            with pytest.raises(leat.HeldError, match=f"you hold {window} batches, and `window` allows no more. You have released 1 of them, but arrays") as caught:
                take(stream)
            assert isinstance(caught.value, BufferError)
            views.pop(0).release()
            assert take(stream).step == window

    def test_dead_cycles_are_collected(self, numbers: Leatd) -> None:
        gc.disable()
        try:
            with numbers.open("rows", window=4) as stream:
                for _ in range(stream.window):
                    cycle = [take(stream)]
                    cycle.append(cycle)  # type: ignore[arg-type]
                del cycle
                assert take(stream).step == stream.window
        finally:
            gc.enable()

    def test_a_closed_stream_leaves_its_batches(self, numbers: Leatd) -> None:
        stream = numbers.open("rows")
        batch = take(stream)
        native = batch.stream
        assert native is stream.native
        stream.close()
        assert batch["int64"].tolist() == expected("int64", 0) and native.is_closed
        del stream, native
        assert batch.stream is None and batch["int64"].tolist() == expected("int64", 0)
        view = memoryview(batch["int64"])
        del batch
        assert view.tolist() == expected("int64", 0)

    def test_weak_references(self, numbers: Leatd) -> None:
        with numbers.open("rows") as stream:
            batch = take(stream)
            reference = weakref.ref(batch)
            del batch
            assert reference() is None and stream.native.n_held == 0


class TestDlpack:
    def test_capsules(self, numbers: Leatd) -> None:
        with numbers.open("rows") as stream, take(stream) as batch:
            tensor = batch["int32"]
            assert tensor.__dlpack_device__() == CPU
            for arguments, kind in (
                ({}, "dltensor"), ({"max_version": None}, "dltensor"), ({"max_version": (0, 8)}, "dltensor"),
                ({"max_version": (1, 0)}, "dltensor_versioned"), ({"max_version": (2, 1)}, "dltensor_versioned"),
                ({"dl_device": CPU, "copy": False, "stream": None}, "dltensor"), ({"stream": -1}, "dltensor"),
            ):  # fmt: skip
                assert f'"{kind}"' in repr(tensor.__dlpack__(**arguments)), arguments

    def test_refusals(self, numbers: Leatd) -> None:
        with numbers.open("rows") as stream, take(stream) as batch:
            tensor = batch["int32"]
            for arguments, error in (
                ({"dl_device": (2, 0)}, BufferError), ({"stream": 2}, BufferError), ({"stream": "x"}, BufferError),
                ({"dl_device": 1}, TypeError), ({"max_version": 1}, TypeError), ({"max_version": (1,)}, TypeError),
                ({"other": 1}, TypeError), ({"max_version": (1 << 70, 0)}, OverflowError),
            ):  # fmt: skip
                with pytest.raises(error):
                    tensor.__dlpack__(**arguments)
            with pytest.raises(TypeError):
                tensor.__dlpack__(None)  # type: ignore[call-arg]
            assert batch.release()

    def test_copies_hold_nothing(self, numbers: Leatd) -> None:
        numpy = pytest.importorskip("numpy")
        with numbers.open("rows") as stream:
            batch = take(stream)
            try:
                array = numpy.from_dlpack(batch["int64"], copy=True)
            except TypeError:
                pytest.skip(f"numpy {numpy.__version__} cannot ask for a copy by DLPack")
            assert array.ctypes.data != batch["int64"].data_ptr and array.flags.writeable
            assert batch.release()
            array += 1
            assert array.tolist() == [n + 1 for n in expected("int64", 0)]

    def test_on_any_thread(self, numbers: Leatd) -> None:
        """Views die on threads without the GIL's order, while another thread waits in next()."""
        with numbers.open("rows", window=4) as stream:
            capsules = [take(stream)["int32"].__dlpack__() for _ in range(stream.window - 1)]
            last = take(stream)["int32"].__dlpack__()
            assert stream.native.n_held == stream.window

            def drop() -> None:
                while capsules:
                    time.sleep(0.01)
                    capsules.pop()

            thread = threading.Thread(target=drop)
            with pytest.raises(leat.HeldError):
                take(stream)
            thread.start()
            thread.join()
            assert stream.native.n_held == 1
            assert take(stream).step == stream.window
            del last


class TestWrites:
    """`wide`: ten rows of a page each, and what lies before them in the slot's first page."""

    def test_they_reach_nobody_else(self, numbers: Leatd) -> None:
        numpy = pytest.importorskip("numpy")
        with numbers.open("wide") as stream, numbers.open("wide") as other:
            batch, its = take(stream), take(other)
            before = shared(batch["wide"])
            array = numpy.from_dlpack(batch["wide"])
            writable = (ctypes.c_float * array.size).from_address(batch["wide"].data_ptr)
            for i in range(array.size):
                writable[i] = -1.0
            assert (array == -1).all() and (numpy.asarray(batch["wide"]) == -1).all()
            assert shared(batch["wide"]) == before and shared(its["wide"]) == before

    def test_they_are_gone_with_the_slot(self, numbers: Leatd) -> None:
        """Slots come again: whatever was written into them, all batches are as they are made."""
        first: dict[int, bytes] = {}
        addresses: set[int] = set()
        n_again = 0
        with numbers.open("wide", window=3) as stream:
            while n_again < 100:
                batch = take(stream)
                tensor, m = batch["wide"], batch["m"]
                n_again += tensor.data_ptr in addresses
                addresses.add(tensor.data_ptr)
                assert m.tolist() == [batch.step * 10 + i for i in range(10)]
                found = ctypes.string_at(tensor.data_ptr, tensor.nbytes)
                assert found == shared(tensor) == first.setdefault(batch.step, found)
                capsules = [tensor.__dlpack__(), m.__dlpack__(max_version=(1, 0))]
                place = 4096 * (n_again % 10) + n_again % 7
                ctypes.memset(tensor.data_ptr + place, 0xFF, min(tensor.nbytes - place, 1 + 4096 * (n_again % 3)))
                ctypes.memset(m.data_ptr, 0xFF, m.nbytes)
                del capsules

    def test_of_a_copy(self, numbers: Leatd) -> None:
        with numbers.open("wide", delivery="copy") as stream:
            for batch in stream.epochs(2):
                tensor = batch["wide"]
                with pytest.raises(ValueError, match="there is no shared memory ring"):
                    batch.ring()
                assert tensor.data_ptr == tensor.shared_ptr
                assert [row.index(1.0) for row in tensor.tolist()] == [batch.step * 10 + i for i in range(10)]
                capsule = tensor.__dlpack__()
                ctypes.memset(tensor.data_ptr, 0xFF, tensor.nbytes)
                del capsule

    def test_without_private_writes(self, numbers: Leatd) -> None:
        numpy = pytest.importorskip("numpy")
        with numbers.open("rows", private_writes=False) as stream, take(stream) as batch:
            tensor = batch["int32"]
            assert tensor.data_ptr == tensor.shared_ptr
            with pytest.raises(BufferError, match="private_writes"):
                tensor.__dlpack__()
            assert tensor.__dlpack__(copy=True)
            if numpy.lib.NumpyVersion(numpy.__version__) >= "2.1.0":  # the first with capsules that can say so
                assert not numpy.from_dlpack(tensor).flags.writeable


def test_leaks(numbers: Leatd) -> None:
    """10,000 batches with all kinds of views: no object, descriptor or slot is left, and no memory to speak of."""
    import os

    def resident_kib() -> int:
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("RssAnon"))

    def use(stream: leat.Stream, n: int) -> None:
        for batch in stream.epochs(-(-n // N_STEPS)):
            view = memoryview(batch["int64"])
            capsules = [batch["int32"].__dlpack__(), batch["float32"].__dlpack__(max_version=(1, 0), copy=True)]
            assert batch.items() and batch.values() and view[0] == batch.step * BATCH and capsules

    with numbers.open("rows") as stream:
        use(stream, 500)
        gc.collect()
        n_objects, n_fds, kib = len(gc.get_objects()), len(os.listdir("/proc/self/fd")), resident_kib()
        use(stream, 10_000)
        gc.collect()
        assert stream.native.n_held == 0
        assert len(gc.get_objects()) - n_objects < 50
        assert len(os.listdir("/proc/self/fd")) == n_fds
        assert resident_kib() - kib < 2048
