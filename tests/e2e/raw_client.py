"""The trainer's and the operator's protocol by hand, for clients that do not behave. See proto/packet.h."""
import array
import socket
import struct

from leat_harness import HANG_S

HELLO, WELCOME, REFUSE, OPEN, OPENED, RING, BATCH, RELEASE, END, GOAWAY, BYE = range(1, 12)
NOTICE = 0x8000 | 13
MAGIC = 0x5441454C


def packet(kind, body=b"", payload=b"", flags=0, payload_bytes=None):
    size = len(payload) if payload_bytes is None else payload_bytes
    return struct.pack("<HHI", kind, flags, size) + body.ljust(56, b"\0") + payload


REACHED, SAYS_REACHED = 0x8000 | 12, 1  # the packet, and the feature of HELLO that promises it


def hello(magic=MAGIC, major=1, minor=0, features=0):
    return packet(HELLO, struct.pack("<IHHQQ", magic, major, minor, features, 0))


def varint(value):
    out = b""
    while value > 0x7F:
        out, value = out + bytes([value & 0x7F | 0x80]), value >> 7
    return out + bytes([value])


def field(number, value):
    """Of a protobuf message: an integer."""
    return varint(number << 3) + varint(value)


def open_request(stream, window=4, n_epochs=0, epoch=0, step=0, rank=0, world_size=0, n_steps=0, local_rank=0,
                 local_world_size=0, seed=None):
    name = stream.encode()
    start = field(1, epoch) + field(2, step)
    payload = (b"\x0a" + varint(len(name)) + name + b"\x1a" + varint(len(start)) + start + field(4, n_epochs) +
               field(5, rank) + field(6, world_size) + field(7, window) + field(20, local_rank) +
               field(21, local_world_size))
    if n_steps > 0:
        payload += field(11, 1) + field(12, n_steps)
    if seed is not None:
        payload += field(8, 1) + field(9, seed)
    return packet(OPEN, payload=payload)


def reached(epoch):
    return packet(REACHED, struct.pack("<QQQQI", 0, epoch, 0, 0, 0))


def release(generation, epoch, step, slot):
    return packet(RELEASE, struct.pack("<QQQQI", generation, epoch, step, 0, slot))


class RawClient:
    def __init__(self, daemon, endpoint="trainer.sock", kind=socket.SOCK_SEQPACKET):
        self.socket = socket.socket(socket.AF_UNIX, kind)
        self.socket.settimeout(HANG_S)
        self.socket.connect(str(daemon.sockets / endpoint))

    def send(self, data):
        """Returns False if the daemon has closed the connection already."""
        try:
            self.socket.send(data)
            return True
        except (BrokenPipeError, ConnectionResetError):
            return False

    def send_fds(self, data, fds):
        """Returns False if the kernel refuses it for the daemon (SO_PASSRIGHTS, Linux 6.16)."""
        rights = array.array("i", fds)
        try:
            self.socket.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
            return True
        except PermissionError:
            return False

    def receive(self):
        """(kind, body and payload); None at the end. Descriptors that come are closed."""
        try:
            data, ancillary, _flags, _ = self.socket.recvmsg(70000, 256)
        except ConnectionResetError:
            return None
        for _level, _type, raw in ancillary:
            for fd in array.array("i", raw[:len(raw) // 4 * 4]):
                socket.close(fd)
        if not data:
            return None
        return struct.unpack_from("<H", data)[0], data[8:]

    def receive_kind(self, *kinds):
        """The next packet of one of these kinds; anything before it is passed over."""
        while True:
            got = self.receive()
            assert got is not None, "the daemon closed the connection"
            if got[0] in kinds:
                return got

    def opened(self, stream="s", window=4, features=0, **options):
        """Says hello and opens a stream."""
        self.send(hello(features=features))
        self.receive_kind(WELCOME)
        self.send(open_request(stream, window, **options))
        self.receive_kind(OPENED)
        return self

    def batch(self):
        """(generation, epoch, step, slot) of the next batch."""
        _, body = self.receive_kind(BATCH)
        generation, epoch, step, _used, slot = struct.unpack_from("<QQQQI", body)
        return generation, epoch, step, slot

    def batches(self):
        """Those that have come, without waiting."""
        self.socket.setblocking(False)
        found = []
        try:
            while True:
                found.append(self.batch())
        except BlockingIOError:
            return found
        finally:
            self.socket.settimeout(HANG_S)

    def is_closed(self):
        """Whether the daemon ends this connection (after what it had to say)."""
        try:
            while self.receive() is not None:
                pass
            return True
        except (TimeoutError, socket.timeout):
            return False

    def close(self):
        self.socket.close()
