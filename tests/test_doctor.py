"""What the doctor says, of workers and layers that are real, and of reports that are not."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import date

import msgspec
import pytest

from codemode_executor.cli import doctor as command
from codemode_executor.cli.doctor_age import STABLE_SINCE, age_days, stable_since
from codemode_executor.contract import EngineReport
from codemode_executor.jail import JailReport, LayerReport, ProbeResult, ThreadStatus
from codemode_executor.jail.layers import LAYERS
from codemode_executor.jail.rehearsal import CASES, Rehearsed
from codemode_executor.worker.isolate import SUPPORTED_VERSION


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "codemode_executor", "doctor", *arguments],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def test_every_layer_and_every_case_is_listed() -> None:
    done = run()
    assert done.returncode == 0, done.stdout + done.stderr
    assert "BREACH" not in done.stdout
    assert "MISSING" not in done.stdout
    for layer in LAYERS:
        assert f" {layer.name} " in done.stdout
    for case in CASES:
        assert f" {case.name}: " in done.stdout
    assert "days ago: what was fixed since is not in it" in done.stdout
    assert "Isolates begin with a snapshot\n" in done.stdout


def test_the_report_as_data() -> None:
    found = json.loads(run("--json").stdout)
    assert found["sound"] is True
    assert found["v8_age_days"] >= 0
    assert date.fromisoformat(found["v8_stable_since"]) == stable_since(found["v8"])
    assert [case["name"] for case in found["rehearsed"]] == [case.name for case in CASES]
    assert all(case["held"] for case in found["rehearsed"] if case["without"])
    assert {layer["name"] for layer in found["jail"]["layers"]} == {layer.name for layer in LAYERS}


SEALED = ThreadStatus(7, "worker", "S", (9, 9, 9, 9), (9, 9, 9, 9), (), 2, True, 0, 0)
REPORT = EngineReport(
    engine="mini-racer",
    v8="14.4.258.23",
    v8_sandbox=True,
    jail=JailReport("used", (LayerReport("seccomp", "on", "x"), LayerReport("landlock", "on", "x"))),
    probes=[ProbeResult("fork", True, "EPERM", 1)],
    threads=[SEALED],
)
HELD = Rehearsed("read_file", "landlock", ("seccomp",), True, True, "EACCES", "opened /etc/passwd")


def judged(report: EngineReport, *cases: Rehearsed) -> tuple[bool, str]:
    sound = command._is_sound(report, cases)
    return sound, "\n".join(command._describe(report, cases, sound))


def test_a_sound_report_holds() -> None:
    sound, text = judged(REPORT, HELD)
    assert sound
    assert text.endswith("The jail holds.")


def with_layer(name: str) -> EngineReport:
    return msgspec.structs.replace(REPORT, jail=JailReport("used", (LayerReport(name, "failed", "EPERM"),)))


def test_a_layer_that_is_not_permitted_is_named_and_the_jail_holds() -> None:
    missing = Rehearsed("read_file", "landlock", ("seccomp",), False, False, "failed: EPERM", "")
    sound, text = judged(with_layer("landlock"), missing)
    assert sound
    assert text.endswith("The jail holds. This system does not permit: landlock.")
    assert "not had used     landlock" in text


@pytest.mark.parametrize(
    ("report", "case", "shown"),
    [
        (with_layer("seccomp"), HELD, "MISSING required seccomp"),
        (msgspec.structs.replace(REPORT, v8_sandbox=False), HELD, "heap sandbox OFF"),
        (msgspec.structs.replace(REPORT, probes=[ProbeResult("fork", False, "forked")]), HELD, "BREACH  fork"),
        (msgspec.structs.replace(REPORT, threads=[msgspec.structs.replace(SEALED, seccomp=0)]), HELD, "OPEN    worker"),
        (
            REPORT,
            msgspec.structs.replace(HELD, held=False, answer="opened"),
            "BREACH  landlock          read_file: opened",
        ),
    ],
)
def test_one_fault_is_enough(report: EngineReport, case: Rehearsed, shown: str) -> None:
    sound, text = judged(report, case)
    assert not sound
    assert shown in text
    assert text.endswith("The jail does NOT hold; see above.")


def test_a_case_that_proves_nothing_says_so() -> None:
    sound, text = judged(REPORT, msgspec.structs.replace(HELD, noticed=False))
    assert sound
    assert "proves nothing here" in text


def test_the_age_of_the_engine() -> None:
    assert age_days("14.4.258.23", date(2026, 1, 20)) == 7
    assert age_days("99.1.2", date(2026, 1, 20)) is None
    _, text = judged(msgspec.structs.replace(REPORT, v8="99.1.2"), HELD)
    assert "The age of this V8 is not known" in text


def test_the_pinned_engine_has_a_date() -> None:
    # An upgrade of the library brings another line of V8: look up when it became stable, and add it.
    assert SUPPORTED_VERSION == "0.14.1"
    assert list(STABLE_SINCE) == ["14.4"]


def test_isolates_without_snapshots_are_told_with_the_reason() -> None:
    report = msgspec.structs.replace(REPORT, without_snapshots="the library does not export it")
    assert "Isolates are slow to make: the library does not export it" in command._describe(report, (), True)
