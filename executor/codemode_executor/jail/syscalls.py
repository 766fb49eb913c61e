"""System call numbers and the allow-list.

The list was derived by tracing a worker after its seal (isolates made and freed, JIT, Intl with
time zones, buffers, collection under pressure, terminated loops, aborts) and then run with the
killing action. Every group says why it is there.
"""

import ctypes
import platform
from collections.abc import Mapping
from typing import NamedTuple

AUDIT_ARCH_X86_64 = 0xC000003E
AUDIT_ARCH_AARCH64 = 0xC00000B7

CLONE_THREAD = 0x0001_0000
# CLONE_NEW{NS,CGROUP,UTS,IPC,USER,PID,NET}
CLONE_NEW_NAMESPACES = 0x0002_0000 | 0x0200_0000 | 0x0400_0000 | 0x0800_0000 | 0x7000_0000
PR_SET_NAME = 15
PR_SET_VMA = 0x53564D41

X86_64: Mapping[str, int] = {
    "read": 0, "write": 1, "open": 2, "close": 3, "stat": 4, "fstat": 5, "lstat": 6, "poll": 7,
    "lseek": 8, "mmap": 9, "mprotect": 10, "munmap": 11, "brk": 12, "rt_sigaction": 13,
    "rt_sigprocmask": 14, "rt_sigreturn": 15, "ioctl": 16, "writev": 20, "access": 21,
    "sched_yield": 24, "mremap": 25, "madvise": 28, "shmget": 29, "nanosleep": 35, "getpid": 39,
    "socket": 41, "connect": 42, "sendto": 44, "recvfrom": 45, "sendmsg": 46, "recvmsg": 47,
    "bind": 49, "socketpair": 53, "clone": 56, "fork": 57, "vfork": 58, "execve": 59, "exit": 60,
    "kill": 62, "uname": 63, "fcntl": 72, "getcwd": 79, "unlink": 87, "readlink": 89,
    "gettimeofday": 96, "getrlimit": 97, "getrusage": 98, "ptrace": 101, "setuid": 105,
    "setresuid": 117, "statfs": 137, "setpriority": 141, "sched_getparam": 143,
    "sched_getscheduler": 145, "prctl": 157, "setrlimit": 160, "chroot": 161, "gettid": 186,
    "time": 201, "futex": 202, "sched_getaffinity": 204, "restart_syscall": 219,
    "clock_gettime": 228, "clock_nanosleep": 230, "exit_group": 231, "tgkill": 234, "openat": 257,
    "newfstatat": 262, "unlinkat": 263, "readlinkat": 267, "faccessat": 269, "ppoll": 271,
    "unshare": 272, "set_robust_list": 273, "prlimit64": 302, "seccomp": 317, "getrandom": 318,
    "memfd_create": 319, "execveat": 322, "pkey_mprotect": 329, "statx": 332, "rseq": 334,
    "clone3": 435, "openat2": 437, "faccessat2": 439, "landlock_create_ruleset": 444,
    "landlock_restrict_self": 446,
}  # fmt: skip

# Checked against the kernel's generic table by a test, and not run on such a machine yet.
# The calls missing here (open, stat, poll, fork, time, ...) do not exist on this architecture.
AARCH64: Mapping[str, int] = {
    "getcwd": 17, "fcntl": 25, "ioctl": 29, "unlinkat": 35, "statfs": 43, "faccessat": 48,
    "chroot": 51, "openat": 56, "close": 57, "lseek": 62, "read": 63, "write": 64, "writev": 66,
    "ppoll": 73, "readlinkat": 78, "newfstatat": 79, "fstat": 80, "exit": 93, "exit_group": 94,
    "unshare": 97, "futex": 98, "set_robust_list": 99, "nanosleep": 101, "clock_gettime": 113,
    "clock_nanosleep": 115, "ptrace": 117, "sched_getscheduler": 120, "sched_getparam": 121,
    "sched_getaffinity": 123, "sched_yield": 124, "restart_syscall": 128, "kill": 129,
    "tgkill": 131, "rt_sigaction": 134, "rt_sigprocmask": 135, "rt_sigreturn": 139,
    "setpriority": 140, "setuid": 146, "setresuid": 147, "uname": 160, "getrlimit": 163,
    "setrlimit": 164, "getrusage": 165, "prctl": 167, "gettimeofday": 169, "getpid": 172,
    "gettid": 178, "shmget": 194, "socket": 198, "socketpair": 199, "bind": 200, "connect": 203,
    "sendto": 206, "recvfrom": 207, "sendmsg": 211, "recvmsg": 212, "brk": 214, "munmap": 215,
    "mremap": 216, "clone": 220, "execve": 221, "mmap": 222, "mprotect": 226, "madvise": 233,
    "prlimit64": 261, "seccomp": 277, "getrandom": 278, "memfd_create": 279, "execveat": 281,
    "pkey_mprotect": 288, "statx": 291, "rseq": 293, "clone3": 435, "openat2": 437,
    "faccessat2": 439, "landlock_create_ruleset": 444, "landlock_restrict_self": 446,
}  # fmt: skip

# Numbers above this one were added after the tables were written. glibc tries such calls first
# and falls back only on ENOSYS, so that is the answer they get; both architectures share them.
LAST_KNOWN = 450


