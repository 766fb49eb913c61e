"""The benchmark's command on real hosts, in its quickest form, and what it does with hosts that do wrong."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from bench.host_process import HostFailed, HostProcess
from bench.peers import Peer
from bench.protocol import Command, Times
from bench.session import Session
from bench.workloads import Answer

from bench import measure, page, peers, results, workloads

ROOT = Path(__file__).parents[2]
WORKLOADS = {workload.id: workload for workload in workloads.read()}
LOOKS_INSIDE = os.geteuid() == 0  # worker processes show their memory to root only


def peer(name: str, *command: str) -> Peer:
    return Peer(name, name, "", command, process="", memory="", system_calls="", deadline="")


def scripted(*lines: str) -> Peer:
    """A host that says these lines, whatever it is asked, and goes."""
    code = f"import sys\nfor line in {lines!r}:\n print(line, flush=True)\n sys.stdin.readline()"
    return peer("scripted", sys.executable, "-c", code)


ENGINE, BRIDGE = peers.chosen(["engine", "bridge"])
STATEFUL = peer("stateful", peers.NODE, str(Path(__file__).with_name("stateful_host.mjs")))
WRONG = Command(id=0, do="serial", program="async () => $N", answer=Answer(number_plus=1), runs=1, seconds=5.0)


# --- the command ------------------------------------------------------------------------------------------------------


def test_command_measures_and_writes_the_report(tmp_path: Path) -> None:
    wanted = ["no-tool", "parallel-calls", "waiting-200", "saturated-4", "load-50", "cold", "growth"]
    wanted += ["memory"] * LOOKS_INSIDE
    options = ["--quick", "--rounds", "1", "--peers", "engine,bridge", "--workloads", ",".join(wanted)]
    command = [sys.executable, "-m", "bench", *options, "--out", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr + done.stdout

    report = results.read(tmp_path / "bench" / "results.json")
    assert [(r.workload, r.peer) for r in report.results] == [(w, p) for w in wanted for p in ("engine", "bridge")]
    assert list(report.peers) == ["engine", "bridge"]
    for result in report.results:
        assert result.failure is None
        assert result.summary is not None
        assert 0 < result.summary.low <= result.summary.median <= result.summary.high, result
    for name in ("engine", "bridge"):
        assert (report.median("memory", name) or 1) < 100
        growth = report.of("growth", name)
        assert growth is not None
        assert len(growth.samples) == len(growth.processor_ms) == 5
        assert len(growth.memory_mb) == (5 if LOOKS_INSIDE else 0)
        load = report.of("load-50", name)
        assert load is not None
        assert load.rate == pytest.approx(0.5 * (report.median("saturated-4", name) or 0), rel=1e-4)

    text = (tmp_path / "docs" / "benchmark.md").read_text()
    for name in wanted:
        assert WORKLOADS[name].method in text
    charts = sorted((tmp_path / "docs" / "assets" / "bench").glob("*.svg"))
    assert {f"assets/bench/{chart.name}" for chart in charts} == {
        part.partition("#")[0] for part in text.split("](") if part.startswith("assets/bench/")
    }
    for chart in charts:
        assert ElementTree.parse(chart).getroot().tag.endswith("svg")


def test_page_is_what_the_results_say() -> None:
    report = results.read(ROOT / "bench" / "results.json")
    assert (ROOT / "docs" / "benchmark.md").read_text() == page.text_of(report, workloads.read()), (
        "write it again: python -m bench --page"
    )


@pytest.mark.parametrize("options", [["--peers", "nobody"], ["--workloads", "nothing"], ["--rounds", "0"]])
def test_command_refuses_what_there_is_not(options: list[str]) -> None:
    command = [sys.executable, "-m", "bench", *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert options[1] in done.stderr


# --- hosts that do wrong ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", [ENGINE, BRIDGE], ids=lambda host: host.id)
async def test_wrong_answer_is_no_measurement(host: Peer) -> None:
    async with HostProcess(host) as process:
        with pytest.raises(HostFailed, match=r"answered 1 where 2 is right: async \(\) => 1"):
            await process.ask(WRONG, Times)
        await measure.check_fresh(process)
        right = await process.ask(
            Command(id=0, do="serial", program="async () => $N", answer=Answer(number_plus=0), runs=2, seconds=5.0),
            Times,
        )
        assert right.runs == 2


async def test_isolate_that_is_used_again_is_noticed() -> None:
    async with HostProcess(STATEFUL) as process:
        with pytest.raises(HostFailed, match="answered true where false is right"):
            await measure.check_fresh(process)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], "starting: its process ended with status 0"),
        (["no JSON"], "starting: "),
        (['{"ready":{}}'], "serial: its process ended with status 0"),
        (['{"ready":{}}', '{"id":7,"ok":{}}'], "an answer to 7 where 1 was asked"),
        (['{"ready":{}}', '{"id":1,"ok":{"runs":"many"}}'], "Expected `int`"),
        (['{"ready":{}}', '{"id":1}'], "neither answer nor error"),
        (['{"ready":{}}', '{"id":1,"error":"no"}'], "scripted, serial: no"),
    ],
)
async def test_host_that_does_not_answer(lines: list[str], message: str) -> None:
    with pytest.raises(HostFailed, match=message):
        async with HostProcess(scripted(*lines)) as process:
            await process.ask(WRONG, Times)


async def test_failure_of_one_is_told_and_the_others_are_measured() -> None:
    said: list[str] = []
    session = Session([STATEFUL, ENGINE], 2, 0.2, said.append)
    found = await session.run([WORKLOADS["no-tool"], WORKLOADS["load-50"]])
    assert [(result.workload, result.peer, result.failure is None) for result in found] == [
        ("no-tool", "stateful", False),
        ("no-tool", "engine", True),
        ("load-50", "stateful", False),
        ("load-50", "engine", False),
    ]
    assert "where false is right" in (found[0].failure or "")
    assert "throughput was not measured" in (found[3].failure or "")
    assert len(found[1].samples) == 2
    assert sum("FAILED" in line for line in said) == 3


async def test_a_sample_of_a_host_that_dies_once_is_taken_again_and_said(tmp_path: Path) -> None:
    said: list[str] = []
    mortal = peer("mortal", peers.NODE, str(Path(__file__).with_name("mortal_host.mjs")), str(tmp_path / "died"))
    (found,) = await Session([mortal], 2, 0.2, said.append).run([WORKLOADS["no-tool"]])
    assert found.failure is None
    assert len(found.samples) == 2
    assert "ended with status 3" in (found.again or "")
    assert sum("once again" in line for line in said) == 1


async def test_host_leaves_nothing_behind() -> None:
    async with HostProcess(ENGINE) as process:
        pid = process.pid
        await measure.check_fresh(process)
    with pytest.raises(ProcessLookupError):
        os.killpg(pid, 0)
