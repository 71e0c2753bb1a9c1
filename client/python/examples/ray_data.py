"""Ray prepares a data set once, and Ray Data then reads epochs from it. Each task reads a range of
steps. If Ray repeats a task on another node, the task returns the same rows.

    python ray_data.py                              # on this machine
    RAY_ADDRESS=auto python ray_data.py             # on a cluster whose nodes share the file, its data and the output folder
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import ray
import ray.data
import torch
from torch import nn

import leat
import leat.ray

FILE = Path(__file__).resolve().parents[3] / "config" / "titanic.yaml"
N_SHARDS = 4
N_EPOCHS = 3


def main() -> None:
    ray.init()
    ray.data.DataContext.get_current().execution_options.preserve_order = True  # the order of the stream
    with tempfile.TemporaryDirectory() as folder:  # on a cluster: a folder that all nodes share
        output = Path(folder) / "set"
        leat.cluster.prepare(FILE, output, shards=N_SHARDS, executor="ray")
        batches = leat.from_yaml(FILE).options(cache={"prepared": output})  # in YAML, `cache: {prepared: DIR}`
        torch.manual_seed(0)
        model = nn.Sequential(nn.EmbeddingBag(3000, 16, padding_idx=0), nn.Linear(16, 2))
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        for epoch in range(N_EPOCHS):
            losses = []
            rows = leat.ray.dataset(batches, epoch=epoch, steps_per_task=10)
            for batch in rows.iter_torch_batches(batch_size=32):
                loss = nn.functional.cross_entropy(model(batch["input_ids"]), batch["labels"])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
            print(f"epoch {epoch}: {len(losses)} batches, loss {sum(losses) / len(losses):.2f}")
    ray.shutdown()


if __name__ == "__main__":
    main()
