"""An empty, removed directory as the root: no path leads anywhere, not even for calls Landlock ignores."""

import os

from codemode_executor.jail.layer import Context, LayerFailure, Outcome, on


def confine(context: Context) -> Outcome:
    """The layer. A process whose root is not its namespace's own can make no user namespace either."""
    fd = context.prepared.root_fd
    if fd < 0:
        raise LayerFailure(context.prepared.root_problem)
    os.fchdir(fd)
    os.chroot(".")
    seen = os.stat("/")
    if (seen.st_dev, seen.st_ino) != context.prepared.root_identity:
        raise LayerFailure("the root directory is not the empty one")
    return on("an empty directory that is removed already")
