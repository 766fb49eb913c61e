"""The worker's way out, over a real pair of sockets."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from codemode_executor.wire.framing import FrameDecoder
from codemode_executor.worker.outbox import Outbox

MIB = 1024 * 1024
BOUND_MIB = 4  # what may be queued before a waiting sender waits
GUARD_S = 10.0


class Pair:
    """An outbox, the end of its socket where the supervisor would read, and its wake-up."""

    def __init__(self) -> None:
        ours, self.far = socket.socketpair()
        ours.setblocking(False)
        self.far.settimeout(GUARD_S)
        self.sock = ours
        self.wake = os.eventfd(0, os.EFD_NONBLOCK)
        self.outbox = Outbox(ours, self.wake)
        self._frames = FrameDecoder(64 * MIB)
        self._ready: list[bytes] = []

    def close(self) -> None:
        self.outbox.release()
        self.sock.close()
        self.far.close()
        os.close(self.wake)

    def woken(self) -> bool:
        with contextlib.suppress(BlockingIOError):
            return os.eventfd_read(self.wake) > 0
        return False

    def read(self, count: int, *, pump: bool = True) -> list[bytes]:
        """The next ``count`` frames, with the main loop's part done in between."""
        while len(self._ready) < count:
            self._ready += self._frames.feed(self.far.recv(256 * 1024))
            if pump:
                self.outbox.pump()
        frames, self._ready = self._ready[:count], self._ready[count:]
        return frames

    def fill(self) -> int:
        """Send until a waiting sender would wait; how many frames of one MiB that took."""
        for count in range(1, 100):
            self.outbox.send(bytes([count]) * MIB)
            # What the socket itself took does not count.
            if count > BOUND_MIB + 1:
                return count
        raise AssertionError("the socket takes everything")


@pytest.fixture
def pair() -> Iterator[Pair]:
    pair = Pair()
    yield pair
    pair.close()


def start(work: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def ends(thread: threading.Thread) -> bool:
    thread.join(GUARD_S)
    return not thread.is_alive()


def stays(thread: threading.Thread) -> bool:
    thread.join(0.05)
    return thread.is_alive()


def test_a_frame_leaves_at_once_without_the_main_loop(pair: Pair) -> None:
    pair.outbox.send(b"one")
    pair.outbox.send(b"")
    assert not pair.outbox.blocked
    assert not pair.woken()
    assert pair.read(2, pump=False) == [b"one", b""]


def test_what_the_socket_does_not_take_waits_and_wakes_the_main_loop(pair: Pair) -> None:
    payload = os.urandom(2 * MIB)
    pair.outbox.send(payload)
    assert pair.outbox.blocked
    assert pair.woken()
    assert pair.read(1) == [payload]
    assert not pair.outbox.blocked


def test_a_later_frame_does_not_overtake_a_part(pair: Pair) -> None:
    big = os.urandom(MIB)
    pair.outbox.send(big)
    for number in range(50):
        pair.outbox.send(b"%d" % number)
    assert pair.read(51) == [big, *(b"%d" % number for number in range(50))]
    pair.outbox.send(b"after")
    assert not pair.outbox.blocked
    assert pair.read(1, pump=False) == [b"after"]


def test_pump_with_nothing_to_do_does_nothing(pair: Pair) -> None:
    pair.outbox.pump()
    pair.outbox.send(os.urandom(MIB))
    pair.outbox.pump()
    assert pair.outbox.blocked
    assert len(pair.read(1)[0]) == MIB


@pytest.mark.parametrize("buffer", [1, 4096])
def test_partial_writes_of_any_size_give_whole_frames(pair: Pair, buffer: int) -> None:
    pair.sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, buffer)
    payloads = [os.urandom(size) for size in (0, 1, 3, 4095, 4096, 4097, 70_001)]
    for payload in payloads:
        pair.outbox.send(payload)
    assert pair.read(len(payloads)) == payloads


def test_threads_do_not_tear_each_others_frames(pair: Pair) -> None:
    def send(name: int) -> None:
        for number in range(100):
            pair.outbox.send(b"%d:%d:" % (name, number) + b"x" * (number * 37 % 5000))

    threads = [start(lambda name=name: send(name)) for name in range(4)]
    frames = [frame.split(b":") for frame in pair.read(400)]
    assert all(ends(thread) for thread in threads)
    for name in range(4):
        mine = [int(number) for sender, number, _ in frames if int(sender) == name]
        assert mine == list(range(100))
    assert all(len(text) == int(number) * 37 % 5000 for _, number, text in frames)


def test_a_waiting_sender_waits_while_nobody_reads_and_goes_on_afterwards(pair: Pair) -> None:
    count = pair.fill()
    sender = start(lambda: pair.outbox.send(b"last", wait=True))
    assert stays(sender)
    frames = pair.read(count + 1)
    assert ends(sender)
    assert [frame[:1] for frame in frames[:-1]] == [bytes([n]) for n in range(1, count + 1)]
    assert frames[-1] == b"last"


def test_who_does_not_wait_is_never_held(pair: Pair) -> None:
    count = pair.fill()
    sender = start(lambda: pair.outbox.send(b"outcome"))
    assert ends(sender)
    assert pair.read(count + 1)[-1] == b"outcome"


def test_a_waiting_sender_does_not_wait_below_the_bound(pair: Pair) -> None:
    pair.outbox.send(os.urandom(MIB))
    sender = start(lambda: pair.outbox.send(b"more", wait=True))
    assert ends(sender)
    assert pair.read(2)[1] == b"more"


def test_release_lets_a_waiting_sender_go_and_loses_nothing(pair: Pair) -> None:
    count = pair.fill()
    sender = start(lambda: pair.outbox.send(b"held", wait=True))
    assert stays(sender)
    pair.outbox.release()
    assert ends(sender)
    # It stays open for the rest of the run.
    assert ends(start(lambda: pair.outbox.send(b"next", wait=True)))
    assert pair.read(count + 2)[-2:] == [b"held", b"next"]


def test_rearm_brings_the_wait_back(pair: Pair) -> None:
    count = pair.fill()
    pair.outbox.release()
    pair.outbox.rearm()
    sender = start(lambda: pair.outbox.send(b"held", wait=True))
    assert stays(sender)
    assert pair.read(count + 1)[-1] == b"held"
    assert ends(sender)


def test_what_is_queued_is_bounded_by_the_bound_and_one_frame(pair: Pair) -> None:
    sent = threading.Semaphore(0)

    def send() -> None:
        for _ in range(40):
            pair.outbox.send(b"x" * MIB, wait=True)
            sent.release()

    sender = start(send)
    count = 0
    while sent.acquire(timeout=0.2):
        count += 1
    # The bound, the frame that goes over it, and what the socket has taken.
    assert BOUND_MIB <= count <= BOUND_MIB + 3
    assert len(pair.read(40)) == 40
    assert ends(sender)


def test_a_supervisor_that_is_gone_is_an_error(pair: Pair) -> None:
    pair.far.close()
    with pytest.raises(OSError, match=r"\S"):
        for _ in range(3):
            pair.outbox.send(b"x")
            time.sleep(0.01)
