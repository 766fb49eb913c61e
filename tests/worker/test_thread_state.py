"""Python's records of the threads of isolates: kept while they live, gone with them."""

from __future__ import annotations

import sys

import pytest

from .alone import run_alone

COUNT = """
import ctypes
from codemode_executor.worker import thread_state

python = ctypes.pythonapi
for function in (python.PyInterpreterState_Main, python.PyInterpreterState_ThreadHead, python.PyThreadState_Next):
    function.restype = ctypes.c_void_p
python.PyInterpreterState_ThreadHead.argtypes = python.PyThreadState_Next.argtypes = [ctypes.c_void_p]

def records():
    count, state = 0, python.PyInterpreterState_ThreadHead(python.PyInterpreterState_Main())
    while state:
        count, state = count + 1, python.PyThreadState_Next(state)
    return count

engine = Engine(FLAGS)
before = records()
"""


def test_no_record_outlives_its_isolate() -> None:
    assert run_alone(
        COUNT
        + """
for _ in range(40):
    isolate = Isolate(engine)
    for text in ("1", "throw 1", "'a'"):
        evaluate(isolate, text)
    isolate.free()
    Isolate(engine).free()  # one that never called back
print(records() - before)
"""
    ) == ["0"]


def test_isolates_that_are_ended_while_they_run_leave_none_either() -> None:
    assert run_alone(
        COUNT
        + """
import threading
for _ in range(10):
    isolate = Isolate(engine)
    evaluate(isolate, "1")
    isolate.evaluate(b"for (;;);", lambda reply: None)
    thread = threading.Thread(target=isolate.free)
    thread.start()
    thread.join(GUARD_S)
    assert not thread.is_alive()
print(records() - before)
"""
    ) == ["0"]


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="elsewhere Python makes one for each callback")
def test_callbacks_on_one_thread_find_the_same_record() -> None:
    assert run_alone(
        COUNT
        + """
python.PyThreadState_Get.restype = ctypes.c_void_p
isolate = Isolate(engine)
seen = queue.SimpleQueue()
for _ in range(5):
    isolate.evaluate(b"1", lambda reply: seen.put(python.PyThreadState_Get()))
print(len({seen.get(timeout=GUARD_S) for _ in range(5)}), records() - before)
"""
    ) == ["1 1"]
