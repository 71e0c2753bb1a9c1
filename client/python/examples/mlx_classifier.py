"""Predicts from texts who survived the Titanic: a classifier in MLX, on a stream from a YAML file.

    python mlx_classifier.py

`config/titanic.yaml` is a configuration file of the daemon leatd. If a daemon with this file is
running, `leat.open("titanic")` connects to this daemon. This program instead reads the file as a
pipeline, so you need not start a daemon. Both ways give the same batches.
"""

from __future__ import annotations

from pathlib import Path

import mlx.core as mx
import mlx.nn as nn
import mlx.optimizers as optim

import leat

CONFIG = Path(__file__).resolve().parents[3] / "config"
N_EPOCHS = 10


class Classifier(nn.Module):
    """Averages the embeddings, and applies one linear layer."""

    def __init__(self, n_tokens: int, n_classes: int = 2, width: int = 32) -> None:
        super().__init__()
        self.embedding = nn.Embedding(n_tokens, width)
        self.head = nn.Linear(width, n_classes)

    def __call__(self, input_ids: mx.array, attention_mask: mx.array) -> mx.array:
        mask = attention_mask[..., None]
        mean = (self.embedding(input_ids) * mask).sum(1) / mask.sum(1)
        return self.head(mean)


def loss_of(model: Classifier, batch: dict[str, mx.array]) -> tuple[mx.array, mx.array]:
    """The mean loss of the batch, and the number of rows that the model predicts correctly."""
    logits = model(batch["input_ids"], batch["attention_mask"])
    n_right = (logits.argmax(1) == batch["labels"]).sum()
    return nn.losses.cross_entropy(logits, batch["labels"], reduction="mean"), n_right


def main() -> None:
    mx.random.seed(0)
    titanic = leat.from_yaml(CONFIG / "titanic.yaml", "titanic")
    model = Classifier(n_tokens=len((CONFIG / "titanic.vocab.txt").read_text().splitlines()))
    optimizer = optim.Adam(learning_rate=5e-3)
    step = nn.value_and_grad(model, loss_of)
    losses = []
    for epoch in range(N_EPOCHS):
        total, n_right, n_rows = 0.0, 0, 0
        for batch in titanic.to("mlx"):  # dicts of arrays; each `for` loop is an epoch with a new order
            (loss, right), gradients = step(model, batch)
            optimizer.update(model, gradients)
            mx.eval(model.parameters(), optimizer.state)
            n = len(batch["labels"])
            total, n_right, n_rows = total + loss.item() * n, n_right + right.item(), n_rows + n
        losses.append(total / n_rows)
        print(f"epoch {epoch}: loss {losses[-1]:.4f}, {n_right / n_rows:.1%} of {n_rows} passengers predicted correctly")
    assert losses[-1] < 0.9 * losses[0], losses


if __name__ == "__main__":
    main()
