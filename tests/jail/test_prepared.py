"""What is made before the fork."""

import os
import stat

import pytest

from codemode_executor.jail import prepared
from codemode_executor.jail.layer import Prepared


def test_what_is_prepared_is_open_and_closed_again() -> None:
    before = set(os.listdir("/proc/self/fd"))
    made = prepared.make(None)
    try:
        status = os.fstat(made.root_fd)
        assert stat.S_ISDIR(status.st_mode)
        assert status.st_nlink == 0  # removed already
        assert (status.st_dev, status.st_ino) == made.root_identity
        assert made.root_fd in made.descriptors
        assert made.network_namespace == 0
        assert (made.landlock_fd >= 0) is (made.landlock_abi > 0) is (made.landlock_problem == "")
    finally:
        prepared.release(made)
    assert set(os.listdir("/proc/self/fd")) == before


def test_without_a_place_there_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prepared, "_PLACES", ("/proc", "/nowhere"))
    made = prepared.make(None)
    try:
        assert made.root_fd == -1
        assert made.root_problem.startswith("no empty directory can be made (/proc: ")
        assert "/nowhere: No such file or directory" in made.root_problem
    finally:
        prepared.release(made)


def test_nothing_prepared_is_nothing_lent() -> None:
    assert Prepared().descriptors == frozenset()
    prepared.release(Prepared())
