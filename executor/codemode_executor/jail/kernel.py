"""The C library as far as the jail needs it. Loaded once, before any fork."""

import ctypes
import os
import sys
from functools import cache

PR_SET_PDEATHSIG = 1
PR_GET_PDEATHSIG = 2
PR_SET_DUMPABLE = 4
PR_GET_DUMPABLE = 3
PR_SET_KEEPCAPS = 8
PR_SET_NO_NEW_PRIVS = 38
PR_GET_NO_NEW_PRIVS = 39

SECCOMP_SET_MODE_FILTER = 1
SECCOMP_FILTER_FLAG_TSYNC = 1

RLIM_INFINITY = 0xFFFF_FFFF_FFFF_FFFF

CAPABILITY_VERSION_3 = 0x2008_0522
CAP_SYS_CHROOT = 18
CAP_SYS_ADMIN = 21

IPC_RMID = 0

CLONE_NEWUTS = 0x0400_0000
CLONE_NEWIPC = 0x0800_0000
CLONE_NEWUSER = 0x1000_0000
CLONE_NEWNET = 0x4000_0000

LANDLOCK_CREATE_RULESET_VERSION = 1


class SockFprog(ctypes.Structure):
    """`struct sock_fprog`: number of instructions and their address."""

    _fields_ = (("len", ctypes.c_ushort), ("filter", ctypes.c_void_p))


class Rlimit(ctypes.Structure):
    """`struct rlimit64`: the current and the highest permitted value."""

    _fields_ = (("current", ctypes.c_uint64), ("maximum", ctypes.c_uint64))


class LandlockRuleset(ctypes.Structure):
    """`struct landlock_ruleset_attr`: what is forbidden unless a rule allows it."""

    _fields_ = (("fs", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class CapHeader(ctypes.Structure):
    """`struct __user_cap_header_struct`."""

    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


@cache
def libc() -> ctypes.CDLL:
    """Return the process's own C library, with the signatures that the jail uses."""
    library = ctypes.CDLL(None, use_errno=True)
    if sys.platform == "linux":
        library.prctl.argtypes = [ctypes.c_int] + [ctypes.c_ulong] * 4
        library.prctl.restype = ctypes.c_int
        library.syscall.argtypes = [ctypes.c_long] * 7
        library.syscall.restype = ctypes.c_long
        library.clearenv.restype = ctypes.c_int
        library.capset.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
        library.capset.restype = ctypes.c_int
        library.capget.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
        library.capget.restype = ctypes.c_int
        library.unshare.argtypes = [ctypes.c_int]
        library.unshare.restype = ctypes.c_int
        library.setdomainname.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
        library.setdomainname.restype = ctypes.c_int
        library.shmctl.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_void_p]
        library.shmctl.restype = ctypes.c_int
    return library


def _checked(result: int, call: str) -> int:
    if result == -1:
        code = ctypes.get_errno()
        raise OSError(code, f"{call}: {os.strerror(code)}")
    return result


def prctl(option: int, value: int = 0) -> int:
    """Call prctl(option, value, 0, 0, 0); raises OSError."""
    return _checked(int(libc().prctl(option, value, 0, 0, 0)), f"prctl({option})")


def syscall(number: int, *arguments: int) -> int:
    """Make a system call by number, with up to six integer arguments; raises OSError."""
    padded = arguments + (0,) * (6 - len(arguments))
    return _checked(int(libc().syscall(number, *padded)), f"syscall({number})")


def clear_environment() -> None:
    """Forget the C library's environment (os.environ is Python's copy of it); raises OSError."""
    if int(libc().clearenv()) != 0:
        raise OSError(ctypes.get_errno(), "clearenv failed")


def wipe(address: int, size: int) -> None:
    """Overwrite `size` bytes of this process's memory with zeros."""
    ctypes.memset(address, 0, size)


def capabilities() -> tuple[int, int]:
    """Return this thread's effective and permitted sets, one bit for each capability; raises OSError."""
    header = CapHeader(CAPABILITY_VERSION_3, 0)
    data = (ctypes.c_uint32 * 6)()
    _checked(int(libc().capget(ctypes.addressof(header), ctypes.addressof(data))), "capget")
    # Two records of effective, permitted and inheritable: the lower 32 bits, then the higher.
    return data[0] | data[3] << 32, data[1] | data[4] << 32


def set_capabilities(wanted: int) -> None:
    """Make `wanted` the effective and the permitted set, and the inheritable one empty; raises OSError."""
    header = CapHeader(CAPABILITY_VERSION_3, 0)
    low, high = wanted & 0xFFFF_FFFF, wanted >> 32
    data = (ctypes.c_uint32 * 6)(low, low, 0, high, high, 0)
    _checked(int(libc().capset(ctypes.addressof(header), ctypes.addressof(data))), "capset")


def unshare(flags: int) -> None:
    """Leave the parent's namespaces of these kinds for new ones; raises OSError."""
    _checked(int(libc().unshare(flags)), "unshare")


def set_domain_name(name: bytes) -> None:
    """Set the NIS domain name of this UTS namespace; raises OSError."""
    _checked(int(libc().setdomainname(name, len(name))), "setdomainname")


def parent_death_signal() -> int:
    """Return the signal that this process gets when its parent ends, 0 for none; raises OSError."""
    value = ctypes.c_int(0)
    prctl(PR_GET_PDEATHSIG, ctypes.addressof(value))
    return value.value


def remove_shared_memory(segment: int) -> None:
    """Remove a System V shared memory segment; raises OSError."""
    _checked(int(libc().shmctl(segment, IPC_RMID, None)), "shmctl")


def landlock_abi(create_number: int) -> int:
    """Return the version of the kernel's Landlock, at least 1; raises OSError."""
    return syscall(create_number, 0, 0, LANDLOCK_CREATE_RULESET_VERSION)


def landlock_ruleset(create_number: int, fs: int, net: int, scoped: int, size: int) -> int:
    """Return the descriptor of a ruleset without a rule; `size` of the structure are passed. Raises OSError."""
    attributes = LandlockRuleset(fs, net, scoped)
    return syscall(create_number, ctypes.addressof(attributes), size, 0)


def load_filter(seccomp_number: int, code: bytes) -> None:
    """Load a seccomp filter into every thread of the process; raises OSError."""
    buffer = ctypes.create_string_buffer(code, len(code))
    program = SockFprog(len(code) // 8, ctypes.addressof(buffer))
    refusing = syscall(
        seccomp_number,
        SECCOMP_SET_MODE_FILTER,
        SECCOMP_FILTER_FLAG_TSYNC,
        ctypes.addressof(program),
    )
    if refusing != 0:
        raise OSError(0, f"seccomp: thread {refusing} could not be given the filter")
