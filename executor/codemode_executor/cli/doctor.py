"""``codemode-executor doctor``."""

from __future__ import annotations

import asyncio
import platform
import sys

import msgspec

from .. import __version__
from ..contract import EngineReport
from ..executor import IsolateExecutor


def doctor(*, as_json: bool) -> bool:
    """Print what a worker is and what its jail proved.

    Returns:
        Every layer is on and every probe was blocked.

    Raises:
        ExecutorError: no worker can be started at all.
    """
    report = asyncio.run(_inspect())
    sound = _is_sound(report)
    if as_json:
        sys.stdout.buffer.write(msgspec.json.format(msgspec.json.encode(report), indent=2) + b"\n")
        sys.stdout.flush()
    else:
        print(_describe(report, sound))
    return sound


async def _inspect() -> EngineReport:
    # Whatever the machine offers: the report is wanted above all where something is missing.
    async with IsolateExecutor(hardening="used") as executor:
        return await executor.inspect()


def _is_sound(report: EngineReport) -> bool:
    layers = all(layer.state != "failed" for layer in report.jail.layers)
    sealed = all(thread.seccomp == 2 and thread.no_new_privs and not thread.cap_effective for thread in report.threads)
    return layers and sealed and all(probe.blocked for probe in report.probes) and report.v8_sandbox


def _describe(report: EngineReport, sound: bool) -> str:
    sandbox = "on" if report.v8_sandbox else "OFF"
    lines = [
        f"codemode-executor {__version__}, Python {platform.python_version()},"
        f" {platform.system()} {platform.release()}",
        f"V8 {report.v8} through {report.engine}, heap sandbox {sandbox}",
        "",
        "Layers of the jail, in the order in which a worker applies them",
    ]
    lines += [f"  {layer.state:7} {layer.name:22} {layer.detail}" for layer in report.jail.layers]
    lines += ["", "Tried from inside a worker"]
    lines += [
        f"  {'blocked' if probe.blocked else 'BREACH':7} {probe.name:22} {probe.detail}" for probe in report.probes
    ]
    lines += ["", "Threads of the worker, seen from outside"]
    for thread in report.threads:
        sealed = "sealed" if thread.seccomp == 2 and thread.no_new_privs and not thread.cap_effective else "OPEN"
        lines.append(f"  {sealed:7} {thread.name:22} seccomp {thread.seccomp}, uid {thread.uids[1]}")
    lines += ["", "The jail holds." if sound else "The jail does NOT hold; see above."]
    return "\n".join(lines)
