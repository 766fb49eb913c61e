"""Who waits, and in which order. Pure bookkeeping, without workers, clocks or tasks."""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import Generic, TypeVar

T = TypeVar("T")


class FairQueue(Generic[T]):
    """A queue per tenant, served in turn: one tenant's flood delays nobody else's next item by more than one.

    Within a tenant, the order is that of arrival.
    """

    def __init__(self) -> None:
        self._queues: OrderedDict[str | None, deque[T]] = OrderedDict()
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def put(self, tenant: str | None, item: T) -> None:
        """Add ``item`` behind everything that ``tenant`` has waiting."""
        self._queues.setdefault(tenant, deque()).append(item)
        self._length += 1

    def pop(self) -> T:
        """The next item; its tenant goes to the end of the line.

        Raises:
            IndexError: nobody waits.
        """
        if not self._queues:
            raise IndexError("nobody waits")
        tenant, queue = self._queues.popitem(last=False)
        item = queue.popleft()
        if queue:
            self._queues[tenant] = queue
        self._length -= 1
        return item

    def remove(self, tenant: str | None, item: T) -> bool:
        """Take ``item`` out wherever it stands; false if it is not there any more."""
        queue = self._queues.get(tenant)
        if queue is None or item not in queue:
            return False
        queue.remove(item)
        if not queue:
            del self._queues[tenant]
        self._length -= 1
        return True

    def drain(self) -> list[T]:
        """Every item, in the order in which they would have been served; the queue is empty afterwards."""
        items: list[T] = []
        while self._queues:
            items.append(self.pop())
        return items
