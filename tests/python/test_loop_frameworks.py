"""Lightning, ignite, Accelerate and Trainer over the objects that leat gives to be iterated: every epoch has all rows once, also
where a validation, a limit or a check stands between."""

from __future__ import annotations

import gc
import logging
import pathlib
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import leat

torch = pytest.importorskip("torch")
N_ROWS, BATCH = 36, 4
N_BATCHES = N_ROWS // BATCH
N_EPOCHS = 4
Rows = list[int]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    path = tmp_path_factory.mktemp("frameworks") / "rows.csv"
    path.write_text("id\n" + "".join(f"{i}\n" for i in range(N_ROWS)))
    return path


def batches(path: pathlib.Path) -> Any:
    return leat.csv(path).cast("id", dtype="int64").shuffle(global_=True, seed=3).batch(BATCH)


def loader(path: pathlib.Path, **options: Any) -> Any:
    return torch.utils.data.DataLoader(leat.TorchDataset(batches(path)), batch_size=None, **options)


def stateful(path: pathlib.Path, **options: Any) -> Any:
    module = pytest.importorskip("torchdata.stateful_dataloader")
    return module.StatefulDataLoader(leat.TorchDataset(batches(path)), batch_size=None, **options)


def held(path: pathlib.Path) -> Any:
    rows = [{"id": i} for i in range(N_ROWS)]
    return leat.dataloader(rows, labels=False, batch_size=BATCH, shuffle=True, seed=3, cache=False, framework="torch")


OBJECTS: dict[str, Callable[[pathlib.Path], Any]] = {
    "pipeline.to": lambda path: batches(path).to("torch"),
    "stream.to": lambda path: batches(path).open().to("torch"),
    "dataloader": held,
    "torch.DataLoader": loader,
    "torch.DataLoader-workers": lambda path: loader(path, num_workers=2),
    "torch.DataLoader-persistent": lambda path: loader(path, num_workers=2, persistent_workers=True),
    "StatefulDataLoader": stateful,
    "StatefulDataLoader-workers": lambda path: stateful(path, num_workers=2),
}
objects = pytest.mark.parametrize("name", OBJECTS)


@pytest.fixture
def source(name: str, path: pathlib.Path) -> Iterator[Any]:
    source = OBJECTS[name](path)
    yield source
    getattr(source, "close", lambda: None)()


@pytest.fixture(autouse=True)
def _frozen() -> None:
    """A collection in a forked worker passes over what is there before, and so copies less memory."""
    gc.freeze()


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def expect_whole(epochs: list[Rows], n: int = N_EPOCHS) -> None:
    """Each is whole, in an order of its own."""
    assert [sorted(rows) for rows in epochs] == [list(range(N_ROWS))] * n
    assert len({tuple(rows) for rows in epochs}) == n


# ---- Lightning


def make_module() -> Any:
    lightning = pytest.importorskip("pytorch_lightning")

    class Module(lightning.LightningModule):
        """Keeps what it is given, epoch by epoch."""

        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(1, 1)
            self.trained: dict[int, Rows] = {}
            self.validated: dict[int, Rows] = {}

        def training_step(self, batch: Any, index: int) -> Any:
            self.trained.setdefault(self.current_epoch, []).extend(batch["id"].tolist())
            return self.layer(batch["id"].float()[:, None]).mean()

        def validation_step(self, batch: Any, index: int) -> None:
            if not self.trainer.sanity_checking:
                self.validated.setdefault(self.current_epoch, []).extend(batch["id"].tolist())

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), lr=1e-9)

    return Module()


def make_trainer(folder: pathlib.Path, **options: Any) -> Any:
    lightning = pytest.importorskip("pytorch_lightning")
    usual = {"max_epochs": N_EPOCHS, "accelerator": "cpu", "devices": 1, "logger": False, "default_root_dir": str(folder)}
    usual["plugins"] = [pytest.importorskip("pytorch_lightning.plugins.environments").LightningEnvironment()]  # asks no MPI, which mpi4py may lack
    quiet = {"enable_progress_bar": False, "enable_model_summary": False, "enable_checkpointing": False}
    return lightning.Trainer(**{**usual, **quiet, **options})


@objects
def test_lightning_fits(name: str, source: Any, path: pathlib.Path, tmp_path: pathlib.Path) -> None:
    """With a check of the validation before, which is left in the middle, and a validation behind each epoch."""
    module, validation = make_module(), OBJECTS[name](path)
    make_trainer(tmp_path, num_sanity_val_steps=2).fit(module, source, validation)
    expect_whole(list(module.trained.values()))
    assert [sorted(rows) for rows in module.validated.values()] == [list(range(N_ROWS))] * N_EPOCHS


@objects
def test_lightning_with_limits(name: str, source: Any, path: pathlib.Path, tmp_path: pathlib.Path) -> None:
    """Each epoch begins with the first batches of an epoch, and no batch comes twice in it."""
    plain = OBJECTS[name](path)
    whole = [[row for batch in plain for row in batch["id"].tolist()] for _ in range(N_EPOCHS)]
    module = make_module()
    trainer = make_trainer(tmp_path, limit_train_batches=3, limit_val_batches=2, num_sanity_val_steps=0)
    trainer.fit(module, source, OBJECTS[name](path))
    assert list(module.trained.values()) == [rows[: 3 * BATCH] for rows in whole]
    assert list(module.validated.values()) == [rows[: 2 * BATCH] for rows in whole]


