"""Data-parallel training in MLX: two ranks average their gradients over MLX's ring.

    python mlx_distributed.py
    mlx.launch -n 2 mlx_distributed.py                # does the same

MLX and leat both read the rank from the environment variables that mlx.launch sets. Each process
gets its own share of the steps, and all shares have the same size. The program checks that no row
comes twice.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import mlx.core as mx
import mlx.nn as nn
import mlx.optimizers as optim
from mlx.utils import tree_flatten

import leat

CONFIG = Path(__file__).resolve().parents[3] / "config"
N_PROCESSES = 2
N_EPOCHS = 8


def passengers() -> leat.Pipeline:
    """This rank's batches: input_ids and attention_mask int32 [32, 64], labels and passenger (the
    passenger's number) int32 [32]."""
    return (
        leat.csv(CONFIG / "titanic.csv")
        .cast("PassengerId", "passenger", dtype="int32")
        .cast("Survived", "labels", dtype="int32")
        .template(["Class {Pclass}, {Sex}", "aged {Age}", "with {SibSp} and {Parch} of the family"], join=", ")
        .tokenize(CONFIG / "sentences", max_length=64)
        .pad(64)
        .shuffle(1000, seed=42)
        .batch(32, drop_last=True)  # gradients of as many rows on all ranks
        .prefetch(4)
    )


class Classifier(nn.Module):
    """Averages the embeddings, and applies one linear layer."""

    def __init__(self, n_tokens: int, n_classes: int = 2, width: int = 32) -> None:
        super().__init__()
        self.embedding = nn.Embedding(n_tokens, width)
        self.head = nn.Linear(width, n_classes)

    def __call__(self, input_ids: mx.array, attention_mask: mx.array) -> mx.array:
        mask = attention_mask[..., None]
        return self.head((self.embedding(input_ids) * mask).sum(1) / mask.sum(1))


def loss_of(model: Classifier, batch: dict[str, mx.array]) -> mx.array:
    logits = model(batch["input_ids"], batch["attention_mask"])
    return nn.losses.cross_entropy(logits, batch["labels"], reduction="mean")


def check_disjoint(seen: mx.array, world: mx.distributed.Group) -> None:
    """Checks that no passenger came to two ranks, or twice to one rank."""
    rows = mx.distributed.all_gather(seen).tolist()
    assert len(set(rows)) == len(rows) == len(seen) * world.size(), "a row came twice"


def check_equal(model: nn.Module, world: mx.distributed.Group) -> None:
    """Checks that all ranks have the same weights."""
    weights = mx.concatenate([weight.flatten() for _, weight in tree_flatten(model.parameters())])
    every = mx.distributed.all_gather(weights[None])
    assert every.shape[0] == world.size() and bool((every == every[:1]).all()), "the ranks have different weights"


def train(world: mx.distributed.Group) -> None:
    mx.random.seed(0)  # the same in all processes: they begin with equal weights
    model = Classifier(n_tokens=len(leat.Tokenizer.from_file(CONFIG / "sentences")))
    optimizer = optim.Adam(learning_rate=1e-2)
    step = nn.value_and_grad(model, loss_of)
    batches = passengers()
    losses = []
    for epoch in range(N_EPOCHS):
        of_epoch, seen = [], []
        for batch in batches.to("mlx"):
            loss, gradients = step(model, batch)
            optimizer.update(model, nn.utils.average_gradients(gradients))
            mx.eval(model.parameters(), optimizer.state)
            of_epoch.append(loss)
            seen.append(batch["passenger"])
        losses.append((mx.distributed.all_sum(mx.stack(of_epoch).mean()) / world.size()).item())
        check_disjoint(mx.concatenate(seen), world)
        if world.rank() == 0:
            print(f"epoch {epoch}: loss {losses[-1]:.4f} in {len(of_epoch)} batches of each of {world.size()} ranks")
    check_equal(model, world)
    assert losses[-1] < 0.9 * losses[0], losses


def launch() -> int:
    """Starts this program once for each rank. mlx.launch does the same, but does not report a
    failed rank."""
    port = 20000 + os.getpid() % 5000 * N_PROCESSES  # and those behind it: another run takes others
    with tempfile.NamedTemporaryFile("w", suffix=".json") as hosts:
        json.dump([[f"127.0.0.1:{port + rank}"] for rank in range(N_PROCESSES)], hosts)
        hosts.flush()
        common = {**os.environ, "MLX_HOSTFILE": hosts.name}
        command = [sys.executable, __file__]
        ranks = [subprocess.Popen(command, env={**common, "MLX_RANK": str(rank)}) for rank in range(N_PROCESSES)]
        return max(abs(rank.wait()) for rank in ranks)


if __name__ == "__main__":
    if "MLX_RANK" in os.environ:
        train(mx.distributed.init(strict=True))
    else:  # not started by a launcher
        sys.exit(launch())
