"""V8 through mini-racer's C interface, as the worker uses it; loaded before the fork."""

import threading
from itertools import count
from typing import Any

from py_mini_racer import init_mini_racer
from py_mini_racer._dll import mr_callback_func

STRING = 5
_state: dict[str, Any] = {}
_answers: dict[int, Any] = {}
_events: dict[int, threading.Event] = {}
_ids = count(1)


@mr_callback_func
def _on_answer(callback_id: int, raw_val_handle: Any) -> None:
    value = raw_val_handle.contents
    kind = value.type
    if kind == STRING:
        _answers[callback_id] = value.value.bytes_val[: value.len].decode("utf-8", "replace")
    else:
        _answers[callback_id] = f"type {kind}"
    _events[callback_id].set()


def initialise(*flags: str) -> None:
    _state["dll"] = init_mini_racer(flags=("--single-threaded", "--max-heap-size=256", *flags))


class Isolate:
    """One isolate. Programs should answer with a string."""

    def __init__(self) -> None:
        self._context = _state["dll"].mr_init_context(_on_answer)

    def start(self, code: str) -> int:
        number = next(_ids)
        _events[number] = threading.Event()
        text = code.encode()
        handle = _state["dll"].mr_alloc_string_val(self._context, text, len(text), STRING)
        _state["dll"].mr_eval(self._context, handle, number)
        return number

    def run(self, code: str, timeout_s: float = 30) -> str:
        number = self.start(code)
        if not _events[number].wait(timeout_s):
            return "no answer"
        return _answers[number]

    def free(self, timeout_s: float = 10) -> bool:
        """Free from a helper thread; False when that did not end in time."""
        thread = threading.Thread(target=_state["dll"].mr_free_context, args=(self._context,))
        thread.start()
        thread.join(timeout_s)
        return not thread.is_alive()
