"""Work in a forked process: what it gives, and every way in which it may fail."""

from __future__ import annotations

import pytest

from .alone import run_alone

# In a process with one thread: this one may have more.
TRY = """
def outcome(work, timeout_s=GUARD_S):
    beside = Beside(work)
    try:
        return [len(part) for part in beside.parts(timeout_s)]
    except BesideFailed as error:
        return str(error)

def refuse():
    raise ValueError("not today")
"""


@pytest.mark.parametrize(
    ("work", "timeout_s", "expected"),
    [
        ("lambda: [b'a', b'', b'b' * 5_000_000]", 10, "[1, 0, 5000000]"),
        ("lambda: []", 10, "[]"),
        ("refuse", 10, "ValueError: not today"),
        ("lambda: os.kill(os.getpid(), signal.SIGSEGV)", 10, "the process ended without an answer (signal 11)"),
        ("lambda: os._exit(3)", 10, "the process ended without an answer (exit status 3)"),
        ("lambda: signal.pause()", 0.2, "no answer within 0.2 s"),
    ],
)
def test_what_the_work_gives(work: str, timeout_s: float, expected: str) -> None:
    assert run_alone(
        f"{TRY}\nbefore = len(os.listdir('/proc/self/fd'))\nprint(outcome({work}, {timeout_s}))\n"
        "print(len(os.listdir('/proc/self/fd')) - before)\n"
        "try:\n    os.waitpid(-1, os.WNOHANG)\nexcept ChildProcessError:\n    print('no child is left')\n"
    ) == [expected, "0", "no child is left"]


def test_it_goes_on_beside_the_caller() -> None:
    assert run_alone(
        """
        reading, writing = os.pipe()
        beside = Beside(lambda: [os.read(reading, 10)])
        os.write(writing, b"from here")  # the work waits for this
        print(beside.parts(GUARD_S))
        """
    ) == ["[b'from here']"]


@pytest.mark.parametrize("work", ["lambda: [b'x' * 5_000_000]", "signal.pause", "stop"])
def test_it_does_not_outlive_its_caller(work: str) -> None:
    # Who waits for the end of this pipe waits for every process that has it open.
    assert run_alone(
        f"""
        def stop():
            os.kill(os.getpid(), signal.SIGSTOP)

        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(reading)
            Beside({work})
            signal.sigtimedwait([], 0.2)
            os._exit(0)
        os.close(writing)
        os.waitpid(pid, 0)
        print(os.read(reading, 1))
        """
    ) == ["b''"]
