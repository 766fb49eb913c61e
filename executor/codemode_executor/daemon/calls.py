"""The tool calls of one run, which its client serves: handed over as they come, answered as its answers come."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple, Protocol

from ..call_server import CalledRun
from ..clone_calls import ENV, OUTBOUND
from ..limits import Limits
from ..threads import BESIDE_LOOP_BYTES, in_thread
from ..tool_failure import ToolFailure
from ..tools import ToolTable, bounded
from ..wire import bridge as wire
from ..wire.messages import Call
from .answers import checked_answer, failure_of_answer, is_well_formed
from .outcome import utf8
from .service import Parent


class Connection(Protocol):
    """What calls need of the connection of their run."""

    def next_call(self) -> int: ...
    def put(self, message: wire.ToClient, payload: bytes = b"", *, held: bool = False) -> None: ...
    def flush(self) -> None: ...
    def hold_until(self, room: Awaitable[object]) -> None: ...


class _Open(NamedTuple):
    """A call that the client has: its number in the engine, and what is called."""

    call: int
    kind: wire.CallKind
    provider: str
    name: str


class RemoteCalls:
    """Args:
    connection: of the client.
    run: number of the run there.
    message: what the client declared.
    table: of its names.
    limits: of the run.
    parent: the run, for runs that the client starts while it serves a call.
    before: called before a call is sent.
    """

    def __init__(
        self,
        connection: Connection,
        message: wire.Run,
        table: ToolTable,
        limits: Limits,
        parent: Parent,
        before: Callable[[], None],
    ) -> None:
        self._connection = connection
        self._number = message.run
        self._table = table
        self._max_bytes = limits.tool_result_bytes
        self._parent = parent
        self._before = before
        self._kinds: dict[str, wire.CallKind] = {item.name: "connector" for item in message.providers if item.connector}
        self._kinds[ENV] = "env"
        if message.outbound == "client":
            self._kinds[OUTBOUND] = "outbound"
        self._run: CalledRun | None = None
        self._open: dict[int, _Open] = {}
        self._checking: set[asyncio.Task[None]] = set()
        self._waits = False

    # --- the engine (CallServer) --------------------------------------------------------------------------------------

    def serve(self, run: CalledRun, calls: Sequence[Call]) -> None:
        """The program has called: the client is told."""
        self._run = run
        if self._parent.context is None:
            self._parent.context = run.context.copy()
        self._before()
        for call in calls:
            try:
                opened = self._resolved(call)
            except ToolFailure as failure:
                run.answer_call(call.call, failure)
                continue
            number = self._connection.next_call()
            self._open[number] = opened
            shown = "" if opened.kind in ("env", "outbound") else opened.provider
            header = wire.Call(run=self._number, call=number, kind=opened.kind, provider=shown, tool=opened.name)
            self._connection.put(header, utf8(call.args), held=True)
        run.send_answers()
        self._connection.flush()

    def cancel(self, call: int) -> None:
        """The client need not answer this call any more."""
        for number, opened in self._open.items():
            if opened.call == call:
                self._unwanted(number)
                return

    def cancel_all(self) -> None:
        """The client need not answer any call any more."""
        for number in tuple(self._open):
            self._unwanted(number)

    def attach(self, run: CalledRun) -> None:
        """The run, where it may not have called yet."""
        self._run = run

    # --- the client ---------------------------------------------------------------------------------------------------

    def hold(self) -> None:
        """The client does not read what the program has brought it: the program waits. Once is enough."""
        if self._run is not None:
            self._run.hold()

    def go_on(self) -> None:
        """Undo ``hold``."""
        if self._run is not None:
            self._run.go_on()

    def wait_for_worker(self) -> None:
        """Read no more of what the client says while the worker is slow to read what it said before."""
        room = None if self._waits or self._run is None else self._run.room()
        if room is not None:
            self._waits = True
            self._connection.hold_until(self._until_room(room))

    def answer(self, message: wire.Answer | wire.AnswerError, payload: bytes) -> None:
        """The client has answered."""
        opened = self._open.pop(message.call, None)
        run = self._run
        if opened is None or run is None:
            return
        if isinstance(message, wire.AnswerError):
            run.answer_call(opened.call, failure_of_answer(message))
        elif len(payload) > BESIDE_LOOP_BYTES and not is_well_formed(opened.kind, payload):
            # What is wrong with it, if anything is, takes long to find out.
            task = asyncio.create_task(self._answer_in_time(run, opened, payload))
            self._checking.add(task)
            task.add_done_callback(self._checking.discard)
            self._connection.hold_until(task)
            return
        else:
            run.answer_call(opened.call, self._checked(opened, payload))
        self.wait_for_worker()

    def flush(self) -> None:
        """The client has said all that it has to say for now."""
        if self._run is not None:
            self._run.send_answers()

    def end(self) -> None:
        """The run is over. No call waits any more."""
        self._open.clear()
        self._run = None  # the run refers to this: together they would stay until the collector comes by
        for task in self._checking:
            task.cancel()

    # --- inside -------------------------------------------------------------------------------------------------------

    def _resolved(self, call: Call) -> _Open:
        """Raises:
        ToolFailure: nobody serves it.
        """
        name = self._table.resolve(call.provider, call.tool, call.args)
        if call.provider == OUTBOUND and OUTBOUND not in self._kinds:
            raise ToolFailure("nobody serves requests to the network")
        return _Open(call.call, self._kinds.get(call.provider, "tool"), call.provider, name)

    def _checked(self, opened: _Open, payload: bytes) -> bytes | ToolFailure | None:
        what = f"{opened.provider}.{opened.name}"
        try:
            return bounded(checked_answer(opened.kind, what, payload), what, self._max_bytes)
        except ToolFailure as failure:
            return failure

    async def _answer_in_time(self, run: CalledRun, opened: _Open, payload: bytes) -> None:
        run.answer_call(opened.call, await in_thread(self._checked, opened, payload))
        run.send_answers()

    async def _until_room(self, room: Awaitable[object]) -> None:
        try:
            await room
        finally:
            self._waits = False

    def _unwanted(self, number: int) -> None:
        del self._open[number]
        self._connection.put(wire.CancelCall(run=self._number, call=number))
