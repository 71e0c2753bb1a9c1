"""Instruction tuning: trains a small Llama from scratch. Only the answers count in the loss.

    python instruction_tuning.py

`leat.instructions` reads records with instruction, input and output (or prompt and completion, or
chats). It writes the prompts, and sets the labels to -100 everywhere except on the answers. At the
end, the program gives the model the same prompts, and checks its answers.
"""

from __future__ import annotations

import json
from pathlib import Path

import torch
import transformers

import leat

CONFIG = Path(__file__).resolve().parents[3] / "config"
TASKS = CONFIG / "tasks.jsonl"  # only four tasks, which the model learns by heart
# The space belongs to the answer, because most tokenizers make one token from a space and the word after it.
PROMPT, RESPONSE = "Q: {instruction} {input}\nA:", " {output}"
N_EPOCHS = 60


def make_model(tokenizer: leat.Tokenizer) -> transformers.LlamaForCausalLM:
    config = transformers.LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=128,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    return transformers.LlamaForCausalLM(config)


def show(batch: dict[str, torch.Tensor], tokenizer: leat.Tokenizer) -> None:
    """Prints which tokens of the first row count in the loss, and which do not."""
    ids, labels = batch["input_ids"][0], batch["labels"][0]
    print("no loss on", repr(tokenizer.decode(ids[(labels == -100) & (batch["attention_mask"][0] == 1)])))
    print("loss on   ", repr(tokenizer.decode(ids[labels != -100])))


def answer(model: transformers.LlamaForCausalLM, tokenizer: leat.Tokenizer, task: dict[str, str]) -> str:
    """Returns the model's answer to the task, up to the end-of-sequence token."""
    prompt = tokenizer([PROMPT.format(**task)], return_tensors="pt")
    said = model.generate(**prompt, max_new_tokens=40, do_sample=False)
    return tokenizer.decode(said[0, prompt.input_ids.shape[1] :], skip_special_tokens=True).strip()


def main() -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)  # the model is small
    tokenizer = leat.Tokenizer.from_pretrained(CONFIG / "chat")
    model = make_model(tokenizer)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    batches = leat.instructions(
        TASKS, tokenizer, prompt=PROMPT, response=RESPONSE, max_length=128, batch_size=4, shuffle=True, seed=42
    )
    losses = []
    for epoch in range(N_EPOCHS):
        for batch in batches.to("torch"):
            if epoch == 0:
                show(batch, tokenizer)
            loss = model(**batch).loss  # only over the labels that are not -100
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        if epoch % 10 == 0 or epoch == N_EPOCHS - 1:
            print(f"epoch {epoch}: loss {losses[-1]:.4f}")
    assert losses[-1] < 0.1 * losses[0], losses

    model.eval()
    for task in map(json.loads, TASKS.read_text().splitlines()):
        said = answer(model, tokenizer, task)
        print(task["instruction"], task["input"], "->", said)
        assert said == task["output"], (said, task)


if __name__ == "__main__":
    main()
