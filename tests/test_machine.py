"""How much memory there is for workers, seen through fake trees of control groups."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from codemode_executor import BadRequest, IsolateExecutor, Limits, machine

MIB = 1024 * 1024
GIB = 1024 * MIB
NO_LIMIT_V1 = 9223372036854771712
PHYSICAL = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


class Host:
    """A machine with control groups in a directory of the test."""

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root = directory / "cgroup"
        self.root.mkdir()
        self.membership = directory / "self"
        monkeypatch.setattr(machine, "_CGROUP_ROOT", self.root)
        monkeypatch.setattr(machine, "Path", self._path)

    def _path(self, name: str) -> Path:
        return self.membership if name == "/proc/self/cgroup" else Path(name)

    def member_of(self, *lines: str) -> None:
        self.membership.write_text("".join(f"{line}\n" for line in lines))

    def limit(self, file: str, value: object) -> None:
        path = self.root / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{value}\n")


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    return Host(tmp_path, monkeypatch)


def test_without_control_groups_it_is_the_machines_memory(host: Host) -> None:
    assert not host.membership.exists()
    assert machine.memory_bytes() == PHYSICAL


def test_version_2(host: Host) -> None:
    host.member_of("0::/service")
    host.limit("service/memory.max", 64 * MIB)
    assert machine.memory_bytes() == 64 * MIB


def test_version_2_without_a_limit(host: Host) -> None:
    host.member_of("0::/service")
    host.limit("service/memory.max", "max")
    assert machine.memory_bytes() == PHYSICAL


@pytest.mark.parametrize(("outer", "inner", "expected"), [(32, 64, 32), (64, 32, 32), (32, "max", 32), ("max", 48, 48)])
def test_version_2_the_tightest_limit_on_the_way_up_counts(
    host: Host, outer: object, inner: object, expected: int
) -> None:
    def size(value: object) -> object:
        return value * MIB if isinstance(value, int) else value

    host.member_of("0::/outer/middle/inner")
    host.limit("outer/memory.max", size(outer))
    host.limit("outer/middle/inner/memory.max", size(inner))
    assert machine.memory_bytes() == expected * MIB


def test_version_2_inside_a_namespace_the_group_is_the_root(host: Host) -> None:
    host.member_of("0::/")
    host.limit("memory.max", 64 * MIB)
    assert machine.memory_bytes() == 64 * MIB


def test_a_sibling_groups_limit_is_not_ours(host: Host) -> None:
    host.member_of("0::/ours")
    host.limit("ours/memory.max", "max")
    host.limit("theirs/memory.max", 16 * MIB)
    assert machine.memory_bytes() == PHYSICAL


def test_version_1(host: Host) -> None:
    host.member_of("9:name=systemd:/", "5:cpu,cpuacct:/a", "4:memory:/a/b")
    host.limit("memory/a/b/memory.limit_in_bytes", 64 * MIB)
    host.limit("memory/a/memory.limit_in_bytes", NO_LIMIT_V1)
    host.limit("memory/memory.limit_in_bytes", NO_LIMIT_V1)
    assert machine.memory_bytes() == 64 * MIB


def test_version_1_without_a_limit(host: Host) -> None:
    host.member_of("4:memory:/a")
    host.limit("memory/a/memory.limit_in_bytes", NO_LIMIT_V1)
    assert machine.memory_bytes() == PHYSICAL


def test_version_1_in_a_container_that_sees_only_its_own_tree(host: Host) -> None:
    """The membership names the group as the machine sees it; the mounted tree begins at the container."""
    host.member_of("4:memory:/docker/0123456789abcdef")
    host.limit("memory/memory.limit_in_bytes", 64 * MIB)
    assert machine.memory_bytes() == 64 * MIB


def test_version_1_memory_together_with_another_controller(host: Host) -> None:
    host.member_of("4:cpuset,memory:/a")
    host.limit("memory/a/memory.limit_in_bytes", 64 * MIB)
    assert machine.memory_bytes() == 64 * MIB


def test_both_versions_at_once(host: Host) -> None:
    host.member_of("4:memory:/a", "0::/b")
    host.limit("memory/a/memory.limit_in_bytes", 64 * MIB)
    host.limit("b/memory.max", 48 * MIB)
    assert machine.memory_bytes() == 48 * MIB


def test_a_controller_whose_name_only_contains_memory_is_another(host: Host) -> None:
    host.member_of("4:hugememory:/a")
    host.limit("memory/a/memory.limit_in_bytes", 64 * MIB)
    assert machine.memory_bytes() == PHYSICAL


def test_a_group_outside_the_namespace(host: Host) -> None:
    host.member_of("0::/../../elsewhere")
    host.limit("memory.max", 64 * MIB)
    assert machine.memory_bytes() == 64 * MIB


def test_a_group_with_a_colon_in_its_name(host: Host) -> None:
    host.member_of("0::/a:b")
    host.limit("a:b/memory.max", 64 * MIB)
    assert machine.memory_bytes() == 64 * MIB


def test_a_limit_beyond_the_machines_memory_bounds_nothing(host: Host) -> None:
    host.member_of("0::/a")
    host.limit("a/memory.max", PHYSICAL * 2)
    assert machine.memory_bytes() == PHYSICAL


def test_a_file_that_holds_something_else(host: Host) -> None:
    host.member_of("0::/a")
    host.limit("a/memory.max", "what?")
    host.limit("memory.max", "")
    assert machine.memory_bytes() == PHYSICAL


@pytest.mark.parametrize(
    ("memory", "expected"),
    [(None, 32), (1000 * GIB, 32), (GIB, 6), (160 * MIB, 1), (159 * MIB, 1), (320 * MIB, 2), (0, 1)],
)
def test_as_many_workers_by_default_as_fit_into_most_of_it(memory: int | None, expected: int) -> None:
    assert machine.default_max_workers(128, memory) == expected


def test_a_pool_that_does_not_fit_is_refused() -> None:
    machine.check(8, 128, GIB)
    machine.check(1_000_000, 128, None)
    with pytest.raises(BadRequest) as caught:
        machine.check(9, 128, GIB)
    text = str(caught.value)
    assert "max_workers=9" in text
    assert "Limits.memory_mb=128" in text
    assert "1152 MiB" in text
    assert "1024 MiB of memory" in text
    assert "allow_overcommit" in text


def test_the_executor_looks_at_it_when_it_is_made(host: Host) -> None:
    host.member_of("0::/a")
    host.limit("a/memory.max", 256 * MIB)
    limits = Limits(memory_mb=128)
    IsolateExecutor(limits=limits, max_workers=2)
    IsolateExecutor(limits=limits)
    with pytest.raises(BadRequest, match=r"max_workers=3 .* 384 MiB, but there are 256 MiB"):
        IsolateExecutor(limits=limits, max_workers=3)
    IsolateExecutor(limits=limits, max_workers=3, allow_overcommit=True)


def test_a_single_worker_beyond_the_memory_is_refused_by_default_too(host: Host) -> None:
    host.member_of("0::/a")
    host.limit("a/memory.max", 64 * MIB)
    with pytest.raises(BadRequest, match="allow_overcommit"):
        IsolateExecutor(limits=Limits(memory_mb=128))
