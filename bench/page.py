"""docs/benchmark.md and its charts, from a report. Nothing in it is written by hand but the sentences here, the
methods in workloads.json and profiles.md."""

from __future__ import annotations

import re
import statistics
from collections.abc import Sequence
from pathlib import Path

from . import charts, profiles
from .charts import Line, Panel, Row, short
from .peers import UPSTREAM
from .results import PeerInfo, Report, Result
from .targets import TARGETS, Target
from .workloads import Workload

_SECTIONS = {
    "start": "Starting a run",
    "calls": "Tool calls",
    "large": "Large values",
    "work": "Computing and waiting",
    "throughput": "Throughput",
    "load": "Latency under load",
    "memory": "Memory",
    "growth": "Ten thousand runs",
}
_CHARTS = Path("docs") / "assets" / "bench"


def write(report: Report, workloads: Sequence[Workload], root: Path) -> None:
    """The page and its charts below ``root``. Charts of an earlier report are removed."""
    folder = root / _CHARTS
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.svg"):
        old.unlink()
    for section in _SECTIONS:
        drawn = _drawing(report, [w for w in workloads if w.section == section], section)
        for theme, text in drawn.items():
            (folder / f"{section}-{theme}.svg").write_text(text)
    (root / "docs" / "benchmark.md").write_text(text_of(report, workloads))


def text_of(report: Report, workloads: Sequence[Workload]) -> str:
    """The page."""
    parts = [_head(report), _targets(report), _peers(report), _method(report), _ratios(report, workloads)]
    for section, title in _SECTIONS.items():
        inside = [w for w in workloads if w.section == section and any(r.workload == w.id for r in report.results)]
        if inside:
            parts.append(f"## {title}\n")
            parts.append(_chart(section, title) + "\n" if _drawable(report, inside) else "")
            parts.extend(_workload(report, workload) for workload in inside)
    parts.append(_limits())
    return re.sub(r"\n{3,}", "\n\n", "\n".join(part for part in parts if part)).rstrip() + "\n"


# --- sections ---------------------------------------------------------------------------------------------------------


def _head(report: Report) -> str:
    machine = report.machine
    warnings = ""
    if report.quick:
        warnings += (
            "\n!!! warning\n    This is a quick run, made to see that everything works. "
            "Its numbers say little; run `make bench` for numbers.\n"
        )
    if machine.load > 0.3 * machine.cores:
        warnings += (
            f"\n!!! warning\n    The machine was busy when this began: load {machine.load:.1f} on "
            f"{machine.cores} cores. All peers suffer from that, not all alike.\n"
        )
    rounds = f"{report.rounds} round{'s' if report.rounds != 1 else ''}"
    return f"""# Benchmark

<!-- Written by `make bench` from bench/results.json: do not edit. -->

The engine beside what a host could use instead: the same programs, the same tools, one machine, one run, taking turns.
{warnings}
<!-- block: make -->

```sh
make bench
```

measures on your machine and writes this page again; `bench/results.json` has every sample. This one: {machine.date},
{machine.cores} cores of {machine.processor}, {machine.memory_gb} GB, Linux {machine.kernel}, {rounds},
{report.seconds / 60:.0f} minutes.
"""


def _targets(report: Report) -> str:
    known = profiles.read({target.id for target in TARGETS})
    rows: list[str] = []
    explained: list[profiles.Profile] = []
    for target in TARGETS:
        value = target.measure(report)
        if value is None:
            rows.append(f"| {target.text} | not measured | |")
            continue
        why = next((profile for profile in known if target.id in profile.targets), None)
        if target.met(value):
            verdict = "met"
        elif why is None:
            verdict = "**not met**, no profile yet"
        else:
            verdict = f"**not met**: [why](#{why.anchor})"
            if why not in explained:
                explained.append(why)
        rows.append(f"| {target.text} | {_value(target, value)} | {verdict} |")
    intro = (
        "## Targets\n\nWhat this project holds itself to, as ratios of medians. "
        "“Upstream” is `DynamicWorkerExecutor` on workerd; "
        "the engine runs in a Python host if nothing else is said.\n\n"
        "| target | measured | |\n|---|---|---|"
    )
    sections = [f"### {why.title} {{ #{why.anchor} }}\n\n{why.text}\n" for why in explained]
    return "\n".join([intro, *rows, "", *sections])


