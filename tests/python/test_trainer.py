"""TorchDataset under transformers.Trainer with two processes: what the model is given, epoch by epoch."""

from __future__ import annotations

import importlib.util
import json
import pathlib
import sys
from typing import Any

import pytest

import forks

MODULES = ["torch", "accelerate", "transformers.trainer"]
for module in ("torch", "accelerate", "transformers"):
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"needs {module}", allow_module_level=True)

N_ROWS = 167  # of batches of 8: 21 steps, the last with 7 rows
BATCH = 8
N_EPOCHS = 2


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    folder = tmp_path_factory.mktemp("trainer")
    (folder / "rows.csv").write_text("number,label\n" + "".join(f"{i},{i % 2}\n" for i in range(N_ROWS)))
    outputs = forks.run(2, folder / "outputs", forks.TORCHRUN, MODULES, __file__, str(folder), environment=forks.of_torchrun(2))
    return [json.loads(output.splitlines()[-1]) for output in outputs]


def expect_once(told: list[dict[str, Any]], case: str, rest: int, n_epochs: int = N_EPOCHS) -> None:
    """Each epoch's rows once, in the two processes together, which saw as many batches each."""
    batches = [process[case] for process in told]
    assert len(batches[0]) == len(batches[1]) and len(batches[0]) % n_epochs == 0
    n_each = len(batches[0]) // n_epochs
    for epoch in range(n_epochs):
        rows = [row for process in batches for batch in process[epoch * n_each : (epoch + 1) * n_each] for row in batch]
        assert len(rows) == len(set(rows)), f"a row came twice in epoch {epoch}"
        assert N_ROWS - len(rows) <= rest, f"{N_ROWS - len(rows)} rows are missing in epoch {epoch}"


@pytest.mark.parametrize("case", ["rows", "rows, workers"])
def test_rows_that_the_trainer_batches(told: list[dict[str, Any]], case: str) -> None:
    expect_once(told, case, 1)
    assert all(len(batch) == 4 for process in told for batch in process[case][:20])


def test_whole_batches(told: list[dict[str, Any]]) -> None:
    """21 steps: the last has no other for the second process, so it is left out."""
    expect_once(told, "whole", BATCH)


def test_shards(told: list[dict[str, Any]]) -> None:
    expect_once(told, "sharded", BATCH - 1)


def test_each_row_is_evaluated_once(told: list[dict[str, Any]]) -> None:
    expect_once(told, "evaluated", 1, n_epochs=1)


def test_a_checkpoint_goes_on_with_the_next_batch(told: list[dict[str, Any]]) -> None:
    for process in told:
        assert process["first"] + process["second"] == process["uninterrupted"]


def test_whole_batches_by_mistake_are_told(told: list[dict[str, Any]]) -> None:
    for process in told:
        assert "per_device_train_batch_size=1 with data_collator" in process["mistake"]


# ---- what the two processes run


def make_model() -> Any:
    import torch

    class Model(torch.nn.Module):
        """Keeps what it is given."""

        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(1, 2)
            self.seen: list[list[int]] = []

        def forward(self, number: Any, labels: Any) -> dict[str, Any]:
            self.seen.append(number.tolist())
            logits = self.layer(number[:, None].float() / N_ROWS)
            return {"loss": torch.nn.functional.cross_entropy(logits, labels), "logits": logits}

    return Model()


def make_trainer(dataset: Any, folder: str, **options: Any) -> Any:
    import transformers

    collator = options.pop("data_collator", None)
    arguments = {
        "output_dir": f"{folder}/out",
        "use_cpu": True,
        "num_train_epochs": N_EPOCHS,
        "per_device_train_batch_size": 4,
        "per_device_eval_batch_size": 4,
        "report_to": [],
        "save_strategy": "no",
        "disable_tqdm": True,
        "logging_strategy": "no",
    }
    return transformers.Trainer(
        model=make_model(),
        args=transformers.TrainingArguments(**{**arguments, **options}),
        train_dataset=dataset,
        eval_dataset=dataset,
        data_collator=collator,
    )


def train(dataset: Any, folder: str, resume: str | None = None, **options: Any) -> list[list[int]]:
    trainer = make_trainer(dataset, folder, **options)
    trainer.train(resume_from_checkpoint=resume)
    seen: list[list[int]] = trainer.model.seen
    return seen


def mistake(batches: Any, folder: str) -> str:
    import leat

    try:
        train(leat.TorchDataset(batches), folder)
    except leat.SpecError as error:
        return str(error)
    return "no refusal"


def main(folder: str) -> None:
    import leat
    from leat.torch_data import whole_batches

    rows = leat.csv(f"{folder}/rows.csv").cast("number", dtype="int32").cast("label", "labels", dtype="int64")
    batches = rows.shuffle(50, seed=1).batch(BATCH).options(index=f"{folder}/index")
    with batches.open(world_size=1, epochs=1) as stream:  # from now on the number of steps is known
        assert sum(batch.n_rows for batch in stream) == N_ROWS

    def dataset(**options: Any) -> Any:
        return leat.TorchDataset(batches, **options)

    told: dict[str, Any] = {"rows": train(dataset(rows=True), folder)}
    told["rows, workers"] = train(dataset(rows=True), folder, dataloader_num_workers=2)
    told["whole"] = train(dataset(), folder, per_device_train_batch_size=1, data_collator=whole_batches)
    told["sharded"] = train(dataset(rows=True), folder, accelerator_config={"dispatch_batches": False})
    trainer = make_trainer(dataset(rows=True), folder)
    trainer.evaluate()
    told["evaluated"] = trainer.model.seen
    told["uninterrupted"] = told["rows"][:12]
    told["first"] = train(dataset(rows=True), folder, max_steps=6, save_strategy="steps", save_steps=6)
    told["second"] = train(dataset(rows=True), folder, f"{folder}/out/checkpoint-6", max_steps=12)
    told["mistake"] = mistake(batches, folder)
    print(json.dumps(told))


if __name__ == "__main__":
    main(sys.argv[1])
