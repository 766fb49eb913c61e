"""Runs through a real daemon: what goes in, what comes out, and in which order."""

from __future__ import annotations

import asyncio
import json
from typing import Any, cast

import pytest

from codemode_executor.daemon.server import Daemon
from codemode_executor.values.clone_codec import encode_clone
from codemode_executor.values.result_codec import decode_result
from daemon.client import WAIT_S, Client, Outcome

pytestmark = pytest.mark.asyncio(loop_scope="module")

CODEMODE = [{"name": "codemode", "tools": ["add", "big", "fail", "nothing", "issues.list", "never"]}]


def url(daemon: Daemon) -> str:
    assert daemon.url is not None
    return daemon.url


async def serve(header: dict[str, Any], payload: str) -> str:
    """The tools that these tests have."""
    match header["tool"]:
        case "add":
            return json.dumps(sum(json.loads(payload)))
        case "big":
            return json.dumps("é" * json.loads(payload)[0], ensure_ascii=False)
        case "nothing":
            return ""
        case "issues.list":
            return json.dumps({"called": header["tool"]})
        case "never":
            await asyncio.Event().wait()
        case _:
            pass
    raise ValueError("it fails")


async def run(daemon: Daemon, code: str, **members: Any) -> Outcome:
    async with await Client.open(url(daemon)) as client:
        given: dict[str, Any] = {"providers": CODEMODE, **members}
        await client.start(code, **given)
        return await client.finish(serve)


async def test_a_run_is_accepted_then_answered(daemon: Daemon) -> None:
    outcome = await run(daemon, "async () => ({ a: [1, 'é', null] })")
    assert [message.t for message in outcome.messages] == ["accepted", "result"]
    assert outcome.value == {"a": [1, "é", None]}
    assert outcome.end["usage"]["wall_s"] > 0


async def test_hello_says_which_bounds_hold(daemon: Daemon) -> None:
    async with await Client.open(url(daemon)) as client:
        assert client.hello["protocol"] == 1
        assert client.hello["limits"]["timeout_s"] == 20
        assert client.hello["limits"]["memory_mb"] == 128
        assert client.hello["max_message_bytes"] == 64 * 1024 * 1024


async def test_runs_follow_one_another_on_a_connection(daemon: Daemon) -> None:
    async with await Client.open(url(daemon)) as client:
        for number in range(5):
            outcome = await client.execute(f"async () => {number}")
            assert (outcome.value, outcome.end["run"]) == (number, number + 1)


async def test_calls_are_served_by_the_client(daemon: Daemon) -> None:
    outcome = await run(daemon, "async () => await codemode.add(2, 3) + await codemode.add(1)")
    assert outcome.value == 6
    assert [
        (call["call"], call["kind"], call["provider"], call["tool"], call.payload) for call in outcome.of("call")
    ] == [
        (1, "tool", "codemode", "add", "[2,3]"),
        (2, "tool", "codemode", "add", "[1]"),
    ]


async def test_a_tool_is_called_by_its_declared_name(daemon: Daemon) -> None:
    outcome = await run(daemon, "async () => [await codemode.issues_list(), await codemode['issues.list']()]")
    assert outcome.value == [{"called": "issues.list"}] * 2


async def test_many_calls_at_once_each_get_their_own_answer(daemon: Daemon) -> None:
    code = """async () => {
      const sums = await Promise.all(Array.from({ length: 1500 }, (_, i) => codemode.add(i, i)))
      return sums.map((x, i) => x - 2 * i)
    }"""
    outcome = await run(daemon, code)
    assert outcome.value == [0] * 1500


async def test_undefined_and_failures_of_tools(daemon: Daemon) -> None:
    code = """async () => {
      const none = await codemode.nothing()
      try { await codemode.fail() } catch (error) {
        return [none === undefined, error instanceof Error, error.name, error.message]
      }
    }"""
    assert (await run(daemon, code)).value == [True, True, "ValueError", "it fails"]


