"""Own namespaces: nothing of the host's users, network, shared memory and name is there to be reached.

They come after the ids were dropped and need no privilege where the kernel lets everybody have a user
namespace; where it does not, the two capabilities that root keeps for the moment will do. There is no
mount namespace: one that belongs to the worker's own user namespace is what would make mounting
possible, it keeps the host's file systems busy, and the empty root directory leaves nothing to see.
"""

import os
import socket

from codemode_executor.jail import kernel
from codemode_executor.jail.layer import Context, LayerFailure, Outcome, on

HOST_NAME = "codemode-worker"


def user(context: Context) -> Outcome:
    """A user namespace in which no id is mapped: no file can be owned, no id be taken, no further one be made."""
    kernel.unshare(kernel.CLONE_NEWUSER)
    return on("own, no id is mapped")


def network(context: Context) -> Outcome:
    """A network without an interface that is up."""
    shared = context.prepared.network_namespace
    if shared:
        seen = os.stat("/proc/self/ns/net").st_ino
        if seen != shared:
            raise LayerFailure(f"the network namespace is {seen}, not the one prepared, {shared}")
        return on("own, shared by the workers of a zygote")
    kernel.unshare(kernel.CLONE_NEWNET)
    return on("own")


def ipc(context: Context) -> Outcome:
    """No System V shared memory, semaphores and queues, no POSIX queues but the worker's own."""
    kernel.unshare(kernel.CLONE_NEWIPC)
    return on("own")


def uts(context: Context) -> Outcome:
    """The host's name cannot be read."""
    kernel.unshare(kernel.CLONE_NEWUTS)
    socket.sethostname(HOST_NAME)
    kernel.set_domain_name(b"")
    if os.uname().nodename != HOST_NAME:
        raise LayerFailure(f"the host name is still {os.uname().nodename!r}")
    return on(f"own, the host is named {HOST_NAME}")
