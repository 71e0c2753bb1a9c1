"""Dask's workers prepare a data set once, in shards. This program then reads its batches.

    python dask_prepare.py                           # two workers on this machine
    python dask_prepare.py tcp://scheduler:8786      # a cluster whose hosts share the file, its data and the output folder

You can use another executor in place of Dask's: concurrent.futures.ProcessPoolExecutor(),
MPIPoolExecutor() of mpi4py.futures, submitit.AutoExecutor("jobs"), or executor="ray".
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from distributed import Client, LocalCluster

import leat

FILE = Path(__file__).resolve().parents[3] / "config" / "titanic.yaml"
N_SHARDS = 4


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:  # on a cluster: a folder that all hosts share
        output = Path(folder) / "set"
        address = sys.argv[1] if sys.argv[1:] else LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
        with Client(address) as client:
            made = leat.cluster.prepare(FILE, output, shards=N_SHARDS, executor=client.get_executor())
            if not sys.argv[1:]:
                client.shutdown()
        print(f"{made.n_shards} shards of {made.n_rows} rows, {made.n_bytes} bytes")
        batches = leat.from_yaml(FILE).options(cache={"prepared": output})  # in YAML, `cache: {prepared: DIR}`
        assert sum(batch.n_rows for batch in batches) == made.n_rows


if __name__ == "__main__":
    main()
