"""Who a worker is, what it may still become, and who may look inside: nobody, nothing, nobody."""

import os
import signal
import sys

from codemode_executor.jail import kernel
from codemode_executor.jail.layer import Context, LayerFailure, Outcome, on

# The overflow uid and gid, "nobody": they own nothing.
NOBODY_UID = 65534
NOBODY_GID = 65534


# All that the layers after the drop of the ids need, where root has no user namespace to be had.
_FOR_LATER = 1 << kernel.CAP_SYS_CHROOT | 1 << kernel.CAP_SYS_ADMIN


def identity(context: Context) -> Outcome:
    """An id that owns nothing. Two capabilities outlive the drop until `capabilities`."""
    if 0 not in (os.getuid(), os.geteuid()):
        return Outcome("off", f"not root: stays uid {os.getuid()}")
    os.setgroups([])
    os.setgid(NOBODY_GID)
    if sys.platform != "linux":
        os.setuid(NOBODY_UID)
        return on(f"uid {NOBODY_UID}, gid {NOBODY_GID}, no groups")
    keep = context.policy.wanted("capabilities") != "off"
    if keep:
        kernel.prctl(kernel.PR_SET_KEEPCAPS, 1)
    try:
        os.setuid(NOBODY_UID)
    finally:
        if keep:
            kernel.prctl(kernel.PR_SET_KEEPCAPS, 0)
    if keep:
        kernel.set_capabilities(kernel.capabilities()[1] & _FOR_LATER)
    seen = os.getresuid() + os.getresgid()
    if seen != (NOBODY_UID,) * 3 + (NOBODY_GID,) * 3 or os.getgroups():
        raise LayerFailure(f"after the drop the ids are {seen}, the groups {os.getgroups()}")
    return on(f"uid {NOBODY_UID}, gid {NOBODY_GID}, no groups")


def capabilities(context: Context) -> Outcome:
    """None, be they left of root, given to an ordinary user, or come with the user namespace."""
    kernel.set_capabilities(0)
    effective, permitted = kernel.capabilities()
    if effective | permitted:
        raise LayerFailure(f"capabilities {effective | permitted:x} are left")
    return on("none")


def no_new_privs(context: Context) -> Outcome:
    """No program that is started may give what this process has not."""
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    if kernel.prctl(kernel.PR_GET_NO_NEW_PRIVS) != 1:
        raise LayerFailure("the flag did not stay set")
    return on("set")


def core_dumps(context: Context) -> Outcome:
    """No core dump, and nobody looks into the memory but root.

    What the supervisor watches (status, stat, statm and the list of threads in /proc) stays readable
    for everybody; only maps, smaps, environ, fd and mem do not.
    """
    # A core limit of 0 does not stop a kernel that pipes core dumps to a program. Not being
    # dumpable does, and keeps other processes of the same uid from attaching.
    kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
    if kernel.prctl(kernel.PR_GET_DUMPABLE) != 0:
        raise LayerFailure("the process is still dumpable")
    return on("not dumpable")


def parent_death(context: Context) -> Outcome:
    """The worker ends with its zygote."""
    # After the drop, because a change of uid clears it. An extra only: it follows the thread that
    # forked, not the process.
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != context.parent_pid:
        raise LayerFailure(f"the parent {context.parent_pid} ended before its signal was set")
    return on(f"SIGKILL when {context.parent_pid} ends")
