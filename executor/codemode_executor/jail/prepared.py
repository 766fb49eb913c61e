"""What is made once, before the fork, for every worker: it is the same for all and costs time.

A new network namespace waits for locks that the kernel holds while it takes old ones apart: made
one by one, a burst of workers waits up to 25 ms for theirs. One that all workers of a zygote share
is as empty: nothing in it is up, nobody in it may configure it, and Landlock keeps the workers from
each other's abstract sockets.
"""

import os
import sys

from codemode_executor.jail import kernel, landlock
from codemode_executor.jail.layer import Prepared
from codemode_executor.jail.policy import JailPolicy

# The first that takes a directory for a moment. Memory is preferred to a disk.
_PLACES = ("/dev/shm", "/tmp", "/var/tmp", "/run", "/")


def make(policy: JailPolicy | None) -> Prepared:
    """Make what the policy may need. Never raises: what is missing is reported by its layer.

    Args:
        policy: with one, and if it wants the layer, the calling process itself moves to a network
            namespace of its own. It must have one thread.
    """
    if sys.platform != "linux":
        return Prepared()
    root_fd, root_problem = _empty_directory()
    status = os.fstat(root_fd) if root_fd >= 0 else None
    abi, landlock_fd, landlock_problem = landlock.ruleset()
    network, network_problem = 0, ""
    if policy is not None and policy.wanted("network_namespace") != "off":
        network, network_problem = _leave_the_network()
    return Prepared(
        root_fd,
        (status.st_dev, status.st_ino) if status is not None else (0, 0),
        root_problem,
        landlock_fd,
        abi,
        landlock_problem,
        network,
        network_problem,
    )


def release(prepared: Prepared) -> None:
    """Close what `make` opened."""
    for fd in prepared.descriptors:
        os.close(fd)


def _empty_directory() -> tuple[int, str]:
    """A directory that is removed while it is open: nothing is in it, and nothing can be put into it."""
    problems: list[str] = []
    for place in _PLACES:
        path = f"{place}/codemode-jail-{os.urandom(8).hex()}"
        try:
            os.mkdir(path, 0o700)
        except OSError as refusal:
            problems.append(f"{place}: {refusal.strerror}")
            continue
        try:
            # Whoever lives in it is another user and has to enter it.
            os.chmod(path, 0o555)
            return os.open(path, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW), ""
        except OSError as refusal:
            problems.append(f"{place}: {refusal.strerror}")
        finally:
            os.rmdir(path)
    return -1, "no empty directory can be made (" + ", ".join(problems) + ")"


def _leave_the_network() -> tuple[int, str]:
    try:
        if kernel.capabilities()[0] >> kernel.CAP_SYS_ADMIN & 1:
            kernel.unshare(kernel.CLONE_NEWNET)
        elif os.geteuid() != 0:
            _become_alone_in_a_user_namespace(kernel.CLONE_NEWNET)
        else:
            # As root of a container: its workers drop root first, and then try for themselves.
            return 0, "CAP_SYS_ADMIN is missing"
        return os.stat("/proc/self/ns/net").st_ino, ""
    except OSError as refusal:
        return 0, refusal.strerror or str(refusal)


def _become_alone_in_a_user_namespace(flags: int) -> None:
    """An ordinary user's way to a network namespace. Workers make their own user namespace inside this one."""
    uid, gid = os.geteuid(), os.getegid()
    kernel.unshare(kernel.CLONE_NEWUSER | flags)
    # Only a process with mapped ids can make a further user namespace.
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        fd = os.open(f"/proc/self/{name}", os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(fd, text.encode())
        finally:
            os.close(fd)
    kernel.set_capabilities(0)
