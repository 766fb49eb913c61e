"""Memory that long messages pass through is kept for the next ones.

By default, glibc asks the kernel for every block of some hundred kilobytes, and gives it back at once. The kernel
clears such memory page by page: for a message of ten megabytes that takes longer than all that is done with it.
"""

from __future__ import annotations

import ctypes
import sys

# Names and numbers of malloc.h.
_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3
_MMAP_BYTES = 32 * 1024 * 1024  # the most that glibc accepts


def keep_freed_memory(most_bytes: int) -> bool:
    """Have this process keep memory that is free, instead of giving it back and asking for it again.

    Args:
        most_bytes: that may be free at the end of the heap.

    Returns:
        Whether the C library of this process can do that: glibc can.
    """
    if sys.platform == "win32":  # where a process cannot look into itself like that
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    return bool(mallopt(_M_MMAP_THRESHOLD, _MMAP_BYTES) and mallopt(_M_TRIM_THRESHOLD, most_bytes))
