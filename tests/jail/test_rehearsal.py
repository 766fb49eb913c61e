"""What each layer is worth: no single one can be taken out of the code without a case that fails."""

import json
import subprocess
import sys
from typing import Any

import pytest

from codemode_executor.jail.layers import LAYERS
from codemode_executor.jail.policy import EXTRA
from codemode_executor.jail.rehearsal import CASES
from jail.harness import AMBIENT, HERE, IDENTITIES, PACKAGES, offered

NAMES = [layer.name for layer in LAYERS]


def rehearsed(*removed: str, identity: str, hardening: str = "required") -> dict[str, list[dict[str, Any]]]:
    request = {
        "paths": [str(PACKAGES)],
        "hardening": hardening,
        "nobody": identity == "nobody",
        "removed": removed,
    }
    done = subprocess.run(
        [sys.executable, "-I", str(HERE / "rehearser.py"), json.dumps(request)],
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def in_force(case: dict[str, Any]) -> bool:
    return case["without"] != ""


def given(identity: str) -> set[str]:
    """Cases that say nothing here: what they look for was so before any jail."""
    names = set[str]()
    if AMBIENT.no_new_privs:
        names.add("new_privileges")
    if AMBIENT.seccomp == 2:
        names.add("filter_on_every_thread")
    if identity != "root" and "user_namespace" not in offered(identity):
        names.add("capabilities")
    return names


def missing(identity: str) -> set[str]:
    return set(EXTRA - offered(identity)) | (set() if identity == "root" else {"identity"})


@pytest.mark.parametrize("hardening", ["required", "used"])
@pytest.mark.parametrize("identity", IDENTITIES)
def test_every_layer_stops_what_it_must_and_its_absence_is_noticed(identity: str, hardening: str) -> None:
    (cases,) = rehearsed("", identity=identity, hardening=hardening).values()
    assert [case["name"] for case in cases] == [case.name for case in CASES]
    absent = {case["layer"]: case["answer"] for case in cases if not in_force(case)}
    # An ordinary user has no root to give up, and a system may not offer what lies beyond the baseline.
    assert set(absent) <= missing(identity), absent
    for case in cases:
        if in_force(case):
            assert (case["held"], case["noticed"]) == (True, case["name"] not in given(identity)), case


@pytest.mark.parametrize("identity", IDENTITIES)
def test_no_layer_can_be_removed_without_a_failing_case(identity: str, capsys: pytest.CaptureFixture[str]) -> None:
    results = rehearsed("", *NAMES, identity=identity)
    before = {case["name"]: case["held"] for case in results.pop("")}
    table = {
        removed: [case["name"] for case in cases if before[case["name"]] and not case["held"]]
        for removed, cases in results.items()
    }
    with capsys.disabled():
        print(f"\n  layer removed, as {identity:8} | cases that fail")
        for removed, failing in table.items():
            print(f"  {removed:27} | {', '.join(failing) or 'none: not in force here'}")
    needless = {removed for removed, failing in table.items() if not failing}
    silent = {layer for layer in NAMES if {case.name for case in CASES if case.layer == layer} <= given(identity)}
    assert needless <= missing(identity) | silent
    for removed, failing in table.items():
        own = {case.name for case in CASES if case.layer == removed}
        assert own & set(failing) or removed in needless
