"""The layers of the jail, in the order in which they must be applied.

Ids are dropped first: what follows needs no root. A user namespace gives the right to the other
namespaces and to a new root, and none can be made behind a new root. /proc is needed until then.
Everything that binds only the calling thread comes before the first thread, and the filter last.
"""

from codemode_executor.jail import (
    inheritance,
    landlock,
    namespaces,
    privileges,
    root_directory,
    seccomp,
)
from codemode_executor.jail.layer import Layer

_USED = 'or accept a weaker jail with hardening="used"'

_PERMIT = "permit it to this process (a container's seccomp profile or a sysctl may forbid it)"
_OPTIONAL = "or do not require this layer"

LAYERS: tuple[Layer, ...] = (
    Layer("threads", inheritance.threads, "apply the jail right after the fork, before any thread starts"),
    Layer("descriptors", inheritance.descriptors, "pass descriptors that are open and mount /proc", linux_only=False),
    Layer("environment", inheritance.environment, "mount /proc", linux_only=False),
    Layer("session", inheritance.session, "apply the jail in a process of its own", linux_only=False),
    Layer(
        "priority", inheritance.priority,
        "ask for a niceness and an oom_score_adj no lower than the host's own", linux_only=False,
    ),
    Layer(
        "identity", privileges.identity,
        f"run as an ordinary user, or grant CAP_SETUID and CAP_SETGID and map uid and gid "
        f"{privileges.NOBODY_UID} into the user namespace, {_USED}",
        linux_only=False,
    ),
    Layer("user_namespace", namespaces.user, f"{_PERMIT}: user.max_user_namespaces above 0, {_OPTIONAL}"),
    Layer("network_namespace", namespaces.network, f"{_PERMIT}: a user namespace or CAP_SYS_ADMIN, {_OPTIONAL}"),
    Layer("ipc_namespace", namespaces.ipc, f"{_PERMIT}: a user namespace or CAP_SYS_ADMIN, {_OPTIONAL}"),
    Layer("uts_namespace", namespaces.uts, f"{_PERMIT}: a user namespace or CAP_SYS_ADMIN, {_OPTIONAL}"),
    Layer("limits", inheritance.limits, f"mount /proc, {_USED}", linux_only=False),
    Layer(
        "root_directory", root_directory.confine,
        f"{_PERMIT}: a user namespace or CAP_SYS_CHROOT, and a directory that can be made in /dev/shm or /tmp, "
        f"{_OPTIONAL}",
    ),
    # Two that root has kept and all that came with the user namespace are in this process's hands
    # until here: a jail that cannot let go of them is none.
    Layer("capabilities", privileges.capabilities, "allow capset", fatal=True),
    Layer("no_new_privs", privileges.no_new_privs, f"use Linux 3.5 or newer, {_USED}"),
    Layer("core_dumps", privileges.core_dumps, f"allow prctl(PR_SET_DUMPABLE), {_USED}"),
    Layer("parent_death", privileges.parent_death, "keep the zygote alive while it starts workers"),
    Layer(
        "landlock", landlock.restrict,
        f"use Linux 5.13 or newer with Landlock among its security modules (lsm=landlock,...), {_OPTIONAL}",
    ),
    Layer(
        "seccomp", seccomp.load,
        f"use Linux 3.17 or newer with CONFIG_SECCOMP_FILTER on x86_64 or aarch64, {_USED}",
    ),
)  # fmt: skip
