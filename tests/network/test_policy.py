"""An allow-list is checked where it is written."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from codemode_executor import BadRequest
from codemode_executor.network import AllowList


def test_a_list_of_origins_is_all_it_takes() -> None:
    policy = AllowList(origins=["https://api.example.com", "https://*.example.com:8443"])
    assert policy == AllowList(origins=["https://api.example.com", "https://*.example.com:8443"])
    assert policy.max_request_bytes == policy.max_response_bytes == 32 * 1024 * 1024
    assert "origins=" in repr(policy)
    assert "patterns" not in repr(policy)


@pytest.mark.parametrize(
    "rules",
    [
        {"origins": []},
        {"origins": "https://a"},
        {"origins": None},
        {"origins": ["https://a/path"]},
        {"methods": []},
        {"methods": "GET"},
        {"methods": ["get"]},
        {"methods": ["CONNECT"]},
        {"allow_headers": ["host"]},
        {"allow_private": ["nowhere"]},
        {"max_request_bytes": -1},
        {"max_request_bytes": 1.5},
        {"max_response_bytes": 0},
        {"max_response_bytes": 2**40},
        {"max_requests": 0},
        {"max_requests": True},
        {"max_in_flight": 0},
        {"max_total_bytes": 0},
        {"max_redirects": -1},
        {"timeout_s": 0},
        {"timeout_s": float("nan")},
        {"timeout_s": float("inf")},
        {"timeout_s": "1"},
        {"timeout_s": True},
        {"user_agent": "a\r\nb"},
        {"user_agent": "ü"},
        {"user_agent": None},
        {"resolver": "8.8.8.8"},
        {"ssl_context": True},
    ],
)
def test_a_rule_that_cannot_be_used(rules: dict[str, Any]) -> None:
    (name,) = rules
    with pytest.raises(BadRequest, match=rf"AllowList\.{name}"):
        AllowList(**{"origins": ["https://a"], **rules})


def test_without_the_extra_the_rest_works_and_a_list_says_what_to_install() -> None:
    program = (
        "import sys\n"
        "sys.modules['h11'] = None\n"
        "from codemode_executor import BadRequest\n"
        "from codemode_executor.network import AllowList, OutboundResponse, follow, serve\n"
        "OutboundResponse(body=b'x')\n"
        "try:\n"
        "    AllowList(origins=['https://a'])\n"
        "except BadRequest as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert "codemode-executor[http]" in done.stdout
