"""Functions in results, through the compat layer."""

from __future__ import annotations

from typing import Any

import pytest

from codemode_compat import (
    DynamicWorkerExecutor,
    ExecuteOptions,
    ExecuteResult,
    ResolvedProvider,
    RetainedExecuteResult,
)
from codemode_executor import BadRequest, HandleDisposed

COUNTER = "async () => { let n = 0; return { next: async (by) => codemode.double(n += by) } }"
PROVIDERS = [ResolvedProvider("codemode", {"double": lambda n: 2 * n})]


async def test_a_function_can_be_called_until_it_is_disposed() -> None:
    async with DynamicWorkerExecutor() as executor:
        outcome = await executor.execute(COUNTER, PROVIDERS, ExecuteOptions(retain_handles=True))
        assert outcome.error is None
        assert isinstance(outcome, RetainedExecuteResult)
        assert outcome.retained is not None
        async with outcome.retained:
            assert [await outcome.result["next"](1), await outcome.result["next"](2)] == [2, 6]
        with pytest.raises(HandleDisposed):
            await outcome.result["next"](1)


async def test_without_the_option_a_function_is_an_error() -> None:
    async with DynamicWorkerExecutor() as executor:
        outcome = await executor.execute(COUNTER, PROVIDERS)
        assert outcome.error is not None
        assert "result.next is a function" in outcome.error
        assert type(outcome) is ExecuteResult


@pytest.mark.parametrize("value", [None, 1, "yes"])
async def test_another_type_is_refused(value: Any) -> None:
    async with DynamicWorkerExecutor() as executor:
        with pytest.raises(BadRequest, match="retain_handles must be a bool"):
            await executor.execute(COUNTER, PROVIDERS, ExecuteOptions(retain_handles=value))
