"""The benchmark's arithmetic, schedule, targets and page, on made-up numbers."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest
from bench.results import Machine, PeerInfo, Report, Result
from bench.summary import quantile, summarize
from bench.targets import TARGETS, best_rate, flat, grown

from bench import charts, page, profiles, results, schedule, workloads

MACHINE = Machine(processor="p", cores=2, memory_gb=1.0, kernel="k", date="2026-01-01", load=0.0)


def info(title: str) -> PeerInfo:
    return PeerInfo(
        title=title, what="w", process="p", memory="m", system_calls="s", deadline="d", versions={"node": "1"}
    )


def report(medians: dict[tuple[str, str], list[float]], **more: object) -> Report:
    names = list(dict.fromkeys(peer for _, peer in medians))
    made = [
        Result(workload=workload, peer=peer, samples=samples, summary=summarize(samples))
        for (workload, peer), samples in medians.items()
    ]
    base = Report(machine=MACHINE, quick=False, rounds=3, seconds=1.0, peers={n: info(n) for n in names}, results=made)
    return msgspec.structs.replace(base, **more)


def test_quartiles() -> None:
    found = summarize([4.0, 1.0, 3.0, 2.0, 5.0], tail=True)
    assert (found.samples, found.low, found.median, found.high) == (5, 2.0, 3.0, 4.0)
    assert found.p95 == pytest.approx(4.8)
    assert summarize([7.0]).high == 7.0
    assert summarize([7.0]).p99 is None
    assert quantile([0.0, 10.0], 0.25) == 2.5
    with pytest.raises(ValueError, match="no samples"):
        summarize([])


def test_schedule_is_the_same_for_all_and_stretched_by_the_rate() -> None:
    slow = schedule.arrivals_ms(100, 4.0, seed=3)
    fast = schedule.arrivals_ms(200, 2.0, seed=3)
    assert len(slow) == len(fast)
    assert slow == pytest.approx([2 * due for due in fast])
    assert list(slow) == sorted(slow)
    assert slow[-1] < 4000
    assert 300 < len(slow) < 500
    assert slow != schedule.arrivals_ms(100, 4.0, seed=4)
    assert len(schedule.arrivals_ms(0.001, 1.0, seed=1)) == 1
    with pytest.raises(ValueError, match="more than 0 a second, not 0"):
        schedule.arrivals_ms(0, 1.0, seed=1)


def test_targets() -> None:
    found = report(
        {
            ("no-tool", "engine"): [1.0, 2.0, 3.0],
            ("no-tool", "upstream"): [10.0],
            ("no-tool", "tanstack"): [1.0],
            ("saturated-4", "engine"): [100.0],
            ("saturated-16", "engine"): [300.0],
            ("saturated-4", "upstream"): [200.0],
            ("memory", "engine"): [15.5],
        }
    )
    values = {
        target.id: (value := target.measure(found), value is not None and target.met(value)) for target in TARGETS
    }
    assert values["no-tool-engine"] == (0.2, True)
    assert values["no-tool-bridge"] == (None, False)
    assert values["no-tool-tanstack"] == (2.0, False)
    assert values["throughput-engine"] == (1.5, True)
    assert values["memory-engine"] == (15.5, False)
    assert best_rate(found, "engine") == 300.0
    assert best_rate(found, "nobody") is None


def test_growth_is_judged_without_the_first_tenth() -> None:
    spent = [9.0, 1.0, 1.0, 5.0, 5.0, 2.0, 2.0]
    made = Result(
        workload="growth",
        peer="engine",
        samples=[1.0],
        summary=summarize([1.0]),
        memory_mb=[50.0, 90.0, 60.0],
        processor_ms=spent,
    )
    found = report({("no-tool", "engine"): [1.0]}, results=[made])
    assert flat(found) == 2.0
    assert grown(found) == 10.0
    short = msgspec.structs.replace(made, processor_ms=spent[:4], memory_mb=[1.0])
    assert flat(report({("no-tool", "engine"): [1.0]}, results=[short])) is None
    assert grown(report({("no-tool", "engine"): [1.0]}, results=[short])) is None


def test_page_names_what_is_missed_and_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "profiles.md"
    file.write_text(
        "Intro.\n\n## Slow calls {call-engine call-bridge}\n\nIt sleeps.\n\n## Memory {memory-engine}\n\nFat.\n"
    )
    known = {target.id for target in TARGETS}
    found = profiles.read(known, file)
    monkeypatch.setattr(page.profiles, "read", lambda _: found)
    made = report(
        {
            ("sequential-calls", "engine"): [50.0],
            ("sequential-calls", "bridge"): [90.0],
            ("sequential-calls", "upstream"): [10.0],
            ("memory", "engine"): [7.0],
            ("no-tool", "engine"): [3.0],
            ("no-tool", "upstream"): [1.0],
        }
    )
    failed = Result(workload="no-tool", peer="bridge", failure="it | broke\nbadly")
    text = page.text_of(msgspec.structs.replace(made, results=[*made.results, failed]), workloads.read())
    assert text.count("**not met**: [why](#slow-calls)") == 2
    assert text.count("It sleeps.") == 1
    assert "Fat." not in text
    assert "**not met**, no profile yet" in text
    assert "| bridge | failed: it \\| broke badly |" in text
    assert "quick run" not in text
    busy = msgspec.structs.replace(MACHINE, load=3.0)
    assert "was busy" in page.text_of(msgspec.structs.replace(made, machine=busy, quick=True), workloads.read())


@pytest.mark.parametrize(
    ("text", "message"),
    [("## A {nothing}\n", "no target 'nothing'"), ("## A {x}\nt\n## B {x}\n", "'x' has two sections: A, B")],
)
def test_profiles_name_targets_once(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "profiles.md"
    file.write_text(text)
    with pytest.raises(ValueError, match=message):
        profiles.read({"x"}, file)


def test_profiles_in_the_repository_are_of_targets() -> None:
    for profile in profiles.read({target.id for target in TARGETS}):
        assert profile.text


def test_results_are_read_as_they_were_written(tmp_path: Path) -> None:
    made = report({("no-tool", "engine"): [1.23456789, 2.0]})
    results.write(made, tmp_path / "r.json")
    again = results.read(tmp_path / "r.json")
    assert again.results[0].samples == [1.23457, 2.0]
    assert again.peers == made.peers
    (tmp_path / "r.json").write_text('{"schema": 1}')
    with pytest.raises(msgspec.ValidationError):
        results.read(tmp_path / "r.json")


def test_workload_needs_one_answer(tmp_path: Path) -> None:
    file = tmp_path / "w.json"
    fields = '"id":"a","section":"start","title":"t","method":"m","kind":"serial","unit":"ms","program":"p"'
    for answer in ("{}", '{"number_plus":1,"text_of":2}'):
        file.write_text(f'{{"workloads":[{{{fields},"answer":{answer}}}]}}')
        with pytest.raises(msgspec.ValidationError, match="a: its answer needs one of"):
            workloads.read(file)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (0.0123, "0.0123"), (1.0, "1"), (2.345, "2.35"), (45.67, "45.7"), (1234.5, "1 234"), (0.5, "0.5")],
)
def test_short_numbers(value: float, text: str) -> None:
    assert charts.short(value) == text


@pytest.mark.parametrize("theme", charts.PALETTES)
def test_charts_are_documents_within_their_box(theme: str) -> None:
    rows = [charts.Row(f"a & <b> {n}", "other", 10.0**n, 10.0**n / 2, 10.0**n * 2, "note") for n in range(-1, 4)]
    drawn = [
        charts.panels(
            [charts.Panel("t", "ms", rows), charts.Panel("u", "MiB", rows[:2], bars=True)], charts.PALETTES[theme], "d"
        ),
        charts.lines(
            "t", "n", [charts.Line("a", "ours", [1, 2, 3]), charts.Line("b", "other", [3])], charts.PALETTES[theme], "d"
        ),
    ]
    for text in drawn:
        root = ElementTree.fromstring(text)
        width = float(root.attrib["width"])
        places = [float(e.attrib["cx"]) for e in root.iter("{http://www.w3.org/2000/svg}circle")]
        assert all(0 <= x <= width for x in places)
        assert places == sorted(places)
        assert root.find("{http://www.w3.org/2000/svg}title") is not None
