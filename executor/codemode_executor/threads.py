"""Work beside the event loop, on daemon threads.

Not the loop's default executor: ``asyncio.run`` waits for its threads at the end, and one that never returns would hold
the host open.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
from collections.abc import Callable
from typing import Any

#: Longer values are decoded on a thread: the event loop has other runs to serve.
BESIDE_LOOP_BYTES = 256 * 1024


async def beside_loop(size: int, function: Callable[..., Any], *args: object) -> Any:
    """Call ``function``, on a thread if what it works on is long.

    Args:
        size: of that, in bytes.

    Raises:
        As ``in_thread``.
    """
    return function(*args) if size <= BESIDE_LOOP_BYTES else await in_thread(function, *args)


async def in_thread(function: Callable[..., Any], *args: object, on_end: Callable[[], None] | None = None) -> Any:
    """Call ``function`` on a thread of its own, in a copy of the caller's context, and wait for what it gives.

    Args:
        on_end: called on the event loop when the thread has ended, which may be long after the caller was cancelled.

    Raises:
        RuntimeError: no thread can be started (``on_end`` is called), or what the function raised is no ``Exception``.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[object] = loop.create_future()
    context = contextvars.copy_context()
    ended = on_end or _nothing

    def settle(result: object, error: BaseException | None) -> None:
        ended()
        if future.done():
            if inspect.iscoroutine(result):
                result.close()  # nobody waits any more
        elif error is None:
            future.set_result(result)
        else:
            future.set_exception(error)

    def work() -> None:
        result: object = None
        failure: BaseException | None = None
        try:
            result = context.run(function, *args)
        except StopIteration as error:
            failure = RuntimeError(f"the tool raised StopIteration: {error}")
        except (Exception, SystemExit) as error:
            failure = error
        except BaseException as error:
            failure = RuntimeError(f"the tool raised {type(error).__name__}")
        try:
            loop.call_soon_threadsafe(settle, result, failure)
        except RuntimeError:
            return  # the loop was closed meanwhile; nobody waits any more

    try:
        threading.Thread(target=work, name="codemode-tool", daemon=True).start()
    except RuntimeError:
        ended()
        raise
    return await future


def _nothing() -> None:
    return None
