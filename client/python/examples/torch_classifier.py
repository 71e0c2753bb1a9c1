"""Predicts from texts who survived the Titanic: a classifier in PyTorch.

    python torch_classifier.py

leat turns each row of the CSV file into a text, such as "Passenger class: 3 Name: .. Sex: male ..",
and tokenizes this text. This happens in a daemon, which starts with the first batch and ends with
this process. The model averages the embeddings and applies one linear layer. It trains in a few
seconds on a CPU.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import torch
from torch import nn

import leat

CONFIG = Path(__file__).resolve().parents[3] / "config"
MAX_LENGTH = 64
N_EPOCHS = 10


def passengers(part: Literal["train", "validation"]) -> leat.Pipeline:
    """The batches of the training or validation rows: input_ids and attention_mask int32 [32, 64],
    labels int64 [32]."""
    return (
        leat.csv(CONFIG / "titanic.csv")
        # If the age of a passenger is unknown, the text contains no "Age: ".
        .template(["Passenger class: {Pclass}", "Name: {Name}", "Sex: {Sex}", "Age: {Age}", "Port: {Embarked}"])
        # The vocabulary has one token on each line. For the tokenizer of a model, use .tokenize("path/to/model").
        .tokenize(vocab=CONFIG / "titanic.vocab.txt", unknown="skip", max_length=MAX_LENGTH)
        .pad(MAX_LENGTH, value=0)
        .cast("Survived", "labels", dtype="int64")
        .split(part=part, input="PassengerId", train=0.8, validation=0.2)
        .shuffle(1000, seed=42)
        .batch(32)
        .prefetch(4)
    )


class Classifier(nn.Module):
    def __init__(self, n_tokens: int, n_classes: int = 2, width: int = 32) -> None:
        super().__init__()
        self.embedding = nn.Embedding(n_tokens, width)
        self.head = nn.Linear(width, n_classes)

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        mask = attention_mask[..., None]
        mean = (self.embedding(input_ids) * mask).sum(1) / mask.sum(1)
        return self.head(mean)


def accuracy(model: nn.Module, batches: leat.Pipeline) -> float:
    n_right = n_rows = 0
    with torch.no_grad():
        for batch in batches.to("torch"):
            guess = model(batch["input_ids"], batch["attention_mask"]).argmax(1)
            n_right += int((guess == batch["labels"]).sum())
            n_rows += len(guess)
    return n_right / n_rows


def train_epoch(model: nn.Module, optimizer: torch.optim.Optimizer, batches: Any) -> float:
    """Trains for one epoch, and returns the mean loss of the batches."""
    losses = []
    for batch in batches:  # one epoch; the next loop is the next epoch, in a new order
        logits = model(batch["input_ids"], batch["attention_mask"])
        loss = nn.functional.cross_entropy(logits, batch["labels"])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return sum(losses) / len(losses)


def main() -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)  # the model is small
    n_tokens = len((CONFIG / "titanic.vocab.txt").read_text().splitlines())
    model = Classifier(n_tokens)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    train, validation = passengers("train"), passengers("validation")
    for name, (dtype, shape) in train.stream.schema.items():
        print(f"{name}: {dtype} {shape}")  # -1, because the last batch of an epoch may be smaller
    batches = leat.Monitor(train.to("torch"), name="training")  # measures speed and waiting
    losses = [train_epoch(model, optimizer, batches) for _ in range(N_EPOCHS)]
    for epoch, loss in enumerate(losses):
        print(f"epoch {epoch}: loss {loss:.4f}")
    print(batches.summary())
    right = accuracy(model, validation)
    print(f"{right:.1%} of the validation passengers predicted correctly")
    assert losses[-1] < 0.9 * losses[0], losses
    assert right > 0.65, right  # a model that always predicts death is right for 59 %


if __name__ == "__main__":
    main()
