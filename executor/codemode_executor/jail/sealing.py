"""Builds the jail around the calling process."""

import os
import sys
from collections.abc import Collection, Iterable

from codemode_executor.jail import kernel, prepared, probes
from codemode_executor.jail.errors import JailError
from codemode_executor.jail.layer import Context, Layer, LayerFailure, Outcome, Prepared
from codemode_executor.jail.layers import LAYERS
from codemode_executor.jail.policy import JailPolicy
from codemode_executor.jail.report import JailReport, LayerReport
from codemode_executor.jail.seccomp import filter_program

_prepared: Prepared | None = None


def prepare(policy: JailPolicy | None = None) -> None:
    """Make everything that `apply` and the self-test need; call it before the fork, with one thread.

    Opens up to two descriptors, which workers inherit. Never raises: what is missing is reported
    by `apply`, which knows whether it is required.

    Args:
        policy: that of the workers to come. With it, and unless it says otherwise, the calling
            process leaves the host's network for an empty one, which its workers share. Without
            it each worker makes its own, which takes longer.
    """
    global _prepared
    kernel.libc()
    if _prepared is None:
        _prepared = prepared.make(policy)
    try:
        filter_program("errno")
        filter_program("kill")
        if policy is not None:
            filter_program(policy.seccomp_action, policy.executable_memory)
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
        JailError: a layer that is "required" failed, or one without which nobody may go on. The
            process is then partly jailed and should leave.
        ValueError: `keep_fds` holds a number below 3.
    """
    return build(LAYERS, policy, keep_fds)


def build(layers: Iterable[Layer], policy: JailPolicy, keep_fds: Collection[int]) -> JailReport:
    """`apply`, with a choice of layers: what a jail is worth in which one is broken is tried that way."""
    global _prepared
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
    lent, _prepared = _prepared or Prepared(), Prepared()
    context = Context(policy, keep_fds, os.getppid(), lent)
    probes.remember_parent(context.parent_pid)
    reports: list[LayerReport] = []
    for layer in layers:
        outcome = _apply_layer(layer, context)
        reports.append(LayerReport(layer.name, outcome.state, outcome.detail, policy.wanted(layer.name)))
    prepared.release(lent)  # a directory that is open would lead out of the new root
    return JailReport(policy.hardening, tuple(reports))


def _apply_layer(layer: Layer, context: Context) -> Outcome:
    wanted = context.policy.wanted(layer.name)
    if wanted == "off":
        hardening = context.policy.hardening
        return Outcome("off", "hardening is off" if hardening == "off" else "the policy leaves it out")
    fatal = layer.fatal
    cause: Exception | None = None
    code: int | None = None
    if layer.linux_only and sys.platform != "linux":
        problem, fatal = f"not offered by {sys.platform}", False
    else:
        try:
            return layer.apply(context)
        except LayerFailure as failure:
            problem, cause = str(failure), failure
        except OSError as failure:
            problem, code, cause = failure.strerror or str(failure), failure.errno or None, failure
    if wanted == "required" or fatal:
        raise JailError(layer.name, problem, errno=code, remedy=layer.remedy) from cause
    return Outcome("failed", problem if code is None else f"{problem} (errno {code})")
