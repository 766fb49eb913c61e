"""Calls as strings."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from codemode_compat import ToolDispatcher
from codemode_compat import javascript as js
from codemode_executor import BadRequest, IsolateExecutor, Provider
from compat.functions import Functions
from compat.schemas import VALUES


async def _args(*args: object) -> object:
    return args


def _fail() -> None:
    raise ValueError("it failed")


DISPATCHER = ToolDispatcher({"args": _args, "fail": _fail})


@settings(deadline=None, max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(value=VALUES)
def test_answers_are_upstreams(upstream: Functions, value: object) -> None:
    text = json.dumps(value)
    ours = json.loads(asyncio.run(DISPATCHER.call("args", text)))
    if "JavaScript rounds" in ours.get("error", ""):
        return  # an integer that JavaScript has rounded already when upstream gets it
    assert js.stringify(ours) == upstream("dispatch", name="args", args=text)


@pytest.mark.parametrize(("name", "args"), [("args", None), ("args", ""), ("args", "5"), ("fail", "[]"), ("no", "[1]")])
async def test_odd_calls_are_answered_as_upstream_does(upstream: Functions, name: str, args: str | None) -> None:
    assert json.loads(await DISPATCHER.call(name, args)) == json.loads(upstream("dispatch", name=name, args=args))


@pytest.mark.parametrize("name", ["constructor", "toString", "__proto__", "hasOwnProperty", "__class__"])
async def test_only_what_was_given_can_be_called(name: str) -> None:
    assert json.loads(await DISPATCHER.call(name, "[]")) == {"error": f'Tool "{name}" not found'}


async def test_a_failure_is_never_empty() -> None:
    def fail() -> None:
        raise LookupError

    assert json.loads(await ToolDispatcher({"f": fail}).call("f")) == {"error": "LookupError"}


async def test_bytes_cross_as_upstream_tags_them() -> None:
    seen: list[object] = []

    def take(value: object) -> bytes:
        seen.append(value)
        return b"\x01"

    tagged = '[{"__codemode_binary_v1__": "Uint8Array", "data": "AP+A"}]'
    answer = json.loads(await ToolDispatcher({"f": take}).call("f", tagged))
    assert seen == [b"\x00\xff\x80"]
    assert answer == {"result": {"__codemode_binary_v1__": "Uint8Array", "data": "AQ=="}}


@pytest.mark.parametrize("args", ["[1", "{", '[{"__codemode_binary_v1__": "Uint8Array", "data": "%"}]', "[" * 5000])
async def test_broken_arguments_are_an_error_of_the_call(args: str) -> None:
    assert json.loads(await DISPATCHER.call("args", args))["error"]


async def test_what_cannot_cross_is_an_error_of_the_call() -> None:
    answer = json.loads(await ToolDispatcher({"f": object}).call("f"))
    assert answer["error"] == "result is of type object, which has no form in JavaScript"


async def test_a_plain_function_does_not_hold_the_loop() -> None:
    release = threading.Event()
    call = asyncio.create_task(ToolDispatcher({"f": lambda: release.wait(10)}).call("f"))
    await asyncio.sleep(0)
    release.set()
    assert json.loads(await call) == {"result": True}


@pytest.mark.parametrize(
    ("fns", "message"),
    [
        ([len], "fns must be a mapping of names to functions, not list"),
        ({"f": 5}, "fns: the tool 'f' is not callable: 5"),
        ({1: len}, "fns has the name 1: names of tools are strings, not int"),
    ],
)
def test_unusable_functions_are_refused(fns: Any, message: str) -> None:
    with pytest.raises(BadRequest) as caught:
        ToolDispatcher(fns)
    assert str(caught.value) == message


async def test_it_serves_the_native_engine() -> None:
    dispatcher = ToolDispatcher({"double": lambda x: 2 * x})

    async def dispatch(provider: str, tool: str, args_json: str) -> str:
        return await dispatcher.call(tool, args_json)

    async with IsolateExecutor(min_workers=1) as engine:
        outcome = await engine.execute(
            "async () => math.double(21)", providers=[Provider("math", ["double"])], dispatch=dispatch
        )
    assert outcome.result == 42
