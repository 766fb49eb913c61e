"""Run programs that a model wrote, each in a V8 isolate made for that one call.

Start with :class:`IsolateExecutor`; :func:`execute_sync` is for scripts and notebooks.
"""

from ._version import __version__
from .contract import (
    Bound,
    Connector,
    Detail,
    Dispatch,
    EngineReport,
    ExecuteResult,
    LogLine,
    Module,
    ModuleKind,
    Provider,
    Tool,
    Usage,
)
from .errors import (
    BadRequest,
    ExecutorClosed,
    ExecutorError,
    HandleCallFailed,
    HandleDisposed,
    HardeningUnavailable,
    NestingLimit,
    QueueFull,
    QueueTimeout,
    RetainedLimit,
    WorkerCrashed,
    WorkerStartFailed,
)
from .executor import IsolateExecutor, execute_sync
from .limits import Limits
from .network import (
    AllowList,
    OutboundError,
    OutboundFailed,
    OutboundHandler,
    OutboundRefused,
    OutboundRequest,
    OutboundResponse,
    OutboundTimeout,
)
from .pool import PoolStats
from .retained import Handle, Retained
from .values import ValueRefused, decode_args, encode_value
from .values.result_codec import JSError, JSRegExp

__all__ = [
    "AllowList",
    "BadRequest",
    "Bound",
    "Connector",
    "Detail",
    "Dispatch",
    "EngineReport",
    "ExecuteResult",
    "ExecutorClosed",
    "ExecutorError",
    "Handle",
    "HandleCallFailed",
    "HandleDisposed",
    "HardeningUnavailable",
    "IsolateExecutor",
    "JSError",
    "JSRegExp",
    "Limits",
    "LogLine",
    "Module",
    "ModuleKind",
    "NestingLimit",
    "OutboundError",
    "OutboundFailed",
    "OutboundHandler",
    "OutboundRefused",
    "OutboundRequest",
    "OutboundResponse",
    "OutboundTimeout",
    "PoolStats",
    "Provider",
    "QueueFull",
    "QueueTimeout",
    "Retained",
    "RetainedLimit",
    "Tool",
    "Usage",
    "ValueRefused",
    "WorkerCrashed",
    "WorkerStartFailed",
    "__version__",
    "decode_args",
    "encode_value",
    "execute_sync",
]
