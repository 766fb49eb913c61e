"""V8's startup snapshots: an isolate that begins where a script has ended.

mini-racer evaluates what it is given from its text, in every isolate anew. V8 itself can write down what a script has
made of a fresh context, compiled code included, and begin isolates there, which takes a fraction of the time. For that
mini-racer has no call, but its library exports V8's own functions: one makes a snapshot, another says where the one is
kept that isolates begin with.

All of it is an optimisation: where a function is missing, ``Snapshots`` cannot be made, and scripts are evaluated.
``tests/worker/test_snapshots.py`` is the contract that an upgrade of mini-racer must meet.
"""

from __future__ import annotations

import ctypes
import mmap
import os
from typing import Any

#: Isolates of one process share V8's read-only objects, so no snapshot may bring its own.
FLAGS = ("--no-extensible-ro-snapshot",)

# In the Itanium C++ ABI: CreateSnapshotDataBlobInternal(FunctionCodeHandling, char const*, Flags<SerializerFlag>),
# Snapshot::DefaultSnapshotBlob(), Snapshot::VersionIsValid(StartupData const*).
_CREATE = (
    "_ZN2v88internal30CreateSnapshotDataBlobInternalENS_15SnapshotCreator20FunctionCodeHandlingEPKcNS_4base5Flags"
    "INS0_8Snapshot14SerializerFlagEiiEE"
)
_DEFAULT = "_ZN2v88internal8Snapshot19DefaultSnapshotBlobEv"
_VERSION_IS_VALID = "_ZN2v88internal8Snapshot14VersionIsValidEPKNS_11StartupDataE"

_KEEP_CODE = 1  # FunctionCodeHandling::kKeep
_NO_FLAGS = 0

_PROT_READ = 1
_PROT_WRITE = 2


class SnapshotsUnavailable(RuntimeError):
    """This build of V8 cannot be made to begin with another snapshot; the message says why."""


class SnapshotFailed(RuntimeError):
    """V8 made no snapshot: the script threw, or left something behind that cannot be written down."""


class _StartupData(ctypes.Structure):
    _fields_ = (("data", ctypes.c_void_p), ("raw_size", ctypes.c_int))


class Snapshot:
    """A snapshot in this process's memory.

    Args:
        data: what ``Snapshots.make`` gave, in this process or another one with the same library.
    """

    def __init__(self, data: bytes) -> None:
        self.size = len(data)
        self._held = (ctypes.c_char * self.size).from_buffer_copy(data)
        self.address = ctypes.addressof(self._held)


class Snapshots:
    """Makes snapshots, and chooses the one with which isolates begin.

    Args:
        library: mini-racer's, with V8 initialised by ``FLAGS`` among others.

    Raises:
        SnapshotsUnavailable: it lacks what this needs.
    """

    def __init__(self, library: ctypes.CDLL) -> None:
        try:
            self._create = _function(library, _CREATE, _StartupData, [ctypes.c_int, ctypes.c_char_p, ctypes.c_int])
            default = _function(library, _DEFAULT, ctypes.POINTER(_StartupData), [])
            valid = _function(library, _VERSION_IS_VALID, ctypes.c_bool, [ctypes.POINTER(_StartupData)])
        except AttributeError as error:
            raise SnapshotsUnavailable(f"the library does not export what makes snapshots: {error}") from error
        pointer = default()
        if not pointer or not pointer.contents.data or not valid(pointer):
            raise SnapshotsUnavailable("V8 does not say with which snapshot isolates begin")
        self._chosen = pointer.contents
        #: What isolates begin with until another one is chosen.
        self.original = Snapshot(ctypes.string_at(self._chosen.data, self._chosen.raw_size))
        self._kept: list[Snapshot] = []  # isolates go on referring to theirs
        self._locked = True

    def make(self, script: bytes) -> bytes:
        """Evaluate ``script`` in a fresh context, and write down what it has made of that with its compiled functions.

        The process needs no isolate for it, and has no further thread afterwards, but V8 keeps the memory. Call it
        while isolates begin with the original snapshot.

        Raises:
            SnapshotFailed: the script threw, or what it has made cannot be written down.
        """
        made = self._create(_KEEP_CODE, script, _NO_FLAGS)
        if not made.data or made.raw_size <= 0:
            raise SnapshotFailed("V8 made no snapshot of the script")
        return ctypes.string_at(made.data, made.raw_size)

    def choose(self, snapshot: Snapshot) -> None:
        """Isolates that are made from now on begin with ``snapshot``.

        Raises:
            SnapshotsUnavailable: V8's own note of it cannot be changed.
        """
        if self._locked:
            self._protect(_PROT_READ | _PROT_WRITE)
            self._locked = False
        self._kept.append(snapshot)
        self._chosen.data = snapshot.address
        self._chosen.raw_size = snapshot.size

    def lock(self) -> None:
        """What is chosen stays: the memory in which V8 notes it becomes read-only again, as the linker had made it.

        Raises:
            SnapshotsUnavailable: it cannot be.
        """
        if not self._locked:
            self._protect(_PROT_READ)
            self._locked = True

    def _protect(self, protection: int) -> None:
        start = ctypes.addressof(self._chosen)
        first = start - start % mmap.PAGESIZE
        length = start + ctypes.sizeof(self._chosen) - first
        # Held by ctypes: not `mmap`, which cannot change a mapping of somebody else's.
        libc = ctypes.CDLL(None, use_errno=True)
        libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
        if libc.mprotect(first, length, protection) != 0:
            code = ctypes.get_errno()
            raise SnapshotsUnavailable(f"the note of the snapshot cannot be changed: {os.strerror(code)}")


def _function(library: ctypes.CDLL, name: str, result: Any, arguments: list[Any]) -> Any:
    function = library[name]  # not an attribute: a function object of its own, whose types nobody else sets
    function.restype = result
    function.argtypes = arguments
    return function
