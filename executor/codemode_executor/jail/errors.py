"""The one error the jail raises."""

import errno as errno_module


class JailError(Exception):
    """The jail could not be built, or was found open.

    Attributes:
        layer: name of the layer (or probe, or check) that failed.
        errno: the system's error number, or None when no call failed.
        problem: what went wrong, with the value that was seen.
        remedy: what the operator can change.
    """

    def __init__(self, layer: str, problem: str, *, remedy: str, errno: int | None = None) -> None:
        self.layer = layer
        self.errno = errno
        self.problem = problem
        self.remedy = remedy
        code = "" if errno is None else f" ({errno_module.errorcode.get(errno, errno)})"
        super().__init__(f'jail layer "{layer}" failed: {problem}{code}. To fix it: {remedy}')