def _value(target: Target, value: float) -> str:
    return f"{short(value)} {target.unit}" if target.unit else f"{value:.2f} times"


def _peers(report: Report) -> str:
    rows = [
        f"| **{peer.title}** | {peer.what} | {peer.process} | {peer.memory} | {peer.system_calls} | {peer.deadline} |"
        for peer in report.peers.values()
    ]
    pairs = {f"{name} {version}": None for peer in report.peers.values() for name, version in peer.versions.items()}
    versions = ", ".join(pairs)
    return "\n".join(
        [
            "## What is compared\n",
            "They do not protect the host equally, and nothing here says they do: a number is the price of what its "
            "row isolates.\n",
            "| | runs | process of a program | memory bound | system calls confined by | deadline |",
            "|---|---|---|---|---|---|",
            *rows,
            f"\nVersions: {versions}.\n" if versions else "",
        ]
    )


def _method(report: Report) -> str:
    return """## How it is measured

- Every peer has a host process of its own, which stays for all rounds. It runs the programs and takes the time itself,
  so no pipe to the measuring program is in any number, and no request to the host either: upstream's runs are made by a
  Worker, in one request for all runs of a round. While one host is measured, the others do nothing.
- The peers take turns within each round, so what else the machine does falls on all of them. A program is run twice on
  each peer before anything counts.
- A **sample** is one round. Tables give the median of the samples, and their first and third quartile.
- Every program has a number in it that its host has not used before, so none is served from a cache of texts. Every
  answer is compared with what it must be, within the time measured.
- Every peer makes a new isolate (or process) for every run, upstream by `WorkerLoader.load()`, which keeps nothing.
  That is checked before measuring: the same text, run three times, never finds what it left in the global object.
- In workerd the clock stands still while code runs and moves when a message arrives, in whole milliseconds. So times
  of upstream are sums over many runs, whose error is at most a millisecond a round without pauses; its latencies under
  load are exact to a millisecond.
- Options are the defaults, but for the engine's and the daemon's queue, which must take the burst of 200 runs.
- All JavaScript hosts run on one Node, the one of the versions above.
"""


def _ratios(report: Report, workloads: Sequence[Workload]) -> str:
    others = [peer for peer in report.peers if peer != UPSTREAM]
    if UPSTREAM not in report.peers or not others:
        return ""
    rows: list[str] = []
    for workload in workloads:
        base = report.median(workload.id, UPSTREAM)
        if not base:
            continue
        cells: list[str] = []
        for peer in others:
            value = report.median(workload.id, peer)
            cells.append("" if value is None else _ratio(value / base))
        if any(cells):
            better = " (more is better)" if workload.more_is_better else ""
            rows.append(f"| {workload.title}{better} | {' | '.join(cells)} |")
    if not rows:
        return ""
    heads = " | ".join(report.peers[peer].title for peer in others)
    return "\n".join(
        [
            "## Ratios to upstream\n",
            "Medians over upstream's: below 1 is faster or smaller than upstream, for throughput above 1 is more.\n",
            f"| | {heads} |\n|---|{'---:|' * len(others)}",
            *rows,
            "",
        ]
    )


def _ratio(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:.0f}"


def _workload(report: Report, workload: Workload) -> str:
    found = [(peer, report.of(workload.id, name)) for name, peer in report.peers.items()]
    rows = [_row(peer, result, workload) for peer, result in found if result is not None]
    out = [
        f"### {workload.title}\n",
        f"{workload.method}\n",
        f"<!-- block: tested tests/bench -->\n\n```js\n{_programs(workload)}\n```\n" if _shows(workload) else "",
    ]
    if workload.kind == "arrivals":
        out.append("| | runs/s | median | p95 | p99 |\n|---|---:|---:|---:|---:|")
    elif workload.kind == "growth":
        out.append(
            "| | ms a run, first tenth | second and third | last two | processor ms a run | MiB after the first "
            "| after the last |\n"
            "|---|---:|---:|---:|---:|---:|---:|"
        )
    else:
        out.append(f"| | median, {workload.unit} | quartiles | samples |\n|---|---:|---:|---:|")
    return "\n".join([*out, *rows, ""])


def _shows(workload: Workload) -> bool:
    return workload.id in {"ten-calls", "parallel-calls", "computing", "tool-result-10mb"}


