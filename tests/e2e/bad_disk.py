"""A disk that fails as it is told to: a file system in memory, by the kernel's own FUSE (/dev/fuse), without a library.

`with BadDisk(folder) as disk:` mounts it on a folder. Files and folders can be made, written, renamed and removed as on other disks.
`disk.fail` maps (call, end of a name) to an errno: read, write, open, create, flush, fsync, rename, mkdir, unlink, getattr. With
`disk.from_byte`, reads and writes fail only from that byte on. Within `with disk.paused():` each read waits for its end; `disk.wait_for_reader()` returns once one does.
Nothing stays in the kernel's cache. Skips where a file system cannot be mounted.
"""
import contextlib
import ctypes
import errno
import os
import stat
import struct
import threading

from leat_harness import HANG_S, Skip

LOOKUP, FORGET, GETATTR, SETATTR, MKDIR, UNLINK, RMDIR, RENAME, OPEN, READ, WRITE = 1, 2, 3, 4, 9, 10, 11, 12, 14, 15, 16
STATFS, RELEASE, FSYNC, FLUSH, INIT, OPENDIR, READDIR, RELEASEDIR, FSYNCDIR = 17, 18, 20, 25, 26, 27, 28, 29, 30
CREATE, INTERRUPT, BATCH_FORGET, RENAME2 = 35, 36, 42, 45
NAMES = {LOOKUP: "getattr", GETATTR: "getattr", MKDIR: "mkdir", UNLINK: "unlink", RENAME: "rename", RENAME2: "rename", OPEN: "open", READ: "read",
         WRITE: "write", FSYNC: "fsync", FLUSH: "flush", CREATE: "create"}
SIZE, MTIME = 8, 32  # bits of SETATTR
DIRECT_IO = 1
BYTES_MAX = 1 << 20
UMOUNT_LAZY = 2


class Node:
    def __init__(self, inode, name, mode):
        self.inode, self.name, self.mode, self.data, self.entries, self.time_ns = inode, name, mode, bytearray(), {}, inode

    def attr(self):
        seconds, rest = divmod(self.time_ns, 10**9)
        return struct.pack("<QQQQQQIIIIIIIIII", self.inode, len(self.data), len(self.data) // 512 + 1, seconds, seconds, seconds, rest, rest, rest,
                           self.mode, 1, os.geteuid(), os.getegid(), 0, 4096, 0)

    def entry(self):
        return struct.pack("<QQQQII", self.inode, 0, 0, 0, 0, 0) + self.attr()


