"""Stops single threads of a process, as a debugger does."""
import contextlib
import ctypes
import errno
import os

from leat_harness import Skip

PTRACE_DETACH, PTRACE_SEIZE, PTRACE_INTERRUPT, WALL = 17, 0x4206, 0x4207, 0x40000000


class Tracer:
    """Stops threads, as a debugger does, until the block ends."""

    def __init__(self, tids):
        self.libc, self.tids = ctypes.CDLL(None, use_errno=True), []
        for tid in tids:
            self.call(PTRACE_SEIZE, tid)
            self.tids.append(tid)
            self.call(PTRACE_INTERRUPT, tid)
            os.waitpid(tid, WALL)

    def call(self, request, tid):
        if self.libc.ptrace(request, ctypes.c_long(tid), None, None) < 0:
            number = ctypes.get_errno()
            if number == errno.EPERM:
                raise Skip("no ptrace here")
            raise OSError(number, "ptrace")

    def reap(self):
        """Whether all have ended; a process is not at its end before whoever traces its threads has looked."""
        self.tids = [tid for tid in self.tids if os.waitpid(tid, WALL | os.WNOHANG)[0] == 0]
        return not self.tids

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for tid in self.tids:
            with contextlib.suppress(OSError):
                self.call(PTRACE_DETACH, tid)
