"""Who waits, and in which order."""

from __future__ import annotations

import asyncio
from collections import deque

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from codemode_executor.queueing import FairQueue


def test_one_tenants_items_keep_their_order() -> None:
    queue: FairQueue[int] = FairQueue()
    for item in range(5):
        queue.put("a", item)
    assert [queue.pop() for _ in range(5)] == [0, 1, 2, 3, 4]


def test_nobody_waits() -> None:
    queue: FairQueue[int] = FairQueue()
    with pytest.raises(IndexError, match="nobody waits"):
        queue.pop()
    assert (len(queue), bool(queue), queue.drain()) == (0, False, [])


def test_a_flood_delays_another_tenants_item_by_one() -> None:
    queue: FairQueue[str] = FairQueue()
    for item in range(100):
        queue.put("flood", f"flood {item}")
    queue.put("other", "other")
    assert "other" in [queue.pop(), queue.pop()]


def test_a_tenant_that_was_served_stands_at_the_end_of_the_line() -> None:
    queue: FairQueue[str] = FairQueue()
    for tenant, item in [("a", "a1"), ("a", "a2"), ("b", "b1"), ("b", "b2"), (None, "n1")]:
        queue.put(tenant, item)
    assert queue.pop() == "a1"
    queue.put("c", "c1")
    assert queue.drain() == ["b1", "n1", "a2", "c1", "b2"]


def test_a_tenant_without_a_name_is_a_tenant() -> None:
    queue: FairQueue[str] = FairQueue()
    queue.put(None, "n1")
    queue.put("", "e1")
    queue.put(None, "n2")
    assert queue.drain() == ["n1", "e1", "n2"]


def test_an_item_that_gives_up_leaves_the_others_in_order() -> None:
    queue: FairQueue[int] = FairQueue()
    for item in range(4):
        queue.put("a", item)
    assert queue.remove("a", 2)
    assert not queue.remove("a", 2)
    assert not queue.remove("b", 1)
    assert queue.drain() == [0, 1, 3]


def test_the_last_item_of_a_tenant_takes_its_place_in_line_with_it() -> None:
    queue: FairQueue[int] = FairQueue()
    queue.put("a", 1)
    queue.put("b", 2)
    assert queue.remove("a", 1)
    queue.put("a", 3)
    assert queue.drain() == [2, 3]


class Model(RuleBasedStateMachine):
    """The same queue in a few plain lines: a list of (tenant, items), rotated by hand."""

    def __init__(self) -> None:
        super().__init__()
        self.queue: FairQueue[int] = FairQueue()
        self.line: list[tuple[str | None, deque[int]]] = []
        self.serial = 0

    tenants = st.sampled_from([None, "", "a", "b", "c"])

    @rule(tenant=tenants)
    def put(self, tenant: str | None) -> None:
        self.serial += 1
        self.queue.put(tenant, self.serial)
        for name, items in self.line:
            if name == tenant:
                items.append(self.serial)
                return
        self.line.append((tenant, deque([self.serial])))

    @precondition(lambda self: self.line)
    @rule()
    def pop(self) -> None:
        tenant, items = self.line.pop(0)
        assert self.queue.pop() == items.popleft()
        if items:
            self.line.append((tenant, items))

    @precondition(lambda self: not self.line)
    @rule()
    def pop_nothing(self) -> None:
        with pytest.raises(IndexError):
            self.queue.pop()

    @precondition(lambda self: self.line)
    @rule(data=st.data())
    def give_up(self, data: st.DataObject) -> None:
        tenant, items = data.draw(st.sampled_from(self.line))
        item = data.draw(st.sampled_from(list(items)))
        assert self.queue.remove(tenant, item)
        items.remove(item)
        self.line = [(name, rest) for name, rest in self.line if rest]

    @rule(tenant=tenants)
    def give_up_what_is_not_there(self, tenant: str | None) -> None:
        assert not self.queue.remove(tenant, -1)

    @rule()
    def drain(self) -> None:
        expected: list[int] = []
        while self.line:
            tenant, items = self.line.pop(0)
            expected.append(items.popleft())
            if items:
                self.line.append((tenant, items))
        assert self.queue.drain() == expected

    @invariant()
    def lengths_agree(self) -> None:
        assert len(self.queue) == sum(len(items) for _, items in self.line)


Model.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestModel = Model.TestCase


async def test_an_item_may_be_a_future() -> None:
    """The pool queues what compares by identity; a queue that looked inside would mix them up."""
    queue: FairQueue[asyncio.Future[None]] = FairQueue()
    loop = asyncio.get_running_loop()
    futures = [loop.create_future() for _ in range(3)]
    for future in futures:
        queue.put("a", future)
    assert queue.remove("a", futures[1])
    assert queue.drain() == [futures[0], futures[2]]
