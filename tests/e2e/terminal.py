"""A program on a terminal, as a test sees it: a pseudo-terminal, and the characters that are on its screen.

It knows the sequences that leatctl writes: places, clearing, the other screen, the cursor; all others fail the test.
"""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time

from leat_harness import HANG_S

SEQUENCE = re.compile(rb"\x1b\[(\??)([0-9;]*)([A-Za-z])")


class Screen:
    """What is on it: `lines`, each of n_columns characters."""

    def __init__(self, n_rows, n_columns):
        self.size = (n_rows, n_columns)
        self.lines = [[" "] * n_columns for _ in range(n_rows)]
        self.row = self.column = 0
        self.modes = {"25": True, "1049": False, "7": True}  # the cursor is seen, the other screen, lines go on
        self.rest = b""
        self.has_overflown = False

    def clear(self, row, column):
        self.lines[row][column:] = [" "] * (self.size[1] - column)

    def sequence(self, private, parameters, final):
        if private:
            assert parameters in self.modes, parameters
            self.modes[parameters] = final == "h"
        elif final == "H":
            place = [int(number or 1) - 1 for number in (parameters or "1;1").split(";")]
            self.row, self.column = place
        elif final == "K":
            self.clear(self.row, self.column)
        elif final == "J":
            first = 0 if parameters == "2" else self.row
            for row in range(first, self.size[0]):
                self.clear(row, 0)
        else:
            assert final == "m", (parameters, final)

    def put(self, character):
        if character in "\r\n":
            self.column = 0
            self.row = min(self.row + (character == "\n"), self.size[0] - 1)
            return
        if self.row >= self.size[0] or self.column >= self.size[1]:
            self.has_overflown = True
            return
        self.lines[self.row][self.column] = character
        self.column += 1

    def feed(self, data):
        data = self.rest + data
        self.rest = b""
        while data:
            found = SEQUENCE.match(data)
            if found:
                self.sequence(found[1] != b"", found[2].decode(), found[3].decode())
                data = data[found.end():]
            elif data[:1] == b"\x1b":
                assert len(data) < 32, data
                self.rest, data = data, b""
            else:
                end = data.find(b"\x1b")
                text, data = (data, b"") if end < 0 else (data[:end], data[end:])
                for character in text.decode(errors="replace"):
                    self.put(character)

    @property
    def text(self):
        return "\n".join("".join(line).rstrip() for line in self.lines)


class Terminal:
    """A program on a terminal of that size."""

    def __init__(self, command, n_rows=24, n_columns=80, env=None):
        self.screen = Screen(n_rows, n_columns)
        self.raw = b""
        is_known, tells = os.pipe()
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.read(is_known, 1)
            os.execvpe(str(command[0]), [str(word) for word in command],
                       {**os.environ, "TERM": "xterm-256color", **(env or {})})
        self.resize(n_rows, n_columns)
        self.before = termios.tcgetattr(self.fd)  # the program changes it, so it waits for this
        os.write(tells, b"x")
        os.close(is_known)
        os.close(tells)
        self.status = None

    def resize(self, n_rows, n_columns):
        """The screen is empty until the program draws it anew."""
        self.screen = Screen(n_rows, n_columns)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", n_rows, n_columns, 0, 0))

    def read(self, timeout_s=0.05):
        """What it has written by now; False: it has ended."""
        if not select.select([self.fd], [], [], timeout_s)[0]:
            return True
        try:
            data = os.read(self.fd, 65536)
        except OSError:  # EIO: nobody has the other end any more
            data = b""
        self.raw += data
        self.screen.feed(data)
        return data != b""

    def wait_for(self, condition, what):
        """Until condition(text of the screen) holds."""
        deadline = time.monotonic() + HANG_S
        while not condition(self.screen.text):
            assert self.read() and time.monotonic() < deadline, f"{what}; there is:\n{self.screen.text}"
        assert not self.screen.has_overflown, f"more than fits:\n{self.screen.text}"
        return self.screen.text

    def type(self, keys):
        os.write(self.fd, keys)

    def is_as_before(self):
        """Its modes, and the screen's."""
        return termios.tcgetattr(self.fd) == self.before and \
            self.screen.modes == {"25": True, "1049": False, "7": True}

    def wait(self):
        """Reads until it ends; its status as of waitpid."""
        deadline = time.monotonic() + HANG_S
        while self.status is None:
            self.read()
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = status
            assert time.monotonic() < deadline, "it does not end"
        while self.read():  # what it wrote last may come after its end; nobody else has the terminal
            assert time.monotonic() < deadline, "its terminal does not end"
        return os.waitstatus_to_exitcode(self.status)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.fd)
