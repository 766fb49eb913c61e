"""The tables, against the system's headers and against each other."""

import re
from pathlib import Path

import pytest

from codemode_executor.jail.syscalls import (
    AARCH64,
    ALLOWED,
    LAST_KNOWN,
    REFUSED,
    UNKNOWN,
    X86_64,
)

X86_64_HEADERS = (
    Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    Path("/usr/include/asm/unistd_64.h"),
)
GENERIC_HEADER = Path("/usr/include/asm-generic/unistd.h")

DANGEROUS = {
    "open", "openat", "openat2", "execve", "execveat", "fork", "vfork", "ptrace", "socket",
    "socketpair", "connect", "kill", "unshare", "setuid", "setresuid", "memfd_create", "seccomp",
    "ioctl", "fcntl", "setrlimit", "bind", "chroot", "shmget", "landlock_restrict_self",
}  # fmt: skip


def _numbers(text: str) -> dict[str, int]:
    # asm-generic spells some calls __NR3264_name and defines __NR_name from it.
    return {name: int(number) for name, number in re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)\s", text)}


def test_x86_64_numbers_match_the_headers() -> None:
    found = [header for header in X86_64_HEADERS if header.exists()]
    if not found:
        pytest.skip("the kernel's x86_64 headers are not installed")
    numbers = _numbers(found[0].read_text())
    assert {name: numbers.get(name) for name in X86_64} == dict(X86_64)


def test_aarch64_numbers_match_the_headers() -> None:
    if not GENERIC_HEADER.exists():
        pytest.skip("the kernel's generic headers are not installed")
    numbers = _numbers(GENERIC_HEADER.read_text())
    # fstatat and fstat have two spellings in the generic table.
    numbers["newfstatat"] = numbers["fstatat"]
    assert {name: numbers.get(name) for name in AARCH64} == dict(AARCH64)


@pytest.mark.parametrize("table", [X86_64, AARCH64], ids=["x86_64", "aarch64"])
def test_a_table_is_consistent(table: dict[str, int]) -> None:
    assert len(set(table.values())) == len(table)
    assert max(table.values()) <= LAST_KNOWN
    assert set(table) <= {*ALLOWED, *REFUSED, *UNKNOWN}


def test_the_answers_do_not_overlap_and_every_name_is_known() -> None:
    named = [*ALLOWED, *REFUSED, *UNKNOWN]
    assert len(named) == len(set(named))
    assert set(named) == set(X86_64)


def test_what_leads_outside_is_not_allowed() -> None:
    assert DANGEROUS.isdisjoint(ALLOWED)
    assert set(REFUSED) >= DANGEROUS


def test_the_list_is_exactly_this() -> None:
    assert sorted(ALLOWED) == [
        "brk", "clock_gettime", "clock_nanosleep", "clone", "close", "exit", "exit_group",
        "futex", "getpid", "getrandom", "gettid", "gettimeofday", "madvise", "mmap", "mprotect",
        "mremap", "munmap", "nanosleep", "pkey_mprotect", "poll", "ppoll", "prctl", "prlimit64",
        "read", "recvfrom", "recvmsg", "restart_syscall", "rseq", "rt_sigaction",
        "rt_sigprocmask", "rt_sigreturn", "sched_getaffinity", "sched_getparam",
        "sched_getscheduler", "sched_yield", "sendmsg", "sendto", "set_robust_list", "tgkill",
        "time", "write", "writev",
    ]  # fmt: skip
