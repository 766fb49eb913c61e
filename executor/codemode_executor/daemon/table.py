"""A run's tools, all of which the client serves. Their values pass as bytes that are checked and not decoded."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec

from ..clone_calls import ENV, OUTBOUND
from ..contract import Connector, Provider
from ..errors import BadRequest
from ..threads import beside_loop
from ..tool_failure import ToolFailure
from ..tool_threads import ToolThreads
from ..tools import MAX_NAME, ToolTable
from ..values import ValueRefused
from ..values.tool_codec import decode_json
from ..wire import bridge as wire

_MAX_PROVIDERS = 1000
_MAX_TOOLS = 10_000
_MAX_FUNCTIONS = 1000

#: Has the client serve one call, of a kind, a provider and a tool, with these arguments: its answer, as it came.
Caller = Callable[[wire.CallKind, str, str, bytes], Awaitable[bytes]]


def remote_table(run: wire.Run, call: Caller, threads: ToolThreads) -> ToolTable:
    """The table of a run whose tools the client serves.

    Args:
        run: what the client asked for.
        call: has it serve a call; raises ``ToolFailure`` for one that failed.
        threads: of the engine.

    Raises:
        BadRequest: names are unusable, or too many.
    """
    _check_declared(run)
    connectors = frozenset(item.name for item in run.providers if item.connector)

    async def raw(provider: str, tool: str, args: bytes) -> bytes | None:
        kind: wire.CallKind = "connector" if provider in connectors else "tool"
        if provider == ENV:
            kind = "env"
        elif provider == OUTBOUND:
            if run.outbound != "client":
                raise ToolFailure("nobody serves requests to the network")
            kind = "outbound"
        answer = await call(kind, "" if kind in ("env", "outbound") else provider, tool, args)
        what = f"the result of {provider}.{tool}"
        await beside_loop(len(answer), _check, kind, what, answer)
        return answer if answer or kind != "tool" else None

    declared = [
        Connector(item.name) if item.connector else Provider(item.name, item.tools, item.prelude)
        for item in run.providers
    ]
    return ToolTable(
        declared, None, threads, dict.fromkeys(run.functions), opens_network=run.outbound == "client", raw=raw
    )


def failure_of_answer(answer: wire.AnswerError) -> ToolFailure:
    """What the program sees of a call that failed at the client."""
    members = ((key, getattr(answer, key)) for key in ("name", "code", "details", "cause"))
    extra = {key: value for key, value in members if isinstance(value, msgspec.Raw)}
    return ToolFailure(answer.message or "the tool failed without a message", msgspec.json.encode(extra))


def check_clone(what: str, text: bytes) -> None:
    """Raises:
    ToolFailure: ``text`` is not the digit of a form and JSON; the message begins with ``what``.
    """
    if text[:1] not in (b"0", b"1", b"2"):
        raise ToolFailure(f"{what} does not begin with the digit of a form")
    if text[:1] != b"0":
        _check_json(what, text[1:])
    elif len(text) > 1:
        raise ToolFailure(f"{what} is undefined, and yet has a text")


def _check(kind: wire.CallKind, what: str, answer: bytes) -> None:
    if kind != "tool":
        check_clone(what, answer)
    elif answer:
        _check_json(what, answer)


def _check_json(what: str, text: bytes) -> None:
    try:
        if not text.isascii():
            text.decode("utf-8")
        msgspec.json.decode(text, type=msgspec.Raw)
    except UnicodeDecodeError:
        raise ToolFailure(f"{what} is not UTF-8") from None
    except (msgspec.DecodeError, RecursionError):
        try:
            decode_json(text)  # escapes of lone surrogates are accepted there
        except ValueRefused as error:
            raise ToolFailure(f"{what} is not JSON: {error}") from None


def _check_declared(run: wire.Run) -> None:
    """Raises:
    BadRequest: too much is declared, or what contradicts itself.
    """
    tools = sum(len(item.tools) for item in run.providers)
    for what, count, limit in (
        ("namespaces", len(run.providers), _MAX_PROVIDERS),
        ("tools", tools, _MAX_TOOLS),
        ("functions in env", len(run.functions), _MAX_FUNCTIONS),
    ):
        if count > limit:
            raise BadRequest(f"{count} {what} were declared; the limit is {limit}")
    for path in run.functions:
        if not 0 < len(path) <= MAX_NAME:
            raise BadRequest(f"a function in env has a path of {len(path)} characters; the limit is {MAX_NAME}")
    for item in run.providers:
        if len(item.name) > MAX_NAME:
            raise BadRequest(f"a namespace has a name of {len(item.name)} characters; the limit is {MAX_NAME}")
        if item.connector and (item.tools or item.prelude):
            raise BadRequest(f"the connector {item.name!r} declares tools or a prelude: it has neither")