async def test_members_of_an_error_cross(daemon: Daemon) -> None:
    async with await Client.open(url(daemon)) as client:
        await client.start(
            "async () => { try { await t.x() } catch (e) { return [e.name, e.code, e.details, e.cause] } }",
            providers=[{"name": "t", "tools": ["x"]}],
        )
        call = await client.until("call")
        members = {"name": "N", "code": "E1", "details": {"a": [1]}, "cause": "because"}
        await client.send({"t": "answer_error", "run": 1, "call": call["call"], "message": "m", **members})
        assert (await client.finish()).value == ["N", "E1", {"a": [1]}, "because"]


async def test_an_unknown_tool_is_named(daemon: Daemon) -> None:
    outcome = await run(daemon, "async () => codemode.ad()")
    assert outcome.end["message"].startswith('Tool "ad" not found')
    assert outcome.of("call") == []


async def test_logs_stream_before_the_end_and_in_order_with_calls(daemon: Daemon) -> None:
    outcome = await run(
        daemon,
        "async () => { console.log('a', 1); await codemode.add(1); console.warn('b'); console.log('c'); return 1 }",
    )
    assert outcome.logs == [["log", "a 1"], ["warn", "b"], ["log", "c"]]
    kinds = [message.t for message in outcome.messages]
    assert kinds.index("logs") < kinds.index("call")
    assert kinds[-1] == "result"


async def test_a_program_that_fails(daemon: Daemon) -> None:
    outcome = await run(daemon, "async () => { throw new TypeError('no') }")
    end = outcome.end
    assert (end.t, end["message"], end["name"]) == ("error", "no", "TypeError")
    assert "stack" in end.header


async def test_text_that_is_no_program(daemon: Daemon) -> None:
    end = (await run(daemon, "async () => { let a = ; }")).end
    assert end.t == "error"
    assert end["message"].startswith("SyntaxError: ")


async def test_limits_are_lowered_never_raised(daemon: Daemon) -> None:
    end = (await run(daemon, "async () => { while (true); }", limits={"timeout_s": 0.3})).end
    assert (end.t, end["message"], end["bound"]) == ("error", "Execution timed out", "timeout")
    grows = "async () => { const a = []; while (true) a.push(new Array(10000).fill(1.5)) }"
    end = (await run(daemon, grows, limits={"memory_mb": 4000})).end
    assert (end.t, end["bound"]) == ("error", "memory")
    assert "128 MiB" in end["message"]


@pytest.mark.parametrize(
    ("members", "text"),
    [
        ({"limits": {"nope": 1}}, "there is no limit 'nope'"),
        ({"limits": {"timeout_s": -1}}, "timeout_s"),
        ({"limits": {"memory_mb": 1.5}}, "memory_mb"),
        ({"providers": [{"name": "not a name", "tools": []}]}, "identifier"),
        ({"providers": [{"name": "a", "tools": ["x"]}, {"name": "a", "tools": ["y"]}]}, "Duplicate"),
        ({"providers": [{"name": "c", "connector": True, "prelude": "1"}]}, "connector"),
        ({"functions": [""]}, "path"),
        ({"services": ["x" * 257]}, "path"),
        ({"services": ["s"] * 600, "functions": ["f"] * 600}, "1200 functions and services in env"),
        ({"env": '{"__codemode_binary_v1__":"clone"}'}, "has none"),
        ({"env": '{"__codemode_binary_v1__":"clone","data":"9","handles":[]}'}, "digit of a form"),
        ({"env": '{"__codemode_binary_v1__":"clone","data":"1{","handles":[]}'}, "is not JSON"),
        ({"env": '{"__codemode_binary_v1__":"clone","data":"1{}","handles":{}}'}, "no list"),
        ({"env": '{"__codemode_binary_v1__":"clone","data":"1{}","handles":[["function","f"]]}'}, "declared"),
        ({"env": '{"__codemode_binary_v1__":"clone","data":"1{}","handles":[[["service"],{}]]}'}, "declared"),
        ({"modules": [{"name": "a", "source": "1"}, {"name": "a", "source": "2"}]}, "twice"),
        ({"modules": [{"name": "a", "source": "?", "kind": "data"}]}, "base64"),
        ({"code": "x" * (1024 * 1024 + 1)}, "Limits.program_bytes"),
        ({"env": "[]"}, "object"),
        ({"env": "{"}, "env"),
        ({"env": '"' + "x" * (33 * 1024 * 1024) + '"'}, "Limits.argument_bytes"),
    ],
)
async def test_an_unusable_run_is_refused_and_the_connection_goes_on(
    daemon: Daemon, members: dict[str, Any], text: str
) -> None:
    async with await Client.open(url(daemon)) as client:
        given: dict[str, Any] = {"code": "async () => 1", **members}
        await client.start(**given)
        outcome = await client.finish()
        assert (outcome.end.t, outcome.end["code"]) == ("refused", "BAD_REQUEST")
        assert text in outcome.end["message"]
        assert outcome.of("accepted") == []
        assert (await client.execute("async () => 2")).value == 2


