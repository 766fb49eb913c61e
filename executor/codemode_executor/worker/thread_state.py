"""Python's record of a thread that is not its own: V8's, on which an isolate calls back.

ctypes has Python make that record for each callback and throw it away afterwards, memory for frames included, which
takes twice as long as most callbacks themselves. One that is kept is found again.
"""

from __future__ import annotations

import ctypes
import sys

# What is kept is deleted from another thread, when its own has ended. From 3.12 on, Python would forget the deleting
# thread's record with it.
_KEEPS = sys.implementation.name == "cpython" and sys.version_info[:2] == (3, 11)

# Called with the interpreter's lock held, unlike functions of other libraries.
_python = ctypes.pythonapi
_python.PyGILState_Ensure.argtypes = []
_python.PyGILState_Ensure.restype = ctypes.c_int
_python.PyThreadState_Get.argtypes = []
_python.PyThreadState_Get.restype = ctypes.c_void_p
_python.PyThreadState_Clear.argtypes = [ctypes.c_void_p]
_python.PyThreadState_Clear.restype = None
_python.PyThreadState_Delete.argtypes = [ctypes.c_void_p]
_python.PyThreadState_Delete.restype = None


def keep() -> int:
    """Keep the record of the calling thread, in a callback on it. Once for each thread.

    Returns:
        What ``drop`` is to be given; 0 where nothing is kept.
    """
    if not _KEEPS:
        return 0
    _python.PyGILState_Ensure()  # one more than ctypes takes back
    return _python.PyThreadState_Get() or 0


def drop(kept: int) -> None:
    """Delete a record, once its thread has ended."""
    if kept:
        _python.PyThreadState_Clear(kept)
        _python.PyThreadState_Delete(kept)
