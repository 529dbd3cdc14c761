"""The framed JSON channel on a file descriptor of its own: a little-endian u32 length, then UTF-8 JSON (src/base/subprocess.h)."""

import fcntl
import json
import os
import socket
import struct

LIMIT = 256 << 20
HIGH = 200  # the channel moves above the descriptors that a user's file may guess or inherit


class Channel:
    @classmethod
    def from_environment(cls):
        """Takes the channel over: moved high and close-on-exec, its old number pointing at nothing."""
        given = int(os.environ.pop("CUTEGEN_CHANNEL_FD", "3"))
        high = fcntl.fcntl(given, fcntl.F_DUPFD_CLOEXEC, HIGH)
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, given, inheritable=False)
        os.close(null)
        return cls(socket.socket(fileno=high))

    def __init__(self, sock):
        self.sock = sock

    def receive(self):
        """The next message, or None when the other side is gone."""
        header = self._exactly(4)
        if header is None:
            return None
        size, = struct.unpack("<I", header)
        if size > LIMIT:
            return None
        body = self._exactly(size)
        return None if body is None else json.loads(body)

    def send(self, message):
        body = json.dumps(message, allow_nan=False).encode()
        self.sock.sendall(struct.pack("<I", len(body)) + body)

    def _exactly(self, count):
        parts = bytearray()
        while len(parts) < count:
            part = self.sock.recv(min(1 << 20, count - len(parts)))
            if not part:
                return None
            parts += part
        return bytes(parts)
