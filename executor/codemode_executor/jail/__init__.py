"""The operating system's part of the jail; the only package that knows seccomp, limits and ids.

Zygote: `prepare()`. Worker, after the fork and before any thread: `apply(policy, keep_fds)`, then
`require_blocked(run_self_test(), report)`. Outside: `require_sealed(inspect(pid), report)`.
"""

from codemode_executor.jail.errors import JailError
from codemode_executor.jail.inspection import inspect, require_sealed
from codemode_executor.jail.policy import Hardening, JailPolicy, SeccompAction
from codemode_executor.jail.probes import require_blocked, run_self_test, self_test
from codemode_executor.jail.report import (
    JailReport,
    LayerReport,
    LayerState,
    ProbeResult,
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
    "SeccompAction",
    "ThreadStatus",
    "apply",
    "inspect",
    "prepare",
    "require_blocked",
    "require_sealed",
    "run_self_test",
    "self_test",
]
