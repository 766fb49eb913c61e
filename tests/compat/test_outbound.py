"""``global_outbound``: closed unless the host opens it, and what may open it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from codemode_compat import DynamicWorkerExecutor
from codemode_executor import AllowList, BadRequest, IsolateExecutor, Limits, OutboundRequest, OutboundResponse

pytestmark = pytest.mark.asyncio(loop_scope="module")

CODE = "async () => (await fetch('https://a.test/x', { method: 'POST', body: 'b' })).text()"
BLOCKED = "This worker is not permitted to access the internet via global functions like fetch()."


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def engine() -> AsyncIterator[IsolateExecutor]:
    async with IsolateExecutor(limits=Limits(memory_mb=64), min_workers=1) as instance:
        yield instance


async def answer(request: OutboundRequest) -> OutboundResponse:
    return OutboundResponse(body=f"{request.method} {request.url} {request.body}".encode())


class Gateway:
    """As upstream's Fetchers are: an object with a method."""

    def __init__(self) -> None:
        self.asked = 0

    async def fetch(self, request: OutboundRequest) -> OutboundResponse:
        self.asked += 1
        return await answer(request)


@pytest.mark.parametrize("options", [{}, {"global_outbound": None}])
async def test_the_network_is_closed(engine: IsolateExecutor, options: dict[str, Any]) -> None:
    outcome = await DynamicWorkerExecutor(engine=engine, **options).execute(CODE, [])
    assert (outcome.error or "").startswith(BLOCKED)


async def test_a_fetcher_answers(engine: IsolateExecutor) -> None:
    gateway = Gateway()
    executor = DynamicWorkerExecutor(global_outbound=gateway, engine=engine)
    for _ in range(2):
        assert (await executor.execute(CODE, [])).result == "POST https://a.test/x b'b'"
    assert gateway.asked == 2


async def test_a_function_answers(engine: IsolateExecutor) -> None:
    executor = DynamicWorkerExecutor(global_outbound=answer, engine=engine)
    assert (await executor.execute(CODE, [])).result == "POST https://a.test/x b'b'"


async def test_an_allow_list_judges(engine: IsolateExecutor) -> None:
    executor = DynamicWorkerExecutor(global_outbound=AllowList(origins=["https://b.test"]), engine=engine)
    error = (await executor.execute(CODE, [])).error
    assert error == "https://a.test is not among the origins that the host allows (AllowList.origins)"


async def test_what_a_fetcher_raises_is_the_programs_error(engine: IsolateExecutor) -> None:
    async def failing(_request: OutboundRequest) -> OutboundResponse:
        raise TypeError("no route")

    executor = DynamicWorkerExecutor(global_outbound=failing, engine=engine)
    assert (await executor.execute(CODE, [])).error == "no route"


@pytest.mark.parametrize("outbound", ["https://a.test", 1, object(), Gateway, {"fetch": answer}])
async def test_anything_else_is_refused(outbound: Any) -> None:
    with pytest.raises(
        BadRequest, match=r"^global_outbound must be None, an object with a method fetch\(request\), an"
    ):
        DynamicWorkerExecutor(global_outbound=outbound)
