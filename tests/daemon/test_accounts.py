"""Tokens and their files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from codemode_executor import BadRequest
from codemode_executor.daemon.accounts import Accounts, parse_tokens, read_token_file

TOKEN = "0123456789abcdef"


def test_a_file_of_tokens(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.touch(0o600)
    file.write_text(f"# who may\n\nteam-a  {TOKEN}\n{TOKEN}2\r\n")
    assert read_token_file(str(file)) == [("team-a", TOKEN), ("line-4", TOKEN + "2")]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o620, 0o601])
def test_a_file_that_others_can_reach_is_refused(tmp_path: Path, mode: int) -> None:
    file = tmp_path / "tokens"
    file.write_text(TOKEN)
    os.chmod(file, mode)
    with pytest.raises(BadRequest, match=f"{mode:03o}.*chmod 600"):
        read_token_file(str(file))


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(BadRequest, match="No such file"):
        read_token_file(str(tmp_path / "none"))
    with pytest.raises(BadRequest, match="cannot be read"):
        read_token_file(str(tmp_path))


@pytest.mark.parametrize(
    ("text", "message"),
    [("a b c", "line 1"), ("ok 0123456789abcdef\na b c", "line 2"), ("name \xe9", "not ASCII")],
)
def test_lines_that_are_no_tokens(text: str, message: str) -> None:
    with pytest.raises(BadRequest, match=message):
        parse_tokens(text.encode("latin-1"), "the file")


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        ([], "no token is given"),
        ([("a", "short")], "16 to 512"),
        ([("a", "x" * 513)], "16 to 512"),
        ([("a", TOKEN + " ")], "16 to 512"),
        ([("a", TOKEN + "é")], "16 to 512"),
        ([("a b", TOKEN)], "the name of a token"),
        ([("a", TOKEN), ("a", TOKEN + "x")], "twice"),
        ([("a", TOKEN), ("b", TOKEN)], "twice"),
    ],
)
def test_unusable_tokens(tokens: list[tuple[str, str]], message: str) -> None:
    with pytest.raises(BadRequest, match=message) as raised:
        Accounts(tokens)
    assert TOKEN not in str(raised.value)


def test_holders() -> None:
    accounts = Accounts([("a", TOKEN), ("b", TOKEN + "b")])
    found = accounts.holder(TOKEN + "b")
    assert found is not None
    assert found.name == "b"
    for wrong in ("", TOKEN[:-1], TOKEN + "c", "\ud800"):
        assert accounts.holder(wrong) is None
    assert [account.name for account in accounts] == ["a", "b"]