class Architecture(NamedTuple):
    """What the filter needs to know about a machine."""

    name: str
    audit_arch: int
    numbers: Mapping[str, int]
    has_x32: bool


ARCHITECTURES: Mapping[str, Architecture] = {
    "x86_64": Architecture("x86_64", AUDIT_ARCH_X86_64, X86_64, has_x32=True),
    "aarch64": Architecture("aarch64", AUDIT_ARCH_AARCH64, AARCH64, has_x32=False),
}


class Condition(NamedTuple):
    """An `argument`, by position and masked, must be one of `values`.

    The kernel reads an `int` argument from the lower half of the register and ignores the rest,
    so only pointers (`wide`) are compared in full. The value OWN_PID stands for the process id.
    """

    argument: int
    values: tuple[int, ...]
    mask: int = 0xFFFF_FFFF
    wide: bool = False


OWN_PID = -1

ALLOWED: Mapping[str, tuple[Condition, ...]] = {
    # The channel: one connected socket pair and one eventfd, both made before the seal. A
    # destination address cannot be given: sendto needs it null, and on a connected stream socket
    # the kernel refuses the one in sendmsg.
    "read": (), "write": (), "poll": (), "ppoll": (), "recvfrom": (), "recvmsg": (),
    "sendmsg": (), "sendto": (Condition(4, (0,), 0xFFFF_FFFF_FFFF_FFFF, wide=True),),
    # Letting go of a descriptor only narrows what is left.
    "close": (),
    # glibc writes "malloc(): corrupted ..." to standard error with it before it aborts.
    "writev": (),
    # Memory. V8 reserves, commits, protects (JIT) and gives back; glibc's allocator as well.
    # pkey_mprotect is V8's guard of JIT pages on processors with protection keys.
    "mmap": (), "munmap": (), "mprotect": (), "madvise": (), "mremap": (), "brk": (),
    "pkey_mprotect": (),
    # Threads: each isolate has one, Python starts some. New processes and namespaces need other
    # flags. glibc names and registers its threads, V8 names its memory.
    "clone": (Condition(0, (CLONE_THREAD,), CLONE_THREAD | CLONE_NEW_NAMESPACES),),
    "futex": (), "set_robust_list": (), "rseq": (), "sched_yield": (), "gettid": (),
    "getpid": (), "exit": (), "prctl": (Condition(0, (PR_SET_NAME, PR_SET_VMA)),),
    # pthread_getattr_np, by which V8 and Python find the bounds of a stack: it reads the own
    # limits (a new limit would need argument 2) and scheduling.
    "prlimit64": (
        Condition(0, (0, OWN_PID)),
        Condition(2, (0,), 0xFFFF_FFFF_FFFF_FFFF, wide=True),
    ),
    "sched_getaffinity": (), "sched_getscheduler": (), "sched_getparam": (),
    # Dying: abort() restores the default action and signals its own thread. Returning from a
    # handler, and restarting a sleep after one.
    "exit_group": (), "rt_sigaction": (), "rt_sigprocmask": (), "rt_sigreturn": (),
    "restart_syscall": (), "tgkill": (Condition(0, (OWN_PID,)),),
    # Clocks: real system calls where the vDSO cannot read the machine's clock.
    "clock_gettime": (), "clock_nanosleep": (), "nanosleep": (), "gettimeofday": (), "time": (),
    # Seeds for the guest's Math.random: /dev/urandom cannot be opened.
    "getrandom": (),
}  # fmt: skip

PROT_EXEC = 4

# In place of the conditions above where no new executable memory may be made. What is executable
# already (the libraries, V8's own code, the closures that ctypes has made) stays so.
WITHOUT_EXECUTABLE_MEMORY: Mapping[str, tuple[Condition, ...]] = dict.fromkeys(
    ("mmap", "mprotect", "pkey_mprotect"), (Condition(2, (0,), PROT_EXEC),)
)

# Refused by design, with an error under either action: libraries try these and live without
# (V8 opens /dev/urandom for each isolate, libffi reads /proc/self/maps, stdio asks what kind of
# file it writes to, V8 sets thread priorities and reads its usage), and the self-test tries the
# rest on purpose. Everything that is in neither table gets the policy's action.
REFUSED: tuple[str, ...] = (
    "open", "openat", "openat2", "stat", "lstat", "fstat", "newfstatat", "statx", "statfs",
    "access", "faccessat", "faccessat2", "readlink", "readlinkat", "getcwd", "unlink",
    "unlinkat", "lseek", "ioctl", "fcntl", "memfd_create",
    "getrusage", "getrlimit", "setrlimit", "setpriority",
    "fork", "vfork", "execve", "execveat", "kill", "ptrace", "unshare", "setuid", "setresuid",
    "socket", "socketpair", "connect", "bind", "seccomp", "landlock_create_ruleset",
    "landlock_restrict_self", "chroot", "shmget", "uname",
)  # fmt: skip

# glibc falls back to clone, whose flags the filter can see, only on ENOSYS.
UNKNOWN: tuple[str, ...] = ("clone3",)


def architecture() -> Architecture | None:
    """Return the running process's architecture, or None when there is no table for it."""
    if ctypes.sizeof(ctypes.c_void_p) != 8:
        return None  # a 32-bit process on a 64-bit kernel uses the other call table
    return ARCHITECTURES.get(platform.machine())
