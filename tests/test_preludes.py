"""Preludes: statements of the host that run before the program."""

from __future__ import annotations

import pytest

from codemode_executor import IsolateExecutor, Provider

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("leaves_nothing")]


def step(prelude: str, name: str = "t") -> Provider:
    return Provider(name, {"get": lambda *args: ["got", *args]}, prelude=prelude)


async def test_what_a_prelude_assigns_comes_before_the_tools(executor: IsolateExecutor) -> None:
    prelude = "t.step = async (name, fn) => { const v = await fn(); return [name, v, await t.get(v)] };"
    outcome = await executor.execute(
        "async () => [await t.step('a', () => 7), typeof t.other]", providers=[step(prelude)]
    )
    assert outcome.error is None
    assert outcome.result[0] == ["a", 7, ["got", 7]]


async def test_names_of_a_prelude_are_in_the_programs_scope(executor: IsolateExecutor) -> None:
    outcome = await executor.execute("async () => helper(4)", providers=[step("const helper = (n) => n + 1")])
    assert (outcome.result, outcome.error) == (5, None)


async def test_preludes_run_in_order_and_see_each_other(executor: IsolateExecutor) -> None:
    providers = [step("const seen = ['a', typeof u]", "t"), step("seen.push('b', typeof t)", "u")]
    outcome = await executor.execute("async () => seen", providers=providers)
    assert outcome.result == ["a", "object", "b", "object"]


async def test_a_prelude_may_wait_for_a_tool(executor: IsolateExecutor) -> None:
    outcome = await executor.execute("async () => ready", providers=[step("const ready = await t.get(1)")])
    assert (outcome.result, outcome.error) == (["got", 1], None)


async def test_a_prelude_brings_the_platform_that_it_names(executor: IsolateExecutor) -> None:
    outcome = await executor.execute(
        "async () => host", providers=[step("const host = new URL('https://a.example/b').host")]
    )
    assert (outcome.result, outcome.error) == ("a.example", None)


@pytest.mark.parametrize(
    ("prelude", "error"),
    [
        ("throw new TypeError('no')", "no"),
        ("await null; throw new TypeError('later')", "later"),
        ("throw 'text'", "text"),
    ],
)
async def test_a_prelude_that_throws_fails_the_run(executor: IsolateExecutor, prelude: str, error: str) -> None:
    outcome = await executor.execute("async () => 1", providers=[step(prelude)])
    assert (outcome.result, outcome.error) == (None, f'the prelude of "t" failed: {error}')


async def test_the_prelude_that_failed_is_named_and_only_that(executor: IsolateExecutor) -> None:
    providers = [
        step("const one = 1", "a"),
        step("const fail = () => { throw new Error('no') }", "b"),
        step("fail()", "c"),
    ]
    outcome = await executor.execute("async () => one", providers=providers)
    assert outcome.error == 'the prelude of "c" failed: no'
    outcome = await executor.execute("async () => fail()", providers=providers[:2])
    assert outcome.error == "no"
    # Nothing of how that is known is left for the program.
    outcome = await executor.execute(
        "async () => [typeof arguments, Reflect.ownKeys(arguments).length]", providers=providers[:2]
    )
    assert outcome.result == ["object", 3]


@pytest.mark.parametrize(
    ("prelude", "words"),
    [
        ("const a = ;", 'Unexpected token ";"'),
        ("}); leave(); (function () {", 'Unexpected token "}"'),
        ("import x from 'y'", "a prelude neither imports nor exports"),
        ("return 1", "'return' outside of function"),
        ("//# sourceURL=x\n", "directives are not allowed"),
        ("/* open", "incomplete"),
    ],
)
async def test_a_prelude_that_is_no_statement_list_is_refused(
    executor: IsolateExecutor, prelude: str, words: str
) -> None:
    outcome = await executor.execute("async () => 1", providers=[step(prelude)])
    assert outcome.error is not None
    assert outcome.error.startswith('SyntaxError: the prelude of provider "t": ')
    assert words in outcome.error


async def test_lines_are_the_programs_own(executor: IsolateExecutor) -> None:
    prelude = "t.a = 1\n// and\nt.b = 2"
    code = "async () => {\n  const f = () => { throw new Error('here') }\n  f()\n}"
    plain = await executor.execute(code, providers=[step("")])
    after = await executor.execute(code, providers=[step(prelude)])
    assert "line 2, column 27" in after.detail.stack
    assert after.detail.stack == plain.detail.stack


async def test_a_comment_at_its_end_swallows_nothing(executor: IsolateExecutor) -> None:
    outcome = await executor.execute("async () => 3", providers=[step("t.a = 1 // the end")])
    assert outcome.result == 3


async def test_with_modules(executor: IsolateExecutor) -> None:
    outcome = await executor.execute(
        "import { two } from 'm.js'; async () => two + one",
        providers=[step("const one = 1")],
        modules={"m.js": "export const two = 2"},
    )
    assert (outcome.result, outcome.error) == (3, None)
