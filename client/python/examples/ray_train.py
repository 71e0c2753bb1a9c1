"""Ray Train: leat gets the ranks from Ray. Checkpoints contain the model and the data position.

    python ray_train.py                             # two workers on this machine
    RAY_ADDRESS=auto python ray_train.py            # on a cluster whose nodes share the data and STORAGE

If a worker or its node is lost, Ray starts all workers again. They continue with the batch after
the last checkpoint, even if there are fewer workers.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import ray
import ray.train
import torch
from ray.train.torch import TorchTrainer, prepare_model
from torch import nn

import leat

FILE = Path(__file__).resolve().parents[3] / "config" / "titanic.yaml"
STORAGE = os.environ.get("STORAGE")  # where checkpoints go; on a cluster all nodes share it
N_EPOCHS = 3
SAVE_EVERY = 10  # batches of a rank


def train() -> None:
    """Trains the model. Ray runs this function in each worker."""
    torch.manual_seed(0)
    model = prepare_model(nn.Sequential(nn.EmbeddingBag(3000, 16, padding_idx=0), nn.Linear(16, 2)))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    batches = leat.from_yaml(FILE)
    checkpoint = ray.train.get_checkpoint()
    if checkpoint is not None:
        with checkpoint.as_directory() as folder:
            saved = torch.load(Path(folder) / "state.pt", weights_only=True)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        batches.load_state_dict(saved["data"])
    losses = []
    while batches.stream.epoch < N_EPOCHS:
        epoch = batches.stream.epoch
        for batch in batches:
            tensors = batch.to("torch")
            loss = nn.functional.cross_entropy(model(tensors["input_ids"]), tensors["labels"])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            if len(losses) == SAVE_EVERY:
                save(model, optimizer, batches, {"epoch": epoch, "loss": sum(losses) / len(losses)})
                losses.clear()


def save(model: nn.Module, optimizer: torch.optim.Optimizer, batches: leat.Pipeline, metrics: dict[str, float]) -> None:
    """All ranks must call this function, because state_dict() compares their positions. Only rank 0
    saves the checkpoint."""
    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "data": batches.state_dict()}
    is_first = ray.train.get_context().get_world_rank() == 0
    with tempfile.TemporaryDirectory() as folder:
        torch.save(state, Path(folder) / "state.pt")
        ray.train.report(metrics, checkpoint=ray.train.Checkpoint.from_directory(folder) if is_first else None)
    if is_first:
        print(f"epoch {metrics['epoch']}: loss {metrics['loss']:.2f}, saved at {state['data']['position']}")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        trainer = TorchTrainer(
            train,
            scaling_config=ray.train.ScalingConfig(num_workers=2),
            run_config=ray.train.RunConfig(
                name="titanic",
                storage_path=STORAGE or folder,
                failure_config=ray.train.FailureConfig(max_failures=3),
            ),
        )
        result = trainer.fit()
        print(f"the last loss {result.metrics['loss']:.2f}")
    ray.shutdown()


if __name__ == "__main__":
    main()
