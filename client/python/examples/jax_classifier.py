"""Predicts from texts who survived the Titanic: a classifier in JAX, on a CSV file.

    python jax_classifier.py

`leat.dataloader` takes your data (a data frame, a data set, a list of dicts, or paths) and a
Hugging Face tokenizer. leat caches the token ids in ~/.cache/leat, so a second run does not
tokenize again. All batches have the same shape, so `jit` compiles only once.
"""

from __future__ import annotations

from pathlib import Path

import jax
import jax.numpy as jnp

import leat

CONFIG = Path(__file__).resolve().parents[3] / "config"
TOKENIZER = CONFIG / "sentences"
N_EPOCHS = 10
LEARNING_RATE = 2.0

Weights = dict[str, jax.Array]
Batch = dict[str, jax.Array]


def make_weights(key: jax.Array, n_tokens: int, n_classes: int = 2, width: int = 32) -> Weights:
    embedding, head = jax.random.split(key)
    return {
        "embedding": jax.random.normal(embedding, (n_tokens, width)),
        "head": jax.random.normal(head, (width, n_classes)) / width**0.5,
        "bias": jnp.zeros(n_classes),
    }


def loss_of(weights: Weights, batch: Batch) -> jax.Array:
    """The mean loss of a classifier that averages the embeddings and applies one linear layer."""
    mask = batch["attention_mask"][..., None]
    mean = (weights["embedding"][batch["input_ids"]] * mask).sum(1) / mask.sum(1)
    likelihood = jax.nn.log_softmax(mean @ weights["head"] + weights["bias"])
    return -jnp.take_along_axis(likelihood, batch["labels"][:, None], axis=1).mean()


@jax.jit
def step(weights: Weights, batch: Batch) -> tuple[Weights, jax.Array]:
    """Takes one gradient step. Returns the new weights, and the loss before the step."""
    loss, gradients = jax.value_and_grad(loss_of)(weights, batch)
    return jax.tree.map(lambda weight, gradient: weight - LEARNING_RATE * gradient, weights, gradients), loss


def main() -> None:
    batches = leat.dataloader(
        CONFIG / "titanic.csv",
        TOKENIZER,
        text="Class {Pclass}, {Sex}, aged {Age}: {Name}",
        labels="Survived",
        batch_size=32,
        max_length=64,
        padding="max_length",
        shuffle=True,
        seed=42,
        drop_last=True,
        framework="jax",
    )
    n_tokens = len(leat.Tokenizer.from_file(TOKENIZER))
    weights = make_weights(jax.random.key(0), n_tokens)
    losses = []
    with leat.memory_profile() as profile:
        for epoch in range(N_EPOCHS):
            of_epoch = []
            for batch in batches:  # one epoch of dicts of jax.Array
                weights, loss = step(weights, batch)
                of_epoch.append(loss)
            losses.append(float(jnp.stack(of_epoch).mean()))
            print(f"epoch {epoch}: loss {losses[-1]:.4f} in {len(of_epoch)} batches")
    print(profile.summary())
    assert losses[-1] < 0.9 * losses[0], losses


if __name__ == "__main__":
    main()
