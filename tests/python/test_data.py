"""What data is, told from the thing; what is written of it, and what is not; the folder that it is kept in."""

from __future__ import annotations

import collections
import dataclasses
import fcntl
import os
import pathlib
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest

pa = pytest.importorskip("pyarrow")

from conftest import START_S  # noqa: E402
from leat import errors  # noqa: E402
from leat.data import columns, held, recognise, store  # noqa: E402

ROWS: list[dict[str, Any]] = [{"text": f"row é {i}", "label": i % 3, "score": i / 2, "ok": i % 2 == 0} for i in range(2500)]


@pytest.fixture(autouse=True)
def _cache(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("LEAT_DATA_SIZE", raising=False)


def kept(thing: Any, names: list[str] | None = None, forms: dict[str, str] | None = None) -> held.Files:
    return recognise.keep(recognise.recognise(thing), names, forms)


def rows_of(files: held.Files) -> list[dict[str, Any]]:
    assert files.source == "arrow"
    rows: list[dict[str, Any]] = []
    for path in files.paths:
        with pa.ipc.open_stream(path) as stream:
            rows += stream.read_all().to_pylist()
    return rows


def in_folder() -> list[str]:
    return sorted(os.listdir(store.folder()))


class Indexed:
    """A data set as PyTorch has them."""

    def __init__(self, rows: list[Any]) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, at: int) -> Any:
        return self.rows[at]


# ---- the same rows, however they are held ----


def dataset(rows: list[dict[str, Any]]) -> Any:
    return pytest.importorskip("datasets").Dataset.from_list(rows)


def held_as() -> Iterator[tuple[str, Any]]:
    yield "list", lambda: ROWS
    yield "columns", lambda: {name: [row[name] for row in ROWS] for name in ROWS[0]}
    yield "arrow", lambda: pa.Table.from_pylist(ROWS)
    yield "arrow in pieces", lambda: pa.concat_tables([pa.Table.from_pylist(rows) for rows in (ROWS[:7], ROWS[7:])])
    yield "generator", lambda: iter(ROWS)
    yield "map data set", lambda: Indexed(ROWS)
    yield "pandas", lambda: pytest.importorskip("pandas").DataFrame(ROWS)
    yield "polars", lambda: pytest.importorskip("polars").DataFrame(ROWS)
    yield "polars, lazy", lambda: pytest.importorskip("polars").DataFrame(ROWS).lazy()
    yield "datasets", lambda: dataset(ROWS)
    yield "datasets, with indices", lambda: dataset(ROWS[::-1]).select(range(2499, -1, -1))
    yield "datasets, iterable", lambda: dataset(ROWS).to_iterable_dataset()
    yield "datasets, unknown features", lambda: type(dataset(ROWS).to_iterable_dataset()).from_generator(lambda: iter(ROWS))
    yield "torch", lambda: pytest.importorskip("torch").utils.data.Subset(Indexed(ROWS), range(2500))


@pytest.fixture(scope="module")
def path_of_rows(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("reference")))
        files = kept(pa.Table.from_pylist(ROWS))
        assert rows_of(files) == ROWS
        with pa.ipc.open_stream(files.paths[0]) as stream:
            assert [batch.num_rows for batch in stream] == [1000, 1000, 500]
        yield os.path.basename(files.paths[0])


@pytest.mark.parametrize("make", [pytest.param(make, id=name) for name, make in held_as()])
def test_same_rows_are_one_file(make: Any, path_of_rows: str) -> None:
    files = kept(make())
    assert [os.path.basename(path) for path in files.paths] == [path_of_rows]
    assert files.n_rows == 2500
    before = os.stat(files.paths[0])
    again = kept(make())
    after = os.stat(again.paths[0])
    assert (again.paths, again.n_rows) == (files.paths, 2500)
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)  # part of the token cache's key
    assert in_folder() == [path_of_rows]