def _programs(workload: Workload) -> str:
    return (
        workload.program.replace("; ", ";\n  ").replace("{ ", "{\n  ", 1)
        if workload.id == "computing"
        else workload.program
    )


def _row(peer: PeerInfo, result: Result, workload: Workload) -> str:
    summary = result.summary
    if summary is None:
        return f"| {peer.title} | failed: {_cell(result.failure or '')} |"
    if workload.kind == "arrivals":
        tail = [summary.median, summary.p95 or 0.0, summary.p99 or 0.0]
        return f"| {peer.title} | {result.rate or 0:.0f} | {' | '.join(map(short, tail))} |"
    if workload.kind == "growth":
        samples, memory = result.samples, result.memory_mb
        middle = short(sum(samples[1:3]) / 2) if len(samples) >= 5 else ""
        last = short(sum(samples[-2:]) / 2) if len(samples) >= 5 else short(samples[-1])
        processor = short(statistics.median(result.processor_ms)) if result.processor_ms else ""
        sizes = [short(memory[0]), short(memory[-1])] if memory else ["", ""]
        return f"| {peer.title} | {short(samples[0])} | {middle} | {last} | {processor} | {' | '.join(sizes)} |"
    spread = f"{short(summary.low)} to {short(summary.high)}"
    again = f" (one sample taken again: {_cell(result.again)})" if result.again is not None else ""
    return f"| {peer.title}{again} | {short(summary.median)} | {spread} | {summary.samples} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")[:200]


def _limits() -> str:
    return """## What it does not say

- It is one machine. With more cores the engine has more workers busy at once.
- Programs that models write mostly wait, for tools and for the model. For those, the rows about waiting runs and memory
  matter more than the first one.
- Hosts differ in language: the engine's numbers include Python's tools and event loop, the others' Node's or workerd's.
"""


# --- charts -----------------------------------------------------------------------------------------------------------


def _drawable(report: Report, workloads: Sequence[Workload]) -> bool:
    return any(r.summary is not None for w in workloads for r in report.results if r.workload == w.id)


def _chart(section: str, title: str) -> str:
    return "\n".join(
        f"![{title}](assets/bench/{section}-{theme}.svg#only-{theme}){{ loading=lazy }}" for theme in charts.PALETTES
    )


def _drawing(report: Report, workloads: Sequence[Workload], section: str) -> dict[str, str]:
    """The chart of a section by theme; empty if there is nothing to draw."""
    if not _drawable(report, workloads):
        return {}
    if section == "growth":
        given = [
            Line(peer.title, _role(name), result.samples)
            for name, peer in report.peers.items()
            if (result := report.of("growth", name)) is not None and result.samples
        ]
        describe = "Milliseconds a run in each tenth of 10 000 runs, by peer; the numbers are in the table below"
        return {
            theme: charts.lines(
                "Time of a run, ms", "each thousand runs, one after the other", given, palette, describe
            )
            for theme, palette in charts.PALETTES.items()
        }
    panels: list[Panel] = []
    for workload in workloads:
        rows = [
            _mark(report.peers[name], name, result, workload)
            for name in report.peers
            if (result := report.of(workload.id, name)) is not None and result.summary is not None
        ]
        if rows:
            better = "runs/s, more is better" if workload.more_is_better else f"{workload.unit}, less is better"
            bars = workload.more_is_better or workload.kind == "memory"
            panels.append(Panel(workload.title, better, rows, bars=bars))
    describe = f"{_SECTIONS[section]}: medians and spread by peer; the numbers are in the tables below"
    return {theme: charts.panels(panels, palette, describe) for theme, palette in charts.PALETTES.items()}


def _mark(peer: PeerInfo, name: str, result: Result, workload: Workload) -> Row:
    summary = result.summary
    if summary is None:
        raise ValueError(f"{workload.id} on {name} failed: there is nothing to draw")
    if workload.kind == "arrivals":
        low, high = summary.median, summary.p99 or summary.median
        return Row(peer.title, _role(name), summary.median, low, high, f"{short(summary.median)}, p99 {short(high)}")
    return Row(peer.title, _role(name), summary.median, summary.low, summary.high, short(summary.median))


def _role(name: str) -> str:
    if name == UPSTREAM:
        return "upstream"
    return "ours" if name.startswith("engine") or name == "bridge" else "other"
