"""The operating system's part of the jail; the only package that knows seccomp, limits and ids.

Zygote: `prepare(policy)`. Worker, after the fork and before any thread: `apply(policy, keep_fds)`,
then `require_blocked(run_self_test(), report)`. Outside: `require_sealed(inspect(pid), report,
policy=policy, process=inspect_process(pid))`. What each layer is worth alone: `rehearsal`.
"""

from codemode_executor.jail.errors import JailError
from codemode_executor.jail.inspection import inspect, inspect_process, require_sealed
from codemode_executor.jail.policy import Hardening, JailPolicy, SeccompAction
from codemode_executor.jail.probes import require_blocked, run_self_test, self_test
from codemode_executor.jail.report import (
    JailReport,
    LayerReport,
    LayerState,
    ProbeResult,
    ProcessStatus,
    ThreadStatus,
)
from codemode_executor.jail.sealing import apply, prepare

__all__ = [
    "Hardening",
    "JailError",
    "JailPolicy",
    "JailReport",
    "LayerReport",
    "LayerState",
    "ProbeResult",
    "ProcessStatus",
    "SeccompAction",
    "ThreadStatus",
    "apply",
    "inspect",
    "inspect_process",
    "prepare",
    "require_blocked",
    "require_sealed",
    "run_self_test",
    "self_test",
]
