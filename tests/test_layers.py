"""The executor's options for single layers of the jail, and V8 without its compiler."""

from __future__ import annotations

from typing import Any

import pytest

from codemode_executor import BadRequest, IsolateExecutor
from pools import fresh


async def layers_of(executor: IsolateExecutor) -> dict[str, tuple[str, str]]:
    report = await executor.inspect()
    return {layer.name: (layer.state, layer.wanted) for layer in report.jail.layers}


async def test_a_single_layer_is_left_out_and_the_others_stay() -> None:
    async with fresh(layers={"landlock": "off", "uts_namespace": "required"}) as executor:
        assert (await executor.execute("1 + 1")).result == 2
        layers = await layers_of(executor)
        assert layers["landlock"][1] == "off"
        assert layers["uts_namespace"][1] == "required"
        assert layers["seccomp"] == ("on", "required")


@pytest.mark.parametrize(
    ("layers", "words"),
    [
        ({"lanlock": "off"}, "no layer of the jail"),
        ({"landlock": "maybe"}, '"required", "used" or "off"'),
        ({"descriptors": "off"}, "a worker always has it"),
        (["landlock"], "items"),
    ],
)
def test_unusable_layers_are_refused(layers: Any, words: str) -> None:
    with pytest.raises(BadRequest, match=words):
        IsolateExecutor(layers=layers)


async def test_without_the_compiler_programs_run_and_memory_is_never_executable() -> None:
    async with fresh(jitless=True) as executor:
        outcome = await executor.execute(
            "async () => { let n = 0; for (let i = 0; i < 1e5; i++) n += i; "
            "const digest = await crypto.subtle.digest('SHA-1', new Uint8Array(1)); "
            "return [n, new URL('http://a.example/x').host, digest.byteLength] }"
        )
        assert (outcome.result, outcome.error) == ([4999950000, "a.example", 20], None)
        for _ in range(30):
            assert (await executor.execute("async () => 1")).result == 1
        typed = await executor.execute("const n: number = 1; n")
        assert typed.error is not None
        assert typed.error.startswith("SyntaxError")
        assert (await executor.execute("async () => 2")).result == 2
