"""Data-parallel training with plain PyTorch: two processes average their gradients with
torch.distributed and gloo.

    python torch_distributed.py
    torchrun --nproc-per-node 2 torch_distributed.py      # does the same

leat gets the rank from torch.distributed. Each process gets its own share of the steps, and all
shares have the same size. You need no sampler and no DataLoader. The program checks that no row
comes twice.
"""

from __future__ import annotations

import os
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.run import main as torchrun

import leat

CONFIG = Path(__file__).resolve().parents[3] / "config"
N_PROCESSES = 2
N_EPOCHS = 5


def passengers() -> leat.Pipeline:
    """This rank's batches: features float32 [32, 6], labels and passenger (the passenger's number)
    int64 [32]."""
    return (
        leat.csv(CONFIG / "titanic.csv")
        .cast("PassengerId", "passenger", dtype="int64")
        .cast("Survived", "labels", dtype="int64")
        .cast("Sex", dtype="float32", map={"male": 0, "female": 1})
        .cast("Age", dtype="float32", default=29.7)  # the mean, for passengers of unknown age
        .cast("Pclass", dtype="float32")
        .cast("SibSp", dtype="float32")
        .cast("Parch", dtype="float32")
        .cast("Fare", dtype="float32")
        .normalize("Age", mean=29.7, std=14.5)
        .log1p("Fare")
        .stack(["Pclass", "Sex", "Age", "SibSp", "Parch", "Fare"], output="features")
        .select(["features", "labels", "passenger"])
        .shuffle(1000, seed=42)
        .batch(32, drop_last=True)  # all ranks average gradients of equally many rows
        .prefetch(4)
    )


def average_gradients(model: nn.Module) -> None:
    for weights in model.parameters():
        dist.all_reduce(weights.grad, dist.ReduceOp.SUM)
        weights.grad /= dist.get_world_size()


def gather(tensor: torch.Tensor) -> list[torch.Tensor]:
    """Returns the tensors of all ranks."""
    every = [torch.empty_like(tensor) for _ in range(dist.get_world_size())]
    dist.all_gather(every, tensor)
    return every


def train_epoch(
    model: nn.Module, optimizer: torch.optim.Optimizer, batches: leat.Pipeline
) -> tuple[float, torch.Tensor]:
    """Trains for one epoch. Returns the mean loss over all ranks, and this rank's passengers."""
    losses, seen = [], []
    for batch in batches.to("torch"):
        loss = nn.functional.cross_entropy(model(batch["features"]), batch["labels"])
        optimizer.zero_grad()
        loss.backward()
        average_gradients(model)
        optimizer.step()
        losses.append(loss.detach())
        seen.append(batch["passenger"])
    return torch.stack(gather(torch.stack(losses))).mean().item(), torch.cat(seen)


def main() -> None:
    dist.init_process_group("gloo")
    torch.manual_seed(0)  # the same seed in all processes, so they begin with equal weights
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    batches = passengers()
    losses = []
    for epoch in range(N_EPOCHS):
        loss, seen = train_epoch(model, optimizer, batches)
        losses.append(loss)
        rows = torch.cat(gather(seen))
        assert len(rows.unique()) == len(rows), "a row came twice"
        if dist.get_rank() == 0:
            print(f"epoch {epoch}: loss {loss:.4f}; rank 0 got {len(seen)} of {len(rows)} passengers")
    weights = gather(nn.utils.parameters_to_vector(model.parameters()).detach())
    assert all(torch.equal(weights[0], other) for other in weights), "the ranks have different weights"
    assert losses[-1] < 0.9 * losses[0], losses
    dist.destroy_process_group()


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # the model is small
    if "RANK" in os.environ:
        main()
    else:  # not started by a launcher
        torchrun(["--standalone", f"--nproc-per-node={N_PROCESSES}", __file__])
