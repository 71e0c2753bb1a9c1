"""Iteration in an event loop: no thread waits, other tasks go on, and a task that is cancelled leaves the stream as it was."""

from __future__ import annotations

import asyncio
import pathlib
import threading
from collections.abc import Iterator
from typing import Any

import pytest

import leat
from conftest import START_S

N_ROWS = 2000
BATCH = 10


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = tmp_path_factory.mktemp("rows") / "rows.csv"
    path.write_text("number\n" + "".join(f"{i}\n" for i in range(N_ROWS)))
    return leat.csv(path).cast("number", dtype="int32").batch(BATCH)


@pytest.fixture
def stream(pipeline: Any) -> Iterator[Any]:
    with pipeline.open() as stream:
        yield stream


async def rows_of(stream: Any) -> list[int]:
    rows: list[int] = []
    async for batch in stream:
        rows += batch["number"].tolist()
        batch.release()
    return rows


def test_an_epoch_each(stream: Any, pipeline: Any) -> None:
    assert asyncio.run(rows_of(stream)) == list(range(N_ROWS))
    assert asyncio.run(rows_of(stream)) == list(range(N_ROWS))
    assert asyncio.run(rows_of(pipeline)) == list(range(N_ROWS))
    pipeline.close()


def test_several_streams_and_no_thread(pipeline: Any) -> None:
    async def read() -> tuple[list[list[int]], int, int]:
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0)

        ticking = asyncio.create_task(tick())
        streams = [pipeline.open() for _ in range(3)]
        n_threads = threading.active_count()
        rows = await asyncio.gather(*(rows_of(stream) for stream in streams))
        n_threads = max(0, threading.active_count() - n_threads)
        ticking.cancel()
        for stream in streams:
            stream.close()
        return list(rows), ticks, n_threads

    rows, ticks, n_threads = asyncio.run(read())
    assert rows == [list(range(N_ROWS))] * 3
    assert ticks > 1 and n_threads == 0


def test_a_cancelled_wait_loses_no_batch(stream: Any) -> None:
    async def read() -> list[int]:
        rows: list[int] = []
        while True:
            try:
                batch = await asyncio.wait_for(stream.next_async(), 0.0001 if len(rows) % 3 == 0 else None)
            except TimeoutError:
                batch = await stream.next_async()
            if batch is None:
                return rows
            rows += batch["number"].tolist()
            batch.release()

    assert asyncio.run(read()) == list(range(N_ROWS))


def test_tasks_share_a_stream(stream: Any) -> None:
    """They share an iterator: each batch is given to one of them; with the epoch all of their loops end."""

    async def some_rows(epoch: Any) -> list[int]:
        rows: list[int] = []
        async for batch in epoch:
            rows += batch["number"].tolist()
            batch.release()
            await asyncio.sleep(0)
        return rows

    async def share() -> list[list[int]]:
        epoch = aiter(stream)
        return await asyncio.gather(*(some_rows(epoch) for _ in range(3)))

    assert sorted(sum(asyncio.run(share()), [])) == list(range(N_ROWS))
    assert sorted(sum(asyncio.run(share()), [])) == list(range(N_ROWS))


def test_records_of_a_pipeline_without_a_batch(pipeline: Any) -> None:
    async def read() -> list[int]:
        with leat.csv(pipeline.spec["source"][1]["paths"]).cast("number", dtype="int32").take(20) as rows:
            return [int(record["number"]) async for record in rows]

    assert asyncio.run(read()) == list(range(20))


def test_each_loop_is_an_epoch_of_its_own(stream: Any) -> None:
    """As of tasks, of which one is quicker."""

    async def read() -> None:
        slow = aiter(stream)
        assert (await anext(slow))["number"].tolist()[0] == 0
        assert await rows_of(stream) == list(range(N_ROWS))
        assert (await anext(aiter(stream)))["number"].tolist()[0] == 0
        assert await rows_of(slow) == list(range(BATCH, N_ROWS))
        assert [batch async for batch in slow] == []

    asyncio.run(read())


@pytest.fixture
def held_pipeline(pipeline: Any, tmp_path: pathlib.Path) -> Iterator[Any]:
    """Its first batch comes when the test is over."""
    go = str(tmp_path / "go")

    def hold(record: dict[str, Any]) -> dict[str, int]:
        import os
        import time

        while not os.path.exists(go):
            time.sleep(0.01)
        return {"one": 1}

    rows = leat.csv(pipeline.spec["source"][1]["paths"])
    yield rows.map(hold, schema={"one": "int64"}, deadline=START_S, warn=False).select("one").batch(BATCH)
    pathlib.Path(go).touch()


def test_a_closed_stream_ends_the_waiting(held_pipeline: Any) -> None:
    async def close() -> None:
        stream = held_pipeline.open()
        waiting = [asyncio.create_task(stream.next_async()) for _ in range(2)]
        await asyncio.sleep(0.05)
        stream.close()
        for outcome in await asyncio.wait_for(asyncio.gather(*waiting, return_exceptions=True), START_S):
            assert isinstance(outcome, leat.Error) and "closed" in str(outcome)

    asyncio.run(close())


def test_another_place_while_a_task_waits(held_pipeline: Any) -> None:
    async def load() -> None:
        with held_pipeline.open() as stream:
            waiting = asyncio.create_task(stream.next_async())
            await asyncio.sleep(0.05)
            stream.load_state_dict(stream.state_dict())
            waiting.cancel()
            again = asyncio.create_task(stream.next_async())
            await asyncio.sleep(0.05)
            stream.load_state_dict(stream.state_dict())
            await asyncio.sleep(0.05)
            assert not again.done()
            again.cancel()

    asyncio.run(load())


def test_a_waiting_that_is_cancelled_tells_of_nothing_else(held_pipeline: Any) -> None:
    async def cancel() -> None:
        with held_pipeline.open() as stream:
            waiting = asyncio.create_task(stream.next_async())
            await asyncio.sleep(0.05)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError) as caught:
                await waiting
            assert caught.value.__context__ is None or not isinstance(caught.value.__context__, leat.Error)

    asyncio.run(cancel())


def test_errors_come_out_of_the_loop(stream: Any) -> None:
    async def hold_all() -> None:
        held = []
        async for batch in stream:
            held.append(batch)

    with pytest.raises(leat.HeldError, match="and `window` allows no more"):
        asyncio.run(hold_all())
