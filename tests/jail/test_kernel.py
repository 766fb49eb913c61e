"""The loaded filter, asked by real system calls."""

import ctypes
import errno
import signal

import pytest

from codemode_executor.jail import kernel
from codemode_executor.jail.syscalls import ARCHITECTURES, architecture
from jail.harness import jailed

SWEEP = """
import ctypes
from codemode_executor.jail.syscalls import ALLOWED, architecture
numbers = architecture().numbers
allowed = {numbers[name] for name in ALLOWED if name in numbers}
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.argtypes = [ctypes.c_long] * 7
results = {}
for number in range(first, last):
    if number not in allowed and number not in skipped:
        ctypes.set_errno(0)
        result = libc.syscall(number, 0, 0, 0, 0, 0, 0)
        results[number] = ctypes.get_errno() if result == -1 else 0
answer["sweep"] = results
answer["allowed"] = len(allowed)
"""


# On x86_64 the kernel's own return trampolines, uretprobe and uprobe. Linux lets them past every
# seccomp filter and answers a caller that is not a trampoline with SIGILL or ENXIO.
TRAMPOLINES = (335, 336) if architecture() is ARCHITECTURES["x86_64"] else ()


def test_every_other_system_call_is_refused() -> None:
    said = jailed(f"first, last, skipped = 0, 1024, {TRAMPOLINES}\n{SWEEP}").said
    assert len(said["sweep"]) + said["allowed"] + len(TRAMPOLINES) == 1024
    wrong = {n: e for n, e in said["sweep"].items() if e not in (errno.EPERM, errno.ENOSYS)}
    assert wrong == {}


@pytest.mark.parametrize("number", TRAMPOLINES)
def test_the_kernels_trampolines_are_refused_or_fatal(number: int) -> None:
    seen = jailed(f"first, last, skipped = {number}, {number + 1}, ()\n{SWEEP}")
    if seen.answer is None:
        assert seen.exit_code == -signal.SIGILL
    else:
        assert set(seen.answer["sweep"].values()) <= {errno.EPERM, errno.ENOSYS, errno.ENXIO}


ARGUMENTS = """
import ctypes, signal
from codemode_executor.jail.syscalls import architecture
numbers = architecture().numbers
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.argtypes = [ctypes.c_long] * 7
def call(name, *arguments):
    ctypes.set_errno(0)
    padded = arguments + (0,) * (6 - len(arguments))
    return ctypes.get_errno() if libc.syscall(numbers[name], *padded) == -1 else 0
own = os.getpid()
buffer = ctypes.create_string_buffer(16)
answer["errnos"] = [
    call("tgkill", own, threading.get_native_id(), 0),
    call("tgkill", 1, 1, 0),
    call("prctl", 15, ctypes.addressof(buffer)),
    call("prctl", 4, 1),
    call("prctl", 22, 0),
    call("prlimit64", 0, 2, 0, ctypes.addressof(buffer)),
    call("prlimit64", own, 2, 0, ctypes.addressof(buffer)),
    call("prlimit64", 0, 2, ctypes.addressof(buffer), 0),
    call("prlimit64", 1, 2, 0, ctypes.addressof(buffer)),
    call("clone", 17),
    call("clone", 0x100 | 17),
    call("clone", 0x10000 | 0x10000000 | 0x100 | 0x800),
    call("clone3", 0, 0),
    call("sendto", 0, 0, 0, 0, ctypes.addressof(buffer), 16),
]
"""


def test_arguments_are_filtered() -> None:
    eperm = errno.EPERM
    assert jailed(ARGUMENTS).said["errnos"] == [
        0, eperm,  # tgkill: own, other
        0, eperm, eperm,  # prctl: name, dumpable, seccomp
        0, 0, eperm, eperm,  # prlimit64: read, read own pid, write, read other
        eperm, eperm, eperm, errno.ENOSYS,  # clone: process, vm, thread in a namespace; clone3
        eperm,  # sendto with an address
    ]  # fmt: skip


X32 = """
import ctypes
libc = ctypes.CDLL(None)
libc.syscall.argtypes = [ctypes.c_long] * 7
libc.syscall(0x40000000 + 39, 0, 0, 0, 0, 0, 0)
"""


def test_the_x32_table_kills() -> None:
    arch = architecture()
    assert arch is not None
    seen = jailed(X32)
    assert seen.exit_code == (-signal.SIGSYS if arch.has_x32 else 0)


def test_a_refused_call_raises_with_its_errno() -> None:
    with pytest.raises(OSError, match=r"prctl\(4\)") as caught:
        kernel.prctl(kernel.PR_SET_DUMPABLE, 77)
    assert caught.value.errno == errno.EINVAL


def test_wipe_overwrites_exactly_what_it_is_given() -> None:
    buffer = ctypes.create_string_buffer(b"abcdef", 6)
    kernel.wipe(ctypes.addressof(buffer) + 1, 3)
    assert buffer.raw == b"a\0\0\0ef"
