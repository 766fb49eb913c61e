"""Builds the jail around the calling process."""

import os
import sys
from collections.abc import Collection

from codemode_executor.jail import kernel, probes
from codemode_executor.jail.errors import JailError
from codemode_executor.jail.layers import (
    LAYERS,
    Context,
    Layer,
    LayerFailure,
    Outcome,
    filter_program,
)
from codemode_executor.jail.policy import JailPolicy
from codemode_executor.jail.report import JailReport, LayerReport


def prepare() -> None:
    """Load everything that `apply` and the self-test need; call it before the fork.

    Starts no thread and opens no descriptor. Never raises: what is missing is reported by
    `apply`, which knows whether it is required.
    """
    kernel.libc()
    try:
        filter_program("errno")
        filter_program("kill")
    except LayerFailure:
        return  # no table for this machine: the seccomp layer fails with the same text


def apply(policy: JailPolicy, keep_fds: Collection[int]) -> JailReport:
    """Jail the calling process; it must have one thread and no V8 isolate.

    Afterwards 0 and 1 are the null device, 2 is unchanged (a pipe to the zygote, for the text
    of fatal errors), `keep_fds` are open, and every other descriptor is closed.

    Args:
        policy: what to apply and how strictly.
        keep_fds: descriptors that stay open, without 0, 1 and 2.

    Returns:
        The state of every layer, in the order of application.

    Raises:
        JailError: hardening is "required" and a layer failed. The process is then partly jailed
            and should leave.
        ValueError: `keep_fds` holds a number below 3.
    """
    if any(fd < 3 for fd in keep_fds):
        raise ValueError(f"keep_fds must not hold 0, 1, 2 or a negative number: {sorted(keep_fds)}")
    required = policy.hardening == "required"
    if required and sys.platform != "linux":
        raise JailError(
            "platform",
            f"the jail is built from Linux features, and this is {sys.platform}",
            remedy="run inside WSL2"
            if sys.platform == "win32"
            else 'choose hardening="used" to run with what this system offers',
        )
    prepare()
    context = Context(policy, keep_fds, os.getppid())
    probes.remember_parent(context.parent_pid)
    reports: list[LayerReport] = []
    for layer in LAYERS:
        outcome = _apply_layer(layer, context)
        reports.append(LayerReport(layer.name, outcome.state, outcome.detail))
    return JailReport(policy.hardening, tuple(reports))


def _apply_layer(layer: Layer, context: Context) -> Outcome:
    hardening = context.policy.hardening
    if hardening == "off" and not layer.hygiene:
        return Outcome("off", "hardening is off")
    if layer.linux_only and sys.platform != "linux":
        return Outcome("failed", f"not offered by {sys.platform}")
    try:
        return layer.apply(context)
    except LayerFailure as failure:
        problem, code = str(failure), None
        cause: Exception = failure
    except OSError as failure:
        problem, code = failure.strerror or str(failure), failure.errno or None
        cause = failure
    if hardening == "required":
        raise JailError(layer.name, problem, errno=code, remedy=layer.remedy) from cause
    return Outcome("failed", problem if code is None else f"{problem} (errno {code})")