@pytest.mark.parametrize("name", ["pipeline.to", "stream.to", "dataloader", "StatefulDataLoader"])
def test_lightning_goes_on_at_a_checkpoint(name: str, source: Any, path: pathlib.Path, tmp_path: pathlib.Path) -> None:
    """In the middle of an epoch: with the very next batch."""
    whole = make_module()
    make_trainer(tmp_path, max_epochs=3).fit(whole, OBJECTS[name](path))
    first, second = make_module(), make_module()
    callbacks = pytest.importorskip("pytorch_lightning.callbacks")
    keep = callbacks.ModelCheckpoint(tmp_path, every_n_train_steps=N_BATCHES + 4, save_top_k=-1)
    trainer = make_trainer(tmp_path, max_steps=N_BATCHES + 6, max_epochs=-1, enable_checkpointing=True, callbacks=[keep])
    trainer.fit(first, source)
    make_trainer(tmp_path, max_epochs=3).fit(second, OBJECTS[name](path), ckpt_path=keep.best_model_path)
    assert first.trained == {0: whole.trained[0], 1: whole.trained[1][: 6 * BATCH]}
    assert second.trained == {1: whole.trained[1][4 * BATCH :], 2: whole.trained[2]}


# ---- ignite


@objects
@pytest.mark.parametrize("epoch_length", [None, N_BATCHES, 5])
def test_ignite(name: str, source: Any, epoch_length: int | None) -> None:
    """Its epochs are what it is told that they are: with others than leat's the batches go on."""
    engine = pytest.importorskip("ignite.engine")
    seen: list[Rows] = []
    trainer = engine.Engine(lambda _, batch: seen[-1].extend(batch["id"].tolist()))
    trainer.add_event_handler(engine.Events.EPOCH_STARTED, lambda _: seen.append([]))
    n_epochs = N_EPOCHS if epoch_length != 5 else 9
    trainer.run(source, max_epochs=n_epochs, epoch_length=epoch_length)
    rows = [row for epoch in seen for row in epoch]
    assert len(rows) == n_epochs * (epoch_length or N_BATCHES) * BATCH
    n_whole = len(rows) // N_ROWS
    expect_whole([rows[i * N_ROWS : (i + 1) * N_ROWS] for i in range(n_whole)], n_whole)


@objects
def test_ignite_validates(name: str, source: Any, path: pathlib.Path) -> None:
    """Behind each epoch, by an engine of its own that is left in the middle."""
    engine = pytest.importorskip("ignite.engine")
    validation, seen, validated = OBJECTS[name](path), [], []
    trainer = engine.Engine(lambda _, batch: seen.extend(batch["id"].tolist()))
    evaluator = engine.Engine(lambda _, batch: validated.extend(batch["id"].tolist()))
    trainer.add_event_handler(engine.Events.EPOCH_COMPLETED, lambda _: evaluator.run(validation, epoch_length=3))
    trainer.run(source, max_epochs=N_EPOCHS)
    expect_whole([seen[i * N_ROWS : (i + 1) * N_ROWS] for i in range(N_EPOCHS)])
    plain = OBJECTS[name](path)
    assert validated == [row for _ in range(N_EPOCHS) for row in [r for b in plain for r in b["id"].tolist()][: 3 * BATCH]]


# ---- Accelerate


@pytest.mark.parametrize("name", ["torch.DataLoader", "torch.DataLoader-workers", "StatefulDataLoader"])
def test_accelerate(name: str, source: Any, path: pathlib.Path) -> None:
    accelerate = pytest.importorskip("accelerate")

    def rows_in(items: Any) -> Rows:
        return [row for batch in items for row in batch["id"].tolist()]

    plain = OBJECTS[name](path)
    whole = [rows_in(plain) for _ in range(6)]
    accelerator = accelerate.Accelerator(cpu=True)
    prepared = accelerator.prepare(source)
    assert [rows_in(prepared) for _ in range(2)] == whole[:2]
    for _ in prepared:
        break
    assert rows_in(prepared) == whole[2]  # Accelerate numbers epochs itself, and counts those that ended
    prepared.set_epoch(4)
    assert rows_in(accelerate.skip_first_batches(prepared, 3)) == whole[4][3 * BATCH :]
    accelerator.free_memory()


# ---- transformers.Trainer


def test_trainer(path: pathlib.Path, tmp_path: pathlib.Path) -> None:
    """It trains, evaluates behind each epoch, and goes on at a checkpoint in the middle of an epoch."""
    transformers = pytest.importorskip("transformers")

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(1, 1)
            self.trained: Rows = []
            self.evaluated: Rows = []

        def forward(self, id: Any, labels: Any = None) -> Any:
            (self.trained if self.training else self.evaluated).extend(id.tolist())
            return {"loss": self.layer(id.float()[:, None]).mean(), "logits": id.float()}

    def train(checkpoint: str | None = None, **options: Any) -> Model:
        usual = {"num_train_epochs": 3, "report_to": [], "use_cpu": True, "disable_tqdm": True, "learning_rate": 1e-9}
        usual |= {"per_device_train_batch_size": BATCH, "per_device_eval_batch_size": BATCH, "save_strategy": "no"}
        arguments = transformers.TrainingArguments(str(tmp_path), **{**usual, "eval_strategy": "epoch", **options})
        data = [leat.TorchDataset(batches(path), rows=True) for _ in range(2)]
        model = Model()
        transformers.Trainer(model, arguments, train_dataset=data[0], eval_dataset=data[1]).train(checkpoint)
        return model

    whole = train()
    expect_whole([whole.trained[i * N_ROWS : (i + 1) * N_ROWS] for i in range(3)], 3)
    assert [sorted(whole.evaluated[i * N_ROWS : (i + 1) * N_ROWS]) for i in range(3)] == [list(range(N_ROWS))] * 3
    first = train(max_steps=N_BATCHES + 4, save_strategy="steps", save_steps=N_BATCHES + 4)
    second = train(str(tmp_path / f"checkpoint-{N_BATCHES + 4}"))
    assert first.trained + second.trained == whole.trained
