"""What a layer of the jail is: a function that takes the context and says what it did."""

from collections.abc import Callable, Collection
from typing import NamedTuple

from codemode_executor.jail.policy import JailPolicy, LayerName
from codemode_executor.jail.report import LayerState


class LayerFailure(Exception):
    """A layer does not hold although no system call failed."""


class Prepared(NamedTuple):
    """What was made before the fork. Descriptors are -1 where something is missing; the text
    beside them says what.

    `network_namespace` is the inode of the namespace that was made, 0 if none was;
    `root_identity` device and inode of the directory behind `root_fd`.
    """

    root_fd: int = -1
    root_identity: tuple[int, int] = (0, 0)
    root_problem: str = ""
    landlock_fd: int = -1
    landlock_abi: int = 0
    landlock_problem: str = ""
    network_namespace: int = 0
    network_problem: str = ""

    @property
    def descriptors(self) -> frozenset[int]:
        """Those that a worker has to inherit."""
        return frozenset(fd for fd in (self.root_fd, self.landlock_fd) if fd >= 0)


class Context(NamedTuple):
    """What the layers are given."""

    policy: JailPolicy
    keep_fds: Collection[int]
    parent_pid: int
    prepared: Prepared


class Outcome(NamedTuple):
    """What a layer did."""

    state: LayerState
    detail: str


class Layer(NamedTuple):
    """One layer. It raises OSError, or LayerFailure when no call failed but it does not hold.

    `fatal`: nobody may go on without it where it was tried, not even with "used".
    """

    name: LayerName
    apply: Callable[[Context], Outcome]
    remedy: str
    linux_only: bool = True
    fatal: bool = False


def on(detail: str) -> Outcome:
    """The layer holds."""
    return Outcome("on", detail)