async def test_env_modules_and_preludes(daemon: Daemon) -> None:
    outcome = await run(
        daemon,
        "async () => { const { k } = await import('m'); return [this.env.A, k, await codemode.twice(4)] }",
        env='{"A": {"b": 1}}',
        modules=[{"name": "m", "source": "export const k = 7"}],
        providers=[
            {
                "name": "codemode",
                "tools": ["add"],
                "prelude": "codemode.twice = async (x) => codemode.add(x, x)",
            }
        ],
    )
    assert outcome.end.t == "result", outcome.end
    assert outcome.value == [{"b": 1}, 7, 8]


async def test_connectors_and_functions_in_env_cross_as_clones(daemon: Daemon) -> None:
    seen: list[tuple[str, str, str, str]] = []

    async def both(header: dict[str, Any], payload: str) -> str:
        seen.append((header["kind"], header["provider"], header["tool"], payload))
        return '2{"root":{"r":0},"table":[["e",1,2]]}' if header["kind"] == "connector" else "0"

    async with await Client.open(url(daemon)) as client:
        outcome = await client.execute(
            """async () => {
              const s = await db.query({ a: 1 })
              return [s instanceof Set, s.size, typeof await this.env.f(1, 2)]
            }""",
            both,
            providers=[{"name": "db", "connector": True}],
            functions=["f"],
            env='{"f":{"__codemode_binary_v1__":"function","data":"f"}}',
        )
    assert outcome.end.t == "result", outcome.end
    assert outcome.value == [True, 2, "undefined"]
    assert seen == [("connector", "db", "query", '1{"a":1}'), ("env", "", "f", "1[1,2]")]


async def test_env_as_clones_with_functions_and_services(daemon: Daemon) -> None:
    seen: list[tuple[str, str]] = []

    async def served(header: dict[str, Any], payload: str) -> str:
        seen.append((header["tool"], payload))
        return '1"answered"'

    table = [
        ["o", "when", {"r": 1}, "f", ["h", 0], "again", ["h", 0], "s", ["h", 1], "big", ["i", "7"], "self", {"r": 0}],
        ["d", 5],
    ]
    env = {
        "__codemode_binary_v1__": "clone",
        "data": "2" + json.dumps({"root": {"r": 0}, "table": table}),
        "handles": [["function", "f"], ["service", "s"]],
    }
    async with await Client.open(url(daemon)) as client:
        outcome = await client.execute(
            """async () => {
              const { when, f, again, s, big, self } = this.env
              const calls = [await f(1), await s.method(2), await s.property, await s['odd name']()]
              const refused = await Promise.resolve().then(() => s.then).then(String)
              return [
                when instanceof Date, f === again, typeof big, self === this.env, calls, refused,
                String(s), Object.keys(s),
              ]
            }""",
            served,
            functions=["f"],
            services=["s"],
            env=json.dumps(env),
        )
    assert outcome.end.t == "result", outcome.end
    answered = ["answered"] * 4
    assert outcome.value == [True, True, "bigint", True, answered, "undefined", "[object Fetcher]", []]
    assert seen == [("f", "1[1]"), ("s.method", "1[2]"), ("s.property", "0"), ("s.odd name", "1[]")]


