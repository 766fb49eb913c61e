"""The error tree: codes are pinned, because programs of others compare them."""

from __future__ import annotations

import pickle
import re

import pytest

import codemode_executor
from codemode_executor import errors
from codemode_executor.errors import (
    ExecutorError,
    HandleCallFailed,
    NestingLimit,
    QueueFull,
    QueueTimeout,
    RetainedLimit,
    WorkerCrashed,
)

CODES = {
    "ExecutorError": "EXECUTOR_ERROR",
    "BadRequest": "BAD_REQUEST",
    "ExecutorClosed": "CLOSED",
    "HandleCallFailed": "HANDLE_CALL_FAILED",
    "HandleDisposed": "HANDLE_DISPOSED",
    "HardeningUnavailable": "HARDENING_UNAVAILABLE",
    "NestingLimit": "NESTING_LIMIT",
    "QueueFull": "QUEUE_FULL",
    "QueueTimeout": "QUEUE_TIMEOUT",
    "RetainedLimit": "RETAINED_LIMIT",
    "WorkerCrashed": "WORKER_CRASHED",
    "WorkerStartFailed": "WORKER_START_FAILED",
}


def tree(root: type[ExecutorError]) -> list[type[ExecutorError]]:
    found = [root]
    for child in root.__subclasses__():
        if child.__module__ == errors.__name__:
            found += tree(child)
    return found


ALL = tree(ExecutorError)
EVERY = pytest.mark.parametrize("error", ALL, ids=[error.__name__ for error in ALL])


def test_codes_are_stable() -> None:
    assert {error.__name__: error.code for error in ALL} == CODES


def test_codes_are_unique_and_every_class_has_its_own() -> None:
    assert len({error.code for error in ALL}) == len(ALL)
    assert all("code" in vars(error) for error in ALL)


def test_the_drawn_tree_lists_every_class() -> None:
    drawn = re.findall(r"^ {4}(?:[├└]── )?(\w+) +(\w+)", errors.__doc__ or "", re.MULTILINE)
    assert drawn[0] == ("ExecutorError", "code")
    assert dict(drawn[1:]) == {name: code for name, code in CODES.items() if name != drawn[0][0]}


def test_the_tree_is_flat_as_drawn() -> None:
    assert {error.__base__ for error in ALL} == {Exception, ExecutorError}


@EVERY
def test_every_class_is_documented_and_public(error: type[ExecutorError]) -> None:
    assert error.__doc__
    assert getattr(codemode_executor, error.__name__) is error
    assert error.__name__ in codemode_executor.__all__


# One of every class, with what it must say and the fields it must carry.
SAMPLES: list[tuple[ExecutorError, list[str], dict[str, object]]] = [
    *((error("what went wrong"), ["what went wrong"], {}) for error in ALL if "__init__" not in vars(error)),
    (NestingLimit(5, 4), ["depth 5", "limit is 4"], {"depth": 5, "limit": 4}),
    (
        QueueFull(100, 1.25),
        ["100 runs", "max_queue", "1.2 s"],
        {"queue_length": 100, "retry_after_s": 1.25},
    ),
    (
        QueueTimeout(30.0, 7, 0.5),
        ["30.0 s", "queue_timeout_s", "7 runs", "0.5 s"],
        {"waited_s": 30.0, "queue_length": 7, "retry_after_s": 0.5},
    ),
    (HandleCallFailed("no", "TypeError", "at f"), ["no"], {"name": "TypeError", "stack": "at f"}),
    (RetainedLimit(16), ["16 runs", "max_retained"], {"limit": 16}),
    (
        WorkerCrashed("gone", exit_status=-9, stderr="last words", logs=("a", "b")),
        ["gone"],
        {"exit_status": -9, "stderr": "last words", "logs": ("a", "b")},
    ),
]
EVERY_SAMPLE = pytest.mark.parametrize(
    ("error", "words", "fields"), SAMPLES, ids=[type(error).__name__ for error, _, _ in SAMPLES]
)


def test_there_is_a_sample_of_every_class() -> None:
    assert {type(error) for error, _, _ in SAMPLES} == set(ALL)


@EVERY_SAMPLE
def test_an_error_says_what_went_wrong_and_carries_it(
    error: ExecutorError, words: list[str], fields: dict[str, object]
) -> None:
    assert all(word in str(error) for word in words), str(error)
    assert vars(error) == fields


# Errors cross process borders in hosts that use pools of processes.
@EVERY_SAMPLE
def test_an_error_survives_pickling(error: ExecutorError, words: list[str], fields: dict[str, object]) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert (str(copy), copy.code, vars(copy)) == (str(error), error.code, fields)


def test_a_crash_without_details() -> None:
    crash = WorkerCrashed("gone")
    assert (crash.exit_status, crash.stderr, crash.logs) == (None, "", ())