class BadDisk:
    def __init__(self, folder):
        self.folder, self.fail, self.from_byte, self.n_failed = folder, {}, 0, 0
        self.go_on, self.has_reader = threading.Event(), threading.Event()
        self.go_on.set()
        self.nodes = {1: Node(1, "", stat.S_IFDIR | 0o755)}
        self.n_changes = 1

    def __enter__(self):
        self.folder.mkdir(exist_ok=True)
        libc = ctypes.CDLL(None, use_errno=True)
        try:
            self.fd = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        except OSError as error:
            raise Skip(f"/dev/fuse: {error.strerror}") from error
        options = f"fd={self.fd},rootmode=40000,user_id={os.geteuid()},group_id={os.getegid()},allow_other"
        if libc.mount(b"leat-test", os.fsencode(self.folder), b"fuse", 0, options.encode()) < 0:
            os.close(self.fd)
            raise Skip(f"a file system of FUSE cannot be mounted: {os.strerror(ctypes.get_errno())}")
        self.umount = lambda: libc.umount2(os.fsencode(self.folder), UMOUNT_LAZY)
        for _ in range(4):  # a read that waits must not keep others from being answered
            threading.Thread(target=self.serve, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.fail = {}
        self.umount()

    @contextlib.contextmanager
    def paused(self):
        self.has_reader.clear()
        self.go_on.clear()
        try:
            yield
        finally:  # a process cannot even end while it waits for an answer
            self.go_on.set()

    def wait_for_reader(self):
        if not self.has_reader.wait(HANG_S):
            raise AssertionError("nobody reads")

    def put(self, name, text):
        """Makes a file behind the kernel's back, or replaces what it holds."""
        root = self.nodes[1]
        node = root.entries.get(name) or self.make(root, name, stat.S_IFREG | 0o644)
        node.data = bytearray(text.encode())
        self.touch(node)

    def names(self):
        return sorted(self.nodes[1].entries)

    def make(self, parent, name, mode):
        self.n_changes += 1
        node = self.nodes[self.n_changes + 1] = Node(self.n_changes + 1, name, mode)
        parent.entries[name] = node
        return node

    def touch(self, node):
        self.n_changes += 1
        node.time_ns = self.n_changes * 10**9

    def serve(self):
        while True:
            try:
                request = os.read(self.fd, BYTES_MAX + 4096)
            except OSError as error:
                if error.errno in (errno.EINTR, errno.EAGAIN, errno.ENOENT):
                    continue
                return  # it is unmounted
            n, call, unique, inode = struct.unpack_from("<IIQQ", request)
            if call in (FORGET, BATCH_FORGET, INTERRUPT):
                continue
            try:
                reply, code = self.answer(call, inode, request[40:n]), 0
            except OSError as error:
                reply, code = b"", -error.errno
            except KeyError:
                reply, code = b"", -errno.ENOENT
            try:
                os.write(self.fd, struct.pack("<IiQ", 16 + len(reply), code, unique) + reply)
            except OSError:
                pass  # the caller was interrupted, or it is unmounted

    def check(self, call, name, end=0):
        for (what, suffix), code in list(self.fail.items()):
            if NAMES.get(call) == what and name.endswith(suffix) and (call not in (READ, WRITE) or end > self.from_byte):
                self.n_failed += 1
                raise OSError(code, name)

    def answer(self, call, inode, body):
        if call == INIT:
            return struct.pack("<IIIIHHIIHHI28x", 7, 31, 0, 0, 8, 8, BYTES_MAX // 8, 1, 0, 0, 0)
        node = self.nodes[inode]
        if call in (LOOKUP, MKDIR, UNLINK, RMDIR, CREATE, RENAME, RENAME2):
            return self.answer_name(call, node, body)
        if call in (READ, WRITE):
            offset, n = struct.unpack_from("<QI", body, 8)
            if call == READ:
                if not self.go_on.is_set():
                    self.has_reader.set()
                self.go_on.wait()
            self.check(call, node.name, offset + n)
            if call == READ:
                return bytes(node.data[offset:offset + n])
            node.data[len(node.data):offset] = bytes(max(0, offset - len(node.data)))
            node.data[offset:offset + n] = body[40:40 + n]
            self.touch(node)
            return struct.pack("<II", n, 0)
        self.check(call, node.name)
        if call == SETATTR:
            (valid,) = struct.unpack_from("<I", body)
            (size,) = struct.unpack_from("<Q", body, 16)
            if valid & SIZE:
                node.data = node.data[:size] + bytes(max(0, size - len(node.data)))
                self.touch(node)
        if call in (GETATTR, SETATTR):
            return struct.pack("<QII", 0, 0, 0) + node.attr()
        if call in (OPEN, OPENDIR):
            return struct.pack("<QII", 0, DIRECT_IO if call == OPEN else 0, 0)
        if call == READDIR:
            (offset,) = struct.unpack_from("<Q", body, 8)
            return b"".join(self.listed(node, offset))
        if call == STATFS:
            return struct.pack("<QQQQQIIII24x", 1 << 20, 1 << 19, 1 << 19, 1000, 900, 4096, 255, 4096, 0)
        if call in (RELEASE, RELEASEDIR, FLUSH, FSYNC, FSYNCDIR):
            return b""
        raise OSError(errno.ENOSYS, "call")

    def answer_name(self, call, node, body):
        head = {MKDIR: 8, CREATE: 16, RENAME: 8, RENAME2: 16}.get(call, 0)
        names = [os.fsdecode(part) for part in body[head:].split(b"\0")]
        self.check(call, names[-2] if call in (RENAME, RENAME2) else names[0])
        if call == LOOKUP:
            return node.entries[names[0]].entry()
        if call in (MKDIR, CREATE):
            (mode,) = struct.unpack_from("<I", body, 0 if call == MKDIR else 4)
            made = node.entries.get(names[0]) or self.make(node, names[0], (stat.S_IFDIR if call == MKDIR else stat.S_IFREG) | (mode & 0o777))
            return made.entry() + (struct.pack("<QII", 0, DIRECT_IO, 0) if call == CREATE else b"")
        if call in (UNLINK, RMDIR):
            del node.entries[names[0]]
            return b""
        (target,) = struct.unpack_from("<Q", body)
        moved = node.entries.pop(names[0])
        moved.name = names[1]
        self.nodes[target].entries[names[1]] = moved
        return b""

    @staticmethod
    def listed(node, offset):
        for place, (name, entry) in enumerate(list(node.entries.items())[offset:], offset + 1):
            raw = os.fsencode(name)
            yield struct.pack("<QQII", entry.inode, place, len(raw), entry.mode >> 12) + raw + bytes(-len(raw) % 8)