def test_nothing_is_imported() -> None:
    code = """if True:
        import sys
        from leat.data import recognise
        recognise.recognise([{'a': 1}])
        print([name for name in ('numpy', 'pandas', 'polars', 'torch', 'datasets', 'pyarrow') if name in sys.modules])
    """
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=START_S)
    assert done.stdout == "[]\n"


def test_rows_of_python() -> None:
    pair = collections.namedtuple("pair", ["text", "stars"])
    point = dataclasses.make_dataclass("point", [("text", str), ("x", float)])
    assert rows_of(kept([pair("a", 1), pair("b", 2)])) == [{"text": "a", "stars": 1}, {"text": "b", "stars": 2}]
    assert rows_of(kept([point("a", 1.5)])) == [{"text": "a", "x": 1.5}]
    assert rows_of(kept([("a", 1), ("b", 0)])) == [{"text": "a", "label": 1}, {"text": "b", "label": 0}]
    assert rows_of(kept([(1.5, "a")])) == [{"text": "a", "label": 1.5}]
    assert rows_of(kept(["a", "b"])) == [{"text": "a"}, {"text": "b"}]


def test_numpy_and_torch_values() -> None:
    np, torch = pytest.importorskip("numpy"), pytest.importorskip("torch")
    row: dict[str, Any] = {"i": np.int32(3), "f": np.float32(0.5), "b": np.True_, "a": np.array([0.5])}
    row |= {"t": torch.tensor(7), "v": torch.tensor([1, 2])}
    assert rows_of(kept([row])) == [{"i": 3, "f": 0.5, "b": True, "t": 7, "v": [1, 2], "a": [0.5]}]
    assert rows_of(kept({"x": np.arange(3), "y": torch.zeros(3)})) == [{"x": i, "y": 0.0} for i in range(3)]


def test_nulls_and_kinds() -> None:
    rows = [{"t": None, "i": 1, "f": None}, {"t": "x", "i": None, "f": 2}, {"t": "y", "f": 0.5, "i": True}]
    files = kept(rows)
    assert {name: column.kind for name, column in (files.columns or {}).items()} == {"t": "text", "i": "int64", "f": "float64"}
    found = rows_of(files)
    assert [row["t"] for row in found] == [None, "x", "y"]
    assert [row["i"] for row in found] == [1, None, 1]
    assert [row["f"] for row in found] == [None, 2.0, 0.5]


def test_pandas_columns() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(
        {
            "text": ["a", None, "b"], "kind": pd.Categorical(["x", "y", "x"]), "day": pd.to_datetime(["2020-01-01"] * 3),
            "mixed": [1, "a", None], "n": [1.0, None, 2.0], "flag": [True, False, None], "raw": [b"a"] * 3,
            "i": pd.array([1, None, 2], dtype="Int64"),
        }
    )
    found = recognise.recognise(frame)
    assert {name: column.kind for name, column in (found.columns or {}).items()} == {
        "text": "text", "kind": "text", "day": "text", "mixed": "", "n": "float64", "flag": "bool", "raw": "", "i": "int64",
    }
    rows = rows_of(recognise.keep(found, ["text", "kind", "day", "flag", "i"]))
    assert rows[0] == {"text": "a", "kind": "x", "day": "2020-01-01 00:00:00.000000", "flag": True, "i": 1}
    coded = recognise.keep(found, ["kind"], {"kind": "codes"})
    assert [row["kind"] for row in rows_of(coded)] == [0, 1, 0]
    assert coded.columns is not None and coded.columns["kind"].classes == ("x", "y")
    with pytest.raises(errors.DataError, match="'mixed' cannot be read, because it contains values that Arrow"):
        recognise.keep(found, ["mixed"])
    with pytest.raises(errors.DataError, match="'raw' cannot be read, because it contains bytes"):
        recognise.keep(found, ["raw"])
    with pytest.raises(errors.DataError, match="cannot be read"):
        recognise.keep(found)
    assert [row["text"] for row in rows_of(kept(frame["text"].dropna()))] == ["a", "b"]
    with pytest.raises(errors.DataError, match="several columns of the data frame have the same name, a: rename them"):
        kept(pd.DataFrame([[1, 2, 3]], columns=["a", "b", "a"]))


