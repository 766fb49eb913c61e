"""``codemode-executor doctor``."""

from __future__ import annotations

import asyncio
import platform
import sys
from datetime import date
from typing import Any

import msgspec

from .. import __version__
from ..contract import EngineReport
from ..errors import WorkerStartFailed
from ..executor import IsolateExecutor
from ..jail import JailError, JailPolicy, LayerReport, ThreadStatus
from ..jail.rehearsal import Rehearsed, rehearse
from .doctor_age import age_days, stable_since

#: What an executor asks for by default, whatever this command starts its worker with.
_DEFAULT = JailPolicy()


def doctor(*, as_json: bool) -> bool:
    """Print what a worker is and what its jail proved.

    Returns:
        Every layer that is required by default is on, every probe was blocked, every thread is sealed, and each layer
        in force stopped what it alone had to stop.

    Raises:
        ExecutorError: no worker can be started at all, or no process to try the layers one by one.
    """
    # Processes are forked before the event loop brings threads.
    rehearsed = _rehearse() if sys.platform == "linux" else ()
    report = asyncio.run(_inspect())
    sound = _is_sound(report, rehearsed)
    if as_json:
        sys.stdout.buffer.write(msgspec.json.format(msgspec.json.encode(_data(report, rehearsed, sound)), indent=2))
        sys.stdout.buffer.write(b"\n")
        sys.stdout.flush()
    else:
        print("\n".join(_describe(report, rehearsed, sound)))
    return sound


def _rehearse() -> tuple[Rehearsed, ...]:
    # As below: whatever the machine offers, the report is wanted above all where something is missing.
    try:
        return rehearse(JailPolicy(hardening="used"))
    except (JailError, OSError) as error:
        raise WorkerStartFailed(f"the layers cannot be tried one by one: {error}") from error


async def _inspect() -> EngineReport:
    async with IsolateExecutor(hardening="used") as executor:
        return await executor.inspect()


def _data(report: EngineReport, rehearsed: tuple[Rehearsed, ...], sound: bool) -> dict[str, Any]:
    """The worker's report, and beside it what was found around it."""
    return {
        **msgspec.structs.asdict(report),
        "v8_stable_since": stable_since(report.v8),
        "v8_age_days": age_days(report.v8, date.today()),
        "rehearsed": rehearsed,
        "sound": sound,
    }


def _is_sealed(thread: ThreadStatus) -> bool:
    return thread.seccomp == 2 and thread.no_new_privs and not thread.cap_effective


def _is_missing(layer: LayerReport) -> bool:
    """It failed although it is required by default."""
    return layer.state == "failed" and _DEFAULT.wanted(layer.name) == "required"


def _is_in_force(case: Rehearsed) -> bool:
    return bool(case.without)


def _is_sound(report: EngineReport, rehearsed: tuple[Rehearsed, ...]) -> bool:
    return (
        not any(map(_is_missing, report.jail.layers))
        and all(map(_is_sealed, report.threads))
        and all(probe.blocked for probe in report.probes)
        and all(case.held for case in rehearsed if _is_in_force(case))
        and report.v8_sandbox
    )


def _describe(report: EngineReport, rehearsed: tuple[Rehearsed, ...], sound: bool) -> list[str]:
    sandbox = "on" if report.v8_sandbox else "OFF"
    lines = [
        f"codemode-executor {__version__}, Python {platform.python_version()},"
        f" {platform.system()} {platform.release()}",
        f"V8 {report.v8} through {report.engine}, heap sandbox {sandbox}",
        _describe_age(report.v8, date.today()),
        f"Isolates are slow to make: {report.without_snapshots}"
        if report.without_snapshots
        else "Isolates begin with a snapshot",
        "",
        "Layers of the jail, in the order in which a worker applies them; what an executor asks of each by default",
    ]
    for layer in report.jail.layers:
        state = "MISSING" if _is_missing(layer) else "not had" if layer.state == "failed" else layer.state
        lines.append(f"  {state:7} {_DEFAULT.wanted(layer.name):8} {layer.name:17} {layer.detail}")
    if rehearsed:
        lines += ["", "Each layer with those in front of it taken away: what it stops, and what happens without it"]
    for case in rehearsed:
        if _is_in_force(case):
            verdict = "stopped" if case.held else "BREACH"
            control = "" if case.noticed else " (proves nothing here: no different without it)"
            lines.append(f"  {verdict:7} {case.layer:17} {case.name}: {case.answer} | {case.without}{control}")
        else:
            lines.append(f"  -       {case.layer:17} {case.name}: {case.answer}")
    lines += ["", "Tried from inside a worker, in a thread made after its jail"]
    lines += [
        f"  {'blocked' if probe.blocked else 'BREACH':7} {probe.name:17} {probe.detail}" for probe in report.probes
    ]
    lines += ["", "Threads of the worker, seen from outside"]
    for thread in report.threads:
        sealed = "sealed" if _is_sealed(thread) else "OPEN"
        lines.append(f"  {sealed:7} {thread.name:17} seccomp {thread.seccomp}, uid {thread.uids[1]}")
    return [*lines, "", *_verdict(report, sound)]


def _describe_age(version: str, today: date) -> str:
    since, days = stable_since(version), age_days(version, today)
    if since is None:
        return "The age of this V8 is not known: what was fixed in newer ones is not in it"
    return f"This line of V8 became stable on {since}, {days} days ago: what was fixed since is not in it"


def _verdict(report: EngineReport, sound: bool) -> list[str]:
    if not sound:
        return ["The jail does NOT hold; see above."]
    not_had = [layer.name for layer in report.jail.layers if layer.state == "failed"]
    if not_had:
        return [f"The jail holds. This system does not permit: {', '.join(not_had)}."]
    return ["The jail holds."]
