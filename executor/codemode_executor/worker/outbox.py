"""The worker's way out. Any thread may send; nobody overtakes; when nobody reads, the isolate's thread has to wait."""

from __future__ import annotations

import os
import socket
import threading
from collections import deque

from ..wire.framing import encode_frame, frame_prefix

_HIGH_WATER = 4 * 1024 * 1024
_JOIN_BYTES = 64 * 1024


class Outbox:
    """Frames for the supervisor.

    Args:
        sock: connected, non-blocking.
        wake: called when the main loop has to wait for the socket to take more.
    """

    def __init__(self, sock: socket.socket, wake: int) -> None:
        self._sock = sock
        self._wake = wake
        self._lock = threading.Lock()
        self._room = threading.Condition(self._lock)
        self._queue: deque[memoryview] = deque()
        self._queued = 0
        self._open_gate = False

    def send(self, payload: bytes, *, wait: bool = False) -> None:
        """Send a frame, now if the socket takes it.

        Args:
            payload: one encoded message.
            wait: block while too much is queued already. For the isolate's thread: it is the program's backpressure.
        """
        with self._room:
            while wait and self._queued > _HIGH_WATER and not self._open_gate:
                self._room.wait()
            # A long payload is not copied once more to stand behind its length.
            parts = (encode_frame(payload),) if len(payload) < _JOIN_BYTES else (frame_prefix(len(payload)), payload)
            for part in map(memoryview, parts):
                rest = part if self._queue else self._write(part)
                if rest:
                    self._queue.append(rest)
                    self._queued += len(rest)
            if self._queue:
                os.eventfd_write(self._wake, 1)

    @property
    def blocked(self) -> bool:
        """Something waits for the socket to take more."""
        return bool(self._queue)

    def pump(self) -> None:
        """The socket takes more: go on. For the main loop."""
        with self._room:
            while self._queue:
                frame = self._queue[0]
                rest = self._write(frame)
                self._queued -= len(frame) - len(rest)
                if rest:
                    self._queue[0] = rest
                    return
                self._queue.popleft()
                self._room.notify_all()

    def release(self) -> None:
        """Let the isolate's thread go, whatever is queued: its run is being ended."""
        with self._room:
            self._open_gate = True
            self._room.notify_all()

    def rearm(self) -> None:
        """A new run begins; undo ``release``."""
        with self._room:
            self._open_gate = False

    def _write(self, frame: memoryview) -> memoryview:
        while frame:
            try:
                sent = self._sock.send(frame)
            except BlockingIOError:
                break
            frame = frame[sent:]
        return frame
