"""The page of memory by which a test tells faults.c what to fail, and reads what failed."""
import errno
import mmap
import pathlib
import re
import struct
import subprocess

AT_ARMED, AT_ERROR, AT_DEPTH, AT_PART, AT_N_FAILED, AT_BLOCKS, AT_CALL, AT_WHERE = 0, 4, 8, 12, 20, 24, 32, 64
CALL_BYTES, WHERE_BYTES, SEEN_MAX = 32, 4032, 65536
AT_SEEN = AT_WHERE + WHERE_BYTES
PAGE_BYTES = AT_SEEN + 8 * SEEN_MAX  # `struct page` of faults.c
SHORTER = 4096  # in place of an errno: a call that carries less than it was asked to


def error_number(name):
    return SHORTER if name == "shorter" else getattr(errno, name)


def symbol(file, offset):
    """The function there. Libraries of the system tell their public names only, so that these do."""
    name = pathlib.Path(file).name
    if name.endswith(".so") or ".so." in name:
        return name
    said = subprocess.run(["addr2line", "-f", "-e", file, hex(offset)], capture_output=True, text=True, check=False)
    return (said.stdout.splitlines() or ["??"])[0]


class Page:
    def __init__(self, path, library, depth=10):
        self.path, self.library = path, library
        path.write_bytes(bytes(PAGE_BYTES))
        with open(path, "r+b") as file:
            self.memory = mmap.mmap(file.fileno(), PAGE_BYTES)
        struct.pack_into("<I", self.memory, AT_DEPTH, depth)
        self.symbols, self.call = {}, ""

    def env(self, program):
        return {"LD_PRELOAD": str(self.library), "LEAT_FAULTS": str(self.path), "LEAT_FAULTS_OF": program}

    def aim(self, call, error, part=0, n_parts=1):
        """What arm() arms from now on."""
        self.disarm()
        self.call = call
        struct.pack_into("<i", self.memory, AT_ERROR, error_number(error))
        struct.pack_into("<II", self.memory, AT_PART, part, n_parts)
        self.memory[AT_CALL:AT_CALL + CALL_BYTES] = call.encode().ljust(CALL_BYTES, b"\0")

    def arm(self):
        """The next call whose stack has not failed yet will fail."""
        struct.pack_into("<I", self.memory, AT_ARMED, 1)

    def disarm(self):
        struct.pack_into("<I", self.memory, AT_ARMED, 0)

    @property
    def n_failed(self):
        return struct.unpack_from("<I", self.memory, AT_N_FAILED)[0]

    @property
    def n_blocks(self):
        """Of memory that the program holds."""
        return struct.unpack_from("<q", self.memory, AT_BLOCKS)[0]

    def start_counting(self):
        """For a process that is about to begin."""
        struct.pack_into("<q", self.memory, AT_BLOCKS, 0)

    def stack(self):
        """Functions of the stack that failed last, the innermost first."""
        raw = self.memory[AT_WHERE:AT_WHERE + WHERE_BYTES].split(b"\0")[0].decode()
        functions = []
        for line in raw.splitlines():
            file, _, offset = line.rpartition(" ")
            if line not in self.symbols:
                self.symbols[line] = symbol(file, int(offset, 16) - 1)
            functions.append(re.sub(r"\.(constprop|part|isra|cold).*", "", self.symbols[line]))
        return functions