def test_polars_columns() -> None:
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame(
        {
            "c": pl.Series(["x", "y"], dtype=pl.Categorical), "e": pl.Series(["y", "x"], dtype=pl.Enum(["x", "y"])),
            "l": [[1, 2], [3]], "a": pl.Series([[1, 2], [3, 4]], dtype=pl.Array(pl.Float32, 2)), "s": [{"k": 1}, {"k": 2}],
            "d": pl.Series(["1.5", "2"]).cast(pl.Decimal(8, 2)),
        }
    )
    first, second = rows_of(kept(frame, ["c", "l", "a", "d"]))
    assert first == {"c": "x", "l": [1, 2], "a": [1.0, 2.0], "d": 1.5}
    assert second == {"c": "y", "l": [3], "a": [3.0, 4.0], "d": 2.0}
    assert [row["e"] for row in rows_of(kept(frame, ["e"], {"e": "codes"}))] == [1, 0]
    assert [row["s"] for row in rows_of(kept(frame, ["s"], {"s": "json"}))] == ['{"k":1}', '{"k":2}']
    with pytest.raises(errors.DataError, match=r"'s' cannot be read, because it contains nested values \(struct"):
        kept(frame)


# ---- Hugging Face ----


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Any:
    datasets = pytest.importorskip("datasets")
    datasets.disable_progress_bars()
    folder = str(tmp_path_factory.mktemp("saved"))
    datasets.Dataset.from_list(ROWS).save_to_disk(folder, num_shards=2)
    return datasets.load_from_disk(folder)


def test_datasets_files_as_they_are(saved: Any) -> None:
    datasets = pytest.importorskip("datasets")
    own = [entry["filename"] for entry in saved.cache_files]
    assert len(own) == 2
    same = saved.remove_columns("score"), saved.with_format("torch"), saved.select(range(2500)), saved.select_columns(["text"])
    for thing in (saved, *same):
        files = kept(thing, ["text"])
        assert list(files.paths) == own and files.n_rows == 2500
    assert list(recognise.recognise(saved.with_format("torch", columns=["label"])).columns or ()) == ["label"]
    assert list(kept(datasets.concatenate_datasets([saved, saved]), ["text"]).paths) == own + own
    assert kept(saved, ["label", "text"]).arguments == {"fields": {"label": "int64", "text": "text"}}
    assert kept(saved, ["label"], {"text": "json"}).arguments == {"fields": {"label": "int64", "text": "json"}}
    assert not os.path.exists(store.folder())
    assert list(kept(os.path.dirname(own[0]), ["text"]).paths) == own


def test_datasets_that_are_not_their_files(saved: Any) -> None:
    datasets = pytest.importorskip("datasets")
    for thing in (
        saved.select(range(10)),
        saved.shuffle(seed=1),
        saved.filter(lambda row: row["label"] == 1),
        saved.rename_column("label", "y"),
        saved.rename_columns({"label": "score", "score": "label"}),
        saved.with_transform(lambda rows: {"text": [text.upper() for text in rows["text"]]}),
        datasets.concatenate_datasets([saved.select(range(1250)), saved.select(range(1250))]),
        datasets.concatenate_datasets([saved.select_columns(["text"]), saved.select_columns(["label"])], axis=1),
        saved.sort("label"),
    ):
        names = list(thing[0])
        found = rows_of(kept(thing, names))
        assert found == [{name: row[name] for name in names} for row in thing.with_format(None)] or found == list(thing)


def test_datasets_classes_and_media(saved: Any) -> None:
    datasets = pytest.importorskip("datasets")
    named = saved.cast_column("label", datasets.ClassLabel(names=["a", "b", "c"]))
    column = (recognise.recognise(named).columns or {})["label"]
    assert (column.kind, column.classes, column.is_coded) == ("int64", ("a", "b", "c"), True)
    features = datasets.Features({"text": datasets.Value("string"), "image": datasets.Image()})
    table = pa.table({"text": ["a"], "image": [{"bytes": b"x", "path": "x"}]})
    pictures = datasets.Dataset(table.cast(features.arrow_schema), info=datasets.DatasetInfo(features=features))
    assert rows_of(kept(pictures, ["text"])) == [{"text": "a"}]
    with pytest.raises(errors.DataError, match="'image' cannot be read, because it contains image files"):
        kept(pictures)


