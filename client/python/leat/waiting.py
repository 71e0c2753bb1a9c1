"""Tasks of event loops that wait until a session has a batch for them. No thread waits."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio

    from . import _leat


class Waiting:
    """The tasks that wait for one session, by their event loops. It loads asyncio (4 MiB, 40 ms) when a task waits."""

    def __init__(self, native: _leat.Stream) -> None:
        self.native = native
        self._tasks: dict[asyncio.AbstractEventLoop, list[asyncio.Future[None]]] = {}

    async def until_readable(self) -> None:
        """Returns when the session has something, or when wake() was called."""
        import asyncio

        loop = asyncio.get_running_loop()
        tasks = self._tasks.setdefault(loop, [])
        readable: asyncio.Future[None] = loop.create_future()
        if not tasks:
            loop.add_reader(self.native.fileno(), _set_results, tasks)
        tasks.append(readable)
        try:
            await readable
        finally:
            tasks.remove(readable)
            if not tasks and self._tasks.get(loop) is tasks:
                del self._tasks[loop]
                loop.remove_reader(self.native.fileno())

    def wake(self) -> None:
        """Lets all tasks look again, in whatever threads their loops run. Call it before the session's descriptor is closed."""
        if not self._tasks:
            return
        import asyncio

        fd = self.native.fileno()
        while self._tasks:
            loop, tasks = self._tasks.popitem()
            if loop is asyncio._get_running_loop():
                loop.remove_reader(fd)
                _set_results(tasks)
            else:
                loop.call_soon_threadsafe(loop.remove_reader, fd)
                loop.call_soon_threadsafe(_set_results, tasks)


def _set_results(futures: list[asyncio.Future[None]]) -> None:
    for future in futures:
        if not future.done():
            future.set_result(None)