@pytest.mark.parametrize(
    ("data", "handles"),
    [
        ('2{"root":{"r":9},"table":[]}', []),
        ('2{"root":["h",0],"table":[]}', []),
        ('2{"root":["h",-1],"table":[]}', []),
        ('2{"root":{"r":0},"table":[["o","x"]]}', []),
    ],
)
async def test_env_that_no_program_can_have_fails_the_program(
    daemon: Daemon, data: str, handles: list[list[str]]
) -> None:
    env = json.dumps({"__codemode_binary_v1__": "clone", "data": data, "handles": handles})
    outcome = await run(daemon, "async () => 1", env=env)
    assert outcome.end.t == "error", outcome.end
    # Chunks that look at it before the program does fail as the program does.
    outcome = await run(daemon, "async () => process.env.A", env=env)
    assert outcome.end.t == "error", outcome.end


async def test_members_of_what_is_no_declared_service_are_not_called(daemon: Daemon) -> None:
    env = {"__codemode_binary_v1__": "clone", "data": "1{}", "handles": [["service", "s"]]}

    async def served(_header: dict[str, Any], _payload: str) -> str:
        raise AssertionError("nobody may call")

    async with await Client.open(url(daemon)) as client:
        # `this.env` is the program's own object: it cannot make a service of it.
        code = "async () => { try { return await this.env.s.x() } catch (error) { return error.name } }"
        outcome = await client.execute(code, served, services=["s"], env=json.dumps(env))
    assert outcome.value == "TypeError"


@pytest.mark.parametrize(
    ("answer", "kind", "text"),
    [
        ("{", "tool", "is not JSON"),
        ("1,2", "tool", "is not JSON"),
        ("", "connector", "form"),
        ("7{}", "connector", "form"),
        ("0{}", "connector", "undefined"),
        ("1{", "connector", "is not JSON"),
    ],
)
async def test_an_answer_that_is_none_fails_the_call_alone(daemon: Daemon, answer: str, kind: str, text: str) -> None:
    async def broken(_header: dict[str, Any], _payload: str) -> str:
        return answer

    provider = {"name": "t", "connector": True} if kind == "connector" else {"name": "t", "tools": ["x"]}
    async with await Client.open(url(daemon)) as client:
        code = "async () => { try { return ['no', await t.x()] } catch (error) { return error.message } }"
        outcome = await client.execute(code, broken, providers=[provider])
        assert text in outcome.value
        assert (await client.execute("async () => 1")).value == 1


async def test_lone_surrogates_in_payloads_cross(daemon: Daemon) -> None:
    async def echo(_header: dict[str, Any], payload: str) -> str:
        return json.dumps(json.loads(payload)[0])

    async with await Client.open(url(daemon)) as client:
        outcome = await client.execute(
            "async () => { const s = await t.x('\\ud800'); return [s.length, s.charCodeAt(0), s] }",
            echo,
            providers=[{"name": "t", "tools": ["x"]}],
        )
    assert outcome.value == [1, 0xD800, "\ud800"]