def test_several_splits(saved: Any, tmp_path: pathlib.Path) -> None:
    datasets = pytest.importorskip("datasets")
    both = datasets.DatasetDict(train=saved, test=saved)
    with pytest.raises(errors.SpecError, match=r"'train', 'test': pass one of them, for example data\['train'\]"):
        recognise.recognise(both)
    with pytest.raises(errors.SpecError, match=r"'train', 'test'"):
        recognise.recognise({"train": saved, "test": saved})
    both.save_to_disk(str(tmp_path / "both"))
    with pytest.raises(errors.SpecError, match="test, train: give the path of one"):
        recognise.recognise(tmp_path / "both")
    assert kept(tmp_path / "both" / "train", ["text"]).n_rows == 2500


# ---- paths ----


def test_paths(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    sources = {
        "a.csv": "csv", "b.csv.gz": "csv", "c.tsv": "csv", "d.jsonl": "jsonl", "e.ndjson.zst": "jsonl", "f.txt": "text",
        "g.json": "jsonl",
    }
    for name in sources:
        (tmp_path / name).write_bytes(b"{}\n")
    found = {name: kept(name) for name in [*sources, "*.csv*"]}
    assert {name: files.source for name, files in found.items()} == {**sources, "*.csv*": "csv"}
    assert found["c.tsv"].arguments == {"delimiter": "\t"} and found["a.csv"].paths == (str(tmp_path / "a.csv"),)
    assert kept(["a.csv", pathlib.Path("b.csv.gz")]).paths == (str(tmp_path / "a.csv"), str(tmp_path / "b.csv.gz"))
    assert isinstance(recognise.recognise(["gone.txt", "see a.csv"]), held.Rows)  # texts, that name no file
    with pytest.raises(errors.SpecError, match="these are .csv, .jsonl"):
        recognise.recognise([tmp_path / "a.csv", tmp_path / "d.jsonl"])
    with pytest.raises(errors.NotFoundError, match=r"no file 'imdb': for a data set of the Hub"):
        recognise.recognise("imdb")
    with pytest.raises(errors.SpecError, match="several kinds, csv, json, jsonl, text"):
        recognise.recognise(tmp_path)


def test_json_of_files(tmp_path: pathlib.Path) -> None:
    (tmp_path / "chats.jsonl").write_text("{}\n")
    files = kept(tmp_path / "chats.jsonl", [], {"messages": "json"})
    assert files.arguments == {"fields": {"messages": "json"}}
    with pytest.raises(errors.SpecError, match=r"with json=, also give the other columns that you want: columns=\[..\]"):
        kept(tmp_path / "chats.jsonl", None, {"messages": "json"})


def test_arrow_parquet_and_arrays(tmp_path: pathlib.Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pa.Table.from_pylist(ROWS)
    parquet.write_table(table, tmp_path / "a.parquet", row_group_size=700)
    assert rows_of(kept(tmp_path / "a.parquet", ["score", "ok"])) == [{"score": row["score"], "ok": row["ok"]} for row in ROWS]
    with pa.ipc.new_file(str(tmp_path / "b.arrow"), table.schema) as file:
        file.write_table(table, max_chunksize=100)
    files = kept(tmp_path / "b.arrow", ["text", "label"])
    assert files.paths == (str(tmp_path / "b.arrow"),) and files.n_rows == 2500
    kinds = pa.array(["x", "y"]).dictionary_encode()
    days = pa.table({"text": ["a", "b"], "day": pa.array([0, 1], pa.date32()), "kind": kinds})
    with pa.ipc.new_stream(str(tmp_path / "d.arrow"), days.schema) as stream:
        stream.write_table(days)
    assert kept(tmp_path / "d.arrow", ["text"]).paths == (str(tmp_path / "d.arrow"),)
    assert rows_of(kept(tmp_path / "d.arrow"))[1] == {"text": "b", "day": "1970-01-02", "kind": "y"}
    with pytest.raises(errors.DataError, match="columns differ from those of the first file"):
        recognise.recognise([tmp_path / "b.arrow", tmp_path / "d.arrow"])
    (tmp_path / "broken.arrow").write_bytes(b"ARROW1 no")
    with pytest.raises(errors.DataError, match="this is not a readable Arrow file"):
        recognise.recognise(tmp_path / "broken.arrow")
    (tmp_path / "c.json").write_text(' [{"a": 1}, {"a": 2}]')
    assert rows_of(kept(tmp_path / "c.json")) == [{"a": 1}, {"a": 2}]
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(errors.DataError, match="this is not a readable Parquet file"):
        recognise.recognise(tmp_path / "broken.parquet")


# ---- what is refused ----


@pytest.mark.parametrize(
    ("thing", "text"),
    [
        (3, "leat cannot read data of the type builtins.int: give"),
        (b"text", "leat cannot read data of the type builtins.bytes: give"),
        ({"a": 1}, "for a single row, pass"),
        ([1, 2], "row 0 is a builtins.int"),
        ([{"a": 1}, {"a": "x"}], "values of different kinds: int64, text"),
        ([{"a": "\ud800"}], "row 0 is not Unicode text"),
        ([{"a": 1 << 70}], "does not fit into a 64-bit integer"),
        ([{"a": None}], "only nulls"),
        ([{"a": b"x"}], "it contains bytes"),
        ([{"a": {"b": 1}}], "nested values"),
        ([{"a": object()}], "objects of the type builtins.object"),
        ([{"a": "x", "n" * 64: 1}], "must have 1 to 63 bytes"),
        ([{"": 1}], "must have 1 to 63 bytes"),
        ({"a": [1], "b": [1, 2]}, "different lengths: a has 1, b has 2"),
        (Indexed([{"a": 1}] * 1000 + [{"a": 0.5}]), "'a' is float64 in row 1,000, but int64 in the rows before it"),
        ([("a", "b")], r"a row must be a dict, a text, a named tuple or \(text, label\)"),
    ],
)
def test_refused(thing: Any, text: str) -> None:
    with pytest.raises((errors.SpecError, errors.DataError), match=text):
        kept(thing)
    assert not os.path.exists(store.folder()) or in_folder() == []


def test_rows_that_come_once() -> None:
    found = recognise.recognise(iter(ROWS[:10]))
    assert recognise.keep(found).n_rows == 10
    with pytest.raises(errors.DataError, match="can be read only once"):
        recognise.keep(found)


def test_without_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held, "has_pyarrow", lambda: False)
    rows = [{"text": "ä\n", "n.x": 1, "v": [0.5], "m": {"k": 1}}, {"text": None, "n.x": 2, "v": [1, 2], "m": None}]
    files = kept(rows, ["text", "n.x", "v"], {"m": "json"})
    assert files.source == "jsonl"
    assert files.arguments == {"fields": {"text": "text", "n.x": "n\\.x int64", "v": "list<float64>", "m": "text"}}
    assert pathlib.Path(files.paths[0]).read_text() == (
        '{"text":"ä\\n","n.x":1,"v":[0.5],"m":"{\\"k\\":1}"}\n{"n.x":2,"v":[1.0,2.0]}\n'
    )
    pd = pytest.importorskip("pandas")
    assert kept(pd.DataFrame({"a": [1, 2], "b": ["x", None]})).n_rows == 2
    with pytest.raises(errors.Error, match="which is not installed: pip install pyarrow"):
        held.require_pyarrow("Parquet")


# ---- the folder ----


def test_folder_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEAT_DATA_SIZE", "3KiB")
    for at in range(8):  # as others, that have ended
        path = kept([{"text": "x" * 600 + str(at)}]).paths[0]
        os.close(store._leases.pop(path))
    sizes = [os.path.getsize(os.path.join(store.folder(), name)) for name in in_folder()]
    assert len(sizes) == 3 and sum(sizes) <= 3 * 1024 + max(sizes)
    assert os.path.basename(path) in in_folder()
    with pytest.raises(errors.DataError, match="is larger than 3,072 bytes"):
        kept([{"text": "x" * 5000}])
    assert len(in_folder()) == 3
    monkeypatch.setenv("LEAT_DATA_SIZE", "much")
    with pytest.raises(errors.SpecError, match="'much', but it must be a size such as 50GiB"):
        kept([{"text": "another"}])


def test_what_is_in_use_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEAT_DATA_SIZE", "2KiB")
    first = kept([{"text": "held " * 200}]).paths[0]
    for at in range(4):
        kept([{"text": str(at) * 900}])
    assert os.path.exists(first) and len(in_folder()) == 5  # all are this process's


def test_leftovers_go(monkeypatch: pytest.MonkeyPatch) -> None:
    kept([{"text": "a"}])
    left = pathlib.Path(store.folder(), ".writing-1-killed")
    locked = pathlib.Path(store.folder(), ".writing-2-alive")
    for path in (left, locked):
        path.write_bytes(b"half")
        os.utime(path, (time.time() - 3600,) * 2)
    with open(locked) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        kept([{"text": "b"}])
        assert not left.exists() and locked.exists()


def test_two_writers_keep_one() -> None:
    code = "from leat.data import recognise; print(recognise.keep(recognise.recognise([{'text': str(i)} for i in range(5000)])).paths[0])"
    both = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    paths = {process.communicate(timeout=START_S)[0] for process in both}
    assert len(paths) == 1 and len(in_folder()) == 1
    assert os.stat(store.folder()).st_mode & 0o777 == 0o700
    assert os.stat(next(iter(paths)).strip()).st_mode & 0o777 == 0o600


def test_folder_that_cannot_be(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(errors.Error, match="leat cannot store the data in .*Not a directory"):
        kept([{"text": "a"}])


def test_a_forked_child_waits_for_no_thread_of_its_parent() -> None:
    with store._leases_lock:  # as another thread has it
        pid = os.fork()
        if pid == 0:
            signal.alarm(START_S)
            try:
                os._exit(not store._leases_lock.acquire(timeout=1))
            finally:
                os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


@pytest.mark.parametrize("n", [3, 1000, 1003])
def test_what_is_made_is_made_once(n: int) -> None:
    made: list[int] = []

    class Making(Indexed):
        def __getitem__(self, at: int) -> Any:
            made.append(at)
            return {"number": self.rows[at]}

    def double(rows: dict[str, list[int]]) -> dict[str, list[int]]:
        made.extend(rows["number"])
        return {"number": [2 * number for number in rows["number"]]}

    kept(Making(list(range(n))))
    assert made == list(range(n))
    made.clear()
    kept(dataset([{"number": number} for number in range(n)]).with_transform(double))
    assert made == list(range(n))


def test_errors_of_the_data_are_its_own() -> None:
    class Broken(Indexed):
        def __getitem__(self, at: int) -> Any:
            if at == 1500:
                raise FileNotFoundError("picture 1500")
            return super().__getitem__(at)

    with pytest.raises(FileNotFoundError, match="picture 1500"):
        kept(Broken(ROWS))
    assert in_folder() == []


def test_full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    resource = pytest.importorskip("resource")
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20000, before[1]))
    try:
        with pytest.raises(errors.Error, match="leat cannot store the data in .*File too large"):
            kept(ROWS)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert in_folder() == []


def test_columns_merge() -> None:
    assert columns.merge("a", [("bool", ""), ("float64", "")]).kind == "float64"
    assert columns.merge("a", [("list<int64>", ""), ("list<float64>", "")]).kind == "list<float64>"
    assert columns.merge("a", [("list<int64>", ""), ("int64", "")]).refusal == "values of different kinds: int64, int64[]"
