"""Sizes of models, rows that fit, sizes as text, and what the machine has."""

from __future__ import annotations

import math
import os
import pathlib
import shutil
import subprocess
from typing import Any

import pytest

import leat
from leat.measure import nvml
from leat.measure.sizing import GB, GIB, ModelSize


@pytest.mark.parametrize(
    ("n_bytes", "decimal", "binary"),
    [
        (0, "0 B", "0 B"),
        (1, "1 B", "1 B"),
        (999, "999 B", "999 B"),
        (1000, "1.00 KB", "1000 B"),
        (1024, "1.02 KB", "1.00 KiB"),
        (1023.7 * 1024, "1.05 MB", "1.00 MiB"),
        (999_999, "1.00 MB", "977 KiB"),
        (1.5e9, "1.50 GB", "1.40 GiB"),
        (80 * GIB, "85.9 GB", "80.0 GiB"),
        (-2048, "-2.05 KB", "-2.00 KiB"),
        (10**21, "1000 EB", "867 EiB"),
    ],
)
def test_format(n_bytes: float, decimal: str, binary: str) -> None:
    assert leat.format_memory_size(n_bytes) == decimal
    assert leat.format_memory_size(n_bytes, binary=True) == binary


def test_format_reads_back_within_its_digits() -> None:
    units = {"B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
    for exponent in range(0, 120):
        n = 1.19**exponent
        for binary in (False, True):
            value, unit = leat.format_memory_size(n, binary=binary).split()
            assert float(value) * units[unit] == pytest.approx(n, rel=0.0051 if n > 100 else 0.5, abs=0.5)


@pytest.mark.parametrize("n_bytes", [math.nan, math.inf, -math.inf])
def test_format_refuses_what_is_no_number_of_bytes(n_bytes: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        leat.format_memory_size(n_bytes)


def test_model_sizes() -> None:
    size = leat.estimate_model_size(7e9, bits=16)
    assert (size.weights_gb, size.gradients_gb, size.optimizer_gb, size.total_gb) == (14, 0, 0, 14)
    assert size.total_gib == pytest.approx(14 * GB / GIB) and float(size) == 14
    for bits in (16, 32):  # 16 bytes a parameter
        assert leat.estimate_model_size(1e9, bits, True, True).total_gb == pytest.approx(16)
    small = leat.estimate_model_size(1e9, 4, include_gradients=True)
    assert (small.weights_gb, small.gradients_gb) == (0.5, 2)
    assert leat.estimate_model_size(0).total_gb == 0
    assert [line.split()[0] for line in str(size).split("\n")] == ["weights", "gradients", "optimizer", "total"]


@pytest.mark.parametrize("arguments", [{"num_parameters": -1}, {"num_parameters": math.nan}, {"num_parameters": 1, "bits": 0},
                                       {"num_parameters": 1, "bits": 65}])
def test_model_sizes_are_checked(arguments: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=list(arguments)[-1]):
        leat.estimate_model_size(**arguments)


def test_rows_by_the_formula() -> None:
    rows = leat.optimal_batch_size(10, 1000, 100, 0.5, hidden_size=1000, num_layers=10)
    assert rows == math.floor(40e9 / (34 * 1000 * 1000 * 10))
    plain = leat.optimal_batch_size(10, 1000, 100, 0.5, hidden_size=1000, num_layers=10, fused_attention=False)
    assert plain == math.floor(40e9 / (10 * (34e6 + 5 * 1000 / 64 * 1e6)))
    again = leat.optimal_batch_size(10, 1000, 100, 0.5, hidden_size=1000, num_layers=10, recompute=True)
    assert again == math.floor(40e9 / (2e6 * 10 + 34e6))


def test_rows_of_a_guessed_shape() -> None:
    bert = leat.estimate_model_size(85e6, 32, True, True)  # BERT-base without embeddings: 768 wide, 12 layers
    guessed = leat.optimal_batch_size(bert, 512, 24)
    told = leat.optimal_batch_size(bert, 512, 24, hidden_size=768, num_layers=12)
    assert guessed == pytest.approx(told, rel=0.02)


def test_rows_are_fewer_of_longer_and_larger() -> None:
    at = [leat.optimal_batch_size(2, length, 40) for length in (128, 256, 512, 1024)]
    assert at == sorted(at, reverse=True) and at[0] == pytest.approx(2 * at[1], rel=0.02)
    assert leat.optimal_batch_size(ModelSize(39, 0, 0), 512, 40, 1.0) < leat.optimal_batch_size(2, 512, 40, 1.0)
    assert leat.optimal_batch_size(50, 512, 40) == 0


SIZES = ["model_size_gb", "sequence_length", "available_memory_gb", "safety_factor", "bytes_per_parameter"]


@pytest.mark.parametrize("name", SIZES)
@pytest.mark.parametrize("value", [0, -1, math.nan])
def test_rows_are_checked(name: str, value: float) -> None:
    arguments: dict[str, Any] = {"model_size_gb": 1, "sequence_length": 10, "available_memory_gb": 10, name: value}
    with pytest.raises(ValueError, match=name):
        leat.optimal_batch_size(**arguments)
    with pytest.raises(ValueError, match="safety_factor"):
        leat.optimal_batch_size(1, 10, 10, 1.01)


def test_device_info() -> None:
    info = leat.device_info()
    assert 0 < info.n_cpus <= (os.cpu_count() or 1) and 0 < info.memory_available <= info.memory_total
    assert "CPUs to use" in str(info) and "GiB" in str(info)


FAKE_NVML = """
#include <string.h>
struct memory { unsigned long long total, free, used; };
int nvmlInit_v2(void) { return FAILS; }
int nvmlShutdown(void) { return 0; }
int nvmlDeviceGetCount_v2(unsigned *n) { *n = 3; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **device) { *device = (void *)(size_t)(i + 1); return i == 1; }
int nvmlDeviceGetName(void *device, char *name, unsigned size) { strncpy(name, device ? "GPU X" : "", size); return 0; }
int nvmlDeviceGetMemoryInfo(void *device, struct memory *memory) {
    memory->total = (size_t)device << 33;
    memory->free = 1ull << 33;
    return 0;
}
"""


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler for a library that answers as NVIDIA's")
def test_accelerators(tmp_path: pathlib.Path) -> None:
    for fails in (0, 1):
        library = tmp_path / f"libfake{fails}.so"
        command = ["cc", "-shared", "-fPIC", f"-DFAILS={fails}", "-x", "c", "-", "-o", str(library)]
        subprocess.run(command, input=FAKE_NVML, text=True, check=True)
        found = nvml.accelerators(str(library))
        expected = [nvml.Accelerator(i, "GPU X", (i + 1) << 33, 1 << 33) for i in (0, 2)]
        assert list(found) == ([] if fails else expected)
    assert nvml.accelerators("libno-such-library.so") == () and nvml.accelerators("libc.so.6") == ()