@pytest.mark.parametrize("size", [10_000_000])
async def test_ten_megabytes_both_ways(daemon: Daemon, size: int) -> None:
    outcome = await run(daemon, f"async () => {{ const s = await codemode.big({size // 2}); return s.length + s }}")
    assert outcome.value == str(size // 2) + "é" * (size // 2)


async def test_an_answer_one_byte_beyond_its_bound_fails_the_call(daemon: Daemon) -> None:
    limits = {"tool_result_bytes": 1000}
    code = "async () => { try { return (await codemode.big({n})).length } catch (error) { return error.message } }"
    assert (await run(daemon, code.replace("{n}", "499"), limits=limits)).end.payload == "1499"
    value = (await run(daemon, code.replace("{n}", "500"), limits=limits)).value
    assert "1002 bytes" in value
    assert "Limits.tool_result_bytes" in value


async def test_cancelling_ends_a_run_in_each_state(daemon: Daemon) -> None:
    async with await Client.open(url(daemon)) as client:
        # Running, in a loop; then waiting for a tool; then before a worker has it.
        number = await client.start("async () => { while (true); }")
        await client.until("accepted")
        await client.send({"t": "cancel", "run": number})
        end = (await client.finish()).end
        assert (end.t, end["code"], end["run"]) == ("fault", "CANCELLED", number)

        number = await client.start("async () => codemode.never()", providers=CODEMODE)
        await client.until("call")
        await client.send({"t": "cancel", "run": number})
        assert (await client.finish()).end["code"] == "CANCELLED"

        number = await client.start("async () => 1")
        await client.send({"t": "cancel", "run": number})
        end = (await client.finish()).end
        assert end["run"] == number
        assert end.t in ("refused", "fault", "result")
        assert (await client.execute("async () => 5")).value == 5


async def test_calls_that_nobody_awaits_are_made_before_the_end(daemon: Daemon) -> None:
    outcome = await run(daemon, "async () => { for (let i = 0; i < 50; i++) codemode.never(i); return 1 }")
    assert outcome.value == 1
    assert len(outcome.of("call")) == 50


async def test_calls_of_a_run_that_a_bound_ended_are_not_wanted_any_more(daemon: Daemon) -> None:
    outcome = await run(daemon, "async () => await codemode.never()", limits={"timeout_s": 0.3})
    assert [message.t for message in outcome.messages] == ["accepted", "call", "cancel_call", "error"]
    assert outcome.of("cancel_call")[0]["call"] == 1
    assert outcome.end["bound"] == "timeout"


async def test_answers_that_cross_the_end_are_dropped(daemon: Daemon) -> None:
    async with await Client.open(url(daemon)) as client:
        await client.start("async () => { codemode.never(); return 1 }", providers=CODEMODE)
        assert (await client.finish()).value == 1
        await client.send({"t": "answer", "run": 1, "call": 1}, "1")
        await client.send({"t": "cancel", "run": 1})
        await client.send({"t": "ping", "n": 9})
        assert (await client.until("pong"))["n"] == 9
        assert (await client.execute("async () => 2")).value == 2


# --- requests to the network ------------------------------------------------------------------------------------------


async def test_the_client_serves_requests_to_the_network(daemon: Daemon) -> None:
    seen: list[dict[str, Any]] = []

    async def site(header: dict[str, Any], payload: str) -> str:
        assert (header["kind"], header["provider"], header["tool"]) == ("outbound", "", "fetch")
        request = cast("dict[str, Any]", decode_result(int(payload[0]), payload[1:].encode()))
        seen.append(request)
        answer = {"status": 201, "statusText": "Made", "headers": [["x-a", "b"]], "body": b"\xc3\xa9\x00", "url": ""}
        form, text = encode_clone(answer | {"redirected": False})
        return f"{form}{text.decode()}"

    async with await Client.open(url(daemon)) as client:
        outcome = await client.execute(
            """async () => {
              const answer = await fetch('https://a.example/x', { method: 'POST', body: 'hi', headers: { 'x-q': '1' } })
              return [answer.status, answer.statusText, answer.headers.get('x-a'), await answer.text()]
            }""",
            site,
            outbound="client",
        )
        assert outcome.end.t == "result", outcome.end
        assert outcome.value == [201, "Made", "b", "é\0"]
        assert (seen[0]["method"], seen[0]["url"], seen[0]["body"]) == ("POST", "https://a.example/x", b"hi")
        assert ["x-q", "1"] in seen[0]["headers"]


async def test_the_network_is_blocked_unless_the_client_serves_it(daemon: Daemon) -> None:
    outcome = await run(daemon, "async () => await fetch('https://a.example/')")
    assert outcome.end["message"].startswith("This worker is not permitted to access the internet")
    assert outcome.of("call") == []


async def test_a_request_that_is_given_up_is_not_wanted_any_more(daemon: Daemon) -> None:
    async with await Client.open(url(daemon)) as client:
        await client.start(
            """async () => {
              const end = new AbortController()
              setTimeout(() => end.abort(), 20)
              try { await fetch('https://a.example/', { signal: end.signal }) } catch (error) { return error.name }
            }""",
            outbound="client",
        )
        call = await client.until("call")
        assert (await client.until("cancel_call"))["call"] == call["call"]
        # It may be answered all the same; once.
        await client.send({"t": "answer", "run": 1, "call": call["call"]}, "0")
        assert (await client.finish()).value == "AbortError"
        assert (await client.execute("async () => 1")).value == 1


async def test_normalize(daemon: Daemon) -> None:
    outcome = await run(daemon, "```js\nreturn 1\n```", normalize=True)
    assert "async () =>" in outcome.value


# --- nesting ----------------------------------------------------------------------------------------------------------


async def test_runs_started_from_tools_are_admitted_by_their_parent(daemon: Daemon) -> None:
    """Four workers, eight runs that each hold one and start another: without the parent they would wait forever."""

    async def outer(client: Client, index: int) -> Any:
        async def nested(_header: dict[str, Any], _payload: str) -> str:
            await everybody.wait()
            async with await Client.open(url(daemon)) as inner:
                outcome = await inner.execute(f"async () => {index} * 10", parent=token["token"])
                return json.dumps(outcome.value)

        await client.start("async () => await t.inner()", providers=[{"name": "t", "tools": ["inner"]}])
        token = await client.until("accepted")
        arrived.append(index)
        if len(arrived) == 4:
            everybody.set()
        return (await client.finish(nested)).value

    arrived: list[int] = []
    everybody = asyncio.Event()
    clients = [await Client.open(url(daemon)) for _ in range(4)]
    try:
        values = await asyncio.wait_for(asyncio.gather(*(outer(c, i) for i, c in enumerate(clients))), WAIT_S)
    finally:
        for client in clients:
            await client.socket.close()
    assert values == [0, 10, 20, 30]


async def test_nesting_has_an_end(daemon: Daemon) -> None:
    async def nested(depth: int, parent: str) -> str:
        async with await Client.open(url(daemon)) as client:
            await client.start("async () => t.inner()", providers=[{"name": "t", "tools": ["inner"]}], parent=parent)
            first = await client.until("accepted", "refused")
            if first.t == "refused":
                return f"{first['code']} at {depth}"

            async def deeper(_header: dict[str, Any], _payload: str) -> str:
                return json.dumps(await nested(depth + 1, first["token"]))

            return (await client.finish(deeper)).value

    assert await nested(0, "") == "NESTING_LIMIT at 5"


async def test_the_token_of_a_run_that_is_over_counts_for_nothing(daemon: Daemon) -> None:
    async with await Client.open(url(daemon)) as client:
        outcome = await client.execute("async () => 1")
        token = outcome.of("accepted")[0]["token"]
        assert (await client.execute("async () => 2", parent=token)).value == 2


# --- functions in a result --------------------------------------------------------------------------------------------


async def test_functions_of_a_result_are_called_until_they_are_disposed(daemon: Daemon) -> None:
    async with await Client.open(url(daemon)) as client:
        number = await client.start("async () => { let n = 1; return { next: (by) => n += by } }", retain=True)
        end = (await client.finish()).end
        assert end.header["retained"]
        assert '["h",' in end.payload
        handle = json.loads(end.payload[1:])["table"][0][2][1]
        for invocation, expected in ((1, "1" + "3"), (2, "1" + "5")):
            await client.send({"t": "invoke", "run": number, "invocation": invocation, "handle": handle}, "1[2]")
            answer = await client.until("invoked", "invoke_failed")
            assert (answer.t, answer["invocation"], answer.payload) == ("invoked", invocation, expected)
        await client.send({"t": "invoke", "run": number, "invocation": 3, "handle": handle}, "nonsense")
        assert (await client.until("invoke_failed"))["code"] == "BAD_REQUEST"
        await client.send({"t": "cancel", "run": number})
        over = await client.until("over")
        assert (over["run"], over["message"]) == (number, "the handle was disposed")
        assert (await client.execute("async () => 1")).value == 1


async def test_a_function_that_throws_or_calls_a_tool(daemon: Daemon) -> None:
    async with await Client.open(url(daemon)) as client:
        number = await client.start(
            "async () => ({ bad: () => { throw new RangeError('far') }, add: (a) => codemode.add(a, 1) })",
            providers=CODEMODE,
            retain=True,
        )
        entries = json.loads((await client.finish()).end.payload[1:])["table"][0]
        bad, add = entries[2][1], entries[4][1]
        await client.send({"t": "invoke", "run": number, "invocation": 1, "handle": bad}, "1[]")
        failed = await client.until("invoke_failed")
        assert (failed["code"], failed["message"], failed["name"]) == ("HANDLE_CALL_FAILED", "far", "RangeError")
        await client.send({"t": "invoke", "run": number, "invocation": 2, "handle": add}, "1[4]")
        call = await client.until("call")
        await client.send({"t": "answer", "run": number, "call": call["call"]}, "5")
        assert (await client.until("invoked")).payload == "15"


async def test_a_client_that_goes_disposes_what_it_retained(daemon: Daemon) -> None:
    for _ in range(20):  # more than may be retained at once
        client = await Client.open(url(daemon))
        outcome = await client.execute("async () => () => 1", retain=True)
        assert outcome.end.header.get("retained"), outcome.end
        client.socket.transport.abort()


# --- answers that are long --------------------------------------------------------------------------------------------


async def test_long_answers_are_checked_before_they_reach_the_program(daemon: Daemon) -> None:
    answers = {
        "plain": json.dumps("x" * 400_000),
        "lone": '"' + "x" * 400_000 + '\\ud800"',
        "open": '"' + "x" * 400_000,
    }

    async def serve_long(header: dict[str, Any], _payload: str) -> str:
        return answers[header["tool"]]

    code = """async () => {
      const ended = {}
      for (const name of ['plain', 'lone', 'open']) {
        ended[name] = await t[name]().then((x) => [x.length, x.at(-1)], (error) => error.message.slice(0, 60))
      }
      ended.lone[1] = ended.lone[1].charCodeAt(0)
      return ended
    }"""
    async with await Client.open(url(daemon)) as client:
        await client.start(code, providers=[{"name": "t", "tools": list(answers)}])
        value = (await client.finish(serve_long)).value
    assert value["plain"] == [400_000, "x"]
    assert value["lone"] == [400_001, 0xD800]
    assert value["open"].startswith("the result of t.open is not JSON: ")


async def test_a_worker_that_is_slow_to_read_holds_the_client(daemon: Daemon) -> None:
    """Far more than any socket holds is answered at once, and arrives whole."""
    answer = json.dumps("y" * 2_000_000)

    async def serve_long(_header: dict[str, Any], _payload: str) -> str:
        return answer

    code = """async () => {
      const lengths = await Promise.all(Array.from({ length: 25 }, () => t.x().then((text) => text.length)))
      return lengths.reduce((sum, length) => sum + length, 0)
    }"""
    async with await Client.open(url(daemon)) as client:
        await client.start(code, providers=[{"name": "t", "tools": ["x"]}])
        assert (await client.finish(serve_long)).value == 50_000_000
