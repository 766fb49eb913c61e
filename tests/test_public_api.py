"""The public names, exactly. A change here is a change of the API and belongs into the changelog."""

from __future__ import annotations

import inspect

import codemode_executor
from codemode_executor import ExecutorError

PUBLIC = """
AllowList BadRequest Bound Connector Detail Dispatch EngineReport ExecuteResult ExecutorClosed ExecutorError Handle
HandleCallFailed HandleDisposed HardeningUnavailable IsolateExecutor JSError JSRegExp Limits LogLine Module ModuleKind
NestingLimit OutboundError OutboundFailed OutboundHandler OutboundRefused OutboundRequest OutboundResponse
OutboundTimeout PoolStats Provider QueueFull QueueTimeout Retained RetainedLimit Tool Usage ValueRefused WorkerCrashed
WorkerStartFailed __version__ decode_args encode_value execute_sync
"""


def test_the_public_names_are_exactly_these() -> None:
    assert sorted(codemode_executor.__all__) == sorted(PUBLIC.split())
    assert all(hasattr(codemode_executor, name) for name in codemode_executor.__all__)


def test_everything_public_says_what_it_is() -> None:
    for name in codemode_executor.__all__:
        value = getattr(codemode_executor, name)
        if inspect.isclass(value) or inspect.isfunction(value):
            assert inspect.getdoc(value), name


def test_every_error_is_public_and_has_a_code_of_its_own() -> None:
    kinds = [
        value for value in vars(codemode_executor).values() if inspect.isclass(value) and issubclass(value, Exception)
    ]
    errors = [kind for kind in kinds if issubclass(kind, ExecutorError)]
    codes = [kind.code for kind in errors]
    assert len(set(codes)) == len(codes) >= 9
