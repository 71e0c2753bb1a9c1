"""transformers.Trainer in two processes: a new BERT predicts who survived the Titanic.

    python trainer.py
    torchrun --nproc-per-node 2 trainer.py                # does the same

`leat.TorchDataset` is an IterableDataset. Here it yields single rows. Trainer's DataLoader makes
batches of these rows, and Accelerate divides the batches among the processes. leat knows how
Accelerate divides them, so no row comes twice. The program checks this.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import transformers
from torch.distributed.run import main as torchrun

import leat

CONFIG = Path(__file__).resolve().parents[3] / "config"
TOKENIZER = CONFIG / "sentences"
N_PROCESSES = 2
N_EPOCHS = 4


def passengers() -> leat.Pipeline:
    """The batches: input_ids and attention_mask int32 [32, 48], labels and passenger (the
    passenger's number) int64 [32]."""
    return (
        leat.csv(CONFIG / "titanic.csv")
        .cast("PassengerId", "passenger", dtype="int64")
        .cast("Survived", "labels", dtype="int64")
        .template(["Class {Pclass}, {Sex}", "aged {Age}"], join=", ")
        .tokenize(TOKENIZER, max_length=48)
        .pad(48)
        .shuffle(1000, seed=42)
        .batch(32)
        .prefetch(4)
    )


class Classifier(transformers.BertForSequenceClassification):
    """Records the numbers of all passengers that pass through the model."""

    def __init__(self, config: transformers.BertConfig) -> None:
        super().__init__(config)
        self.seen: list[torch.Tensor] = []

    # Trainer passes the tensors that forward() names, so its arguments have the names of the pipeline's tensors.
    def forward(self, input_ids: Any, attention_mask: Any, labels: Any, passenger: Any) -> Any:
        self.seen.append(passenger)
        return super().forward(input_ids, attention_mask, labels=labels)


def make_model() -> Classifier:
    config = transformers.BertConfig(
        vocab_size=len(leat.Tokenizer.from_file(TOKENIZER)),
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=48,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    return Classifier(config)


def gather(tensor: torch.Tensor) -> list[torch.Tensor]:
    """Returns the tensors of all ranks."""
    every = [torch.empty_like(tensor) for _ in range(dist.get_world_size())]
    dist.all_gather(every, tensor)
    return every


def check(model: Classifier) -> None:
    """Checks that no passenger came twice in an epoch, on the same rank or on another. Also checks
    that all ranks have the same weights."""
    for epoch, seen in enumerate(torch.cat(model.seen).chunk(N_EPOCHS)):
        rows = torch.cat(gather(seen))
        assert len(rows.unique()) == len(rows), "a row came twice"
        if dist.get_rank() == 0:
            print(f"epoch {epoch}: rank 0 got {len(seen)} of {len(rows)} passengers")
    weights = gather(torch.nn.utils.parameters_to_vector(model.parameters()).detach())
    assert all(torch.equal(weights[0], other) for other in weights), "the ranks have different weights"


def main(folder: str) -> None:
    transformers.set_seed(0)
    trainer = transformers.Trainer(
        model=make_model(),
        args=transformers.TrainingArguments(
            output_dir=folder,
            use_cpu=True,
            num_train_epochs=N_EPOCHS,
            per_device_train_batch_size=16,
            learning_rate=5e-3,
            lr_scheduler_type="constant",
            logging_strategy="epoch",
            save_strategy="no",
            ddp_find_unused_parameters=False,
            report_to=[],
            disable_tqdm=True,
        ),
        train_dataset=leat.TorchDataset(passengers(), rows=True),
    )
    trainer.train()
    losses = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
    assert losses[-1] < 0.9 * losses[0], losses
    check(trainer.model)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # the model is small
    if "RANK" in os.environ:
        with tempfile.TemporaryDirectory() as folder:
            main(folder)
    else:  # not started by a launcher
        torchrun(["--standalone", f"--nproc-per-node={N_PROCESSES}", __file__])
