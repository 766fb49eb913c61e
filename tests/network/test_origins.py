"""How a URL is read, and what a pattern of origins stands for."""

from __future__ import annotations

from ipaddress import ip_address

import pytest

from codemode_executor import BadRequest
from codemode_executor.network import OutboundRefused
from codemode_executor.network.origins import OriginPattern, parse_target

#: All of them are 127.0.0.1 to some part of some system.
LOOPBACK = [
    "http://127.0.0.1/",
    "http://127.1/",
    "http://127.0.1/",
    "http://2130706433/",
    "http://0x7f000001/",
    "http://0x7f.1/",
    "http://0177.0.0.1/",
    "http://017700000001/",
    "http://0x7f.0x0.0x0.0x1/",
    "http://127.0.0.1./",
    "http://\uff11\uff12\uff17.\uff10.\uff10.\uff11/",
    "http://127。0。0。1/",
    "http://①②⑦.0.0.1/",
    "http://%31%32%37.0.0.1/",
    "http://127.0.0.1:80/",
    "http:\\\\127.0.0.1\\",
    "http:/127.0.0.1",
    "ht\ntp://127.\t0.0.1/",
]


@pytest.mark.parametrize("url", LOOPBACK)
def test_every_way_to_write_an_address_is_that_address(url: str) -> None:
    target = parse_target(url)
    assert target.address == ip_address("127.0.0.1")
    assert (target.host, target.port, target.authority) == ("127.0.0.1", 80, "127.0.0.1")


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("http://[::1]/", "::1"),
        ("http://[0:0:0:0:0:0:0:1]/", "::1"),
        ("http://[::ffff:127.0.0.1]/", "::ffff:7f00:1"),
        ("http://[::ffff:7f00:1]/", "::ffff:7f00:1"),
        ("http://[64:ff9b::127.0.0.1]/", "64:ff9b::7f00:1"),
    ],
)
def test_an_ipv6_host_is_an_address_too(url: str, address: str) -> None:
    assert parse_target(url).address == ip_address(address)


@pytest.mark.parametrize(
    ("url", "rule"),
    [
        ("file:///etc/passwd", "scheme"),
        ("data:text/plain,hello", "scheme"),
        ("ftp://example.com/", "scheme"),
        ("ws://example.com/", "scheme"),
        ("gopher://127.0.0.1:25/x", "scheme"),
        ("javascript:1", "scheme"),
        ("blob:http://example.com/1", "scheme"),
        ("unix:///run/docker.sock", "scheme"),
        ("http://user@example.com/", "userinfo"),
        ("http://user:secret@example.com/", "userinfo"),
        ("http://example.com@127.0.0.1/", "userinfo"),
        ("http://:secret@example.com/", "userinfo"),
        ("", "url"),
        ("/relative", "url"),
        ("http://", "url"),
        ("http://1.2.3.4.5/", "url"),
        ("http://256.1.1.1/", "url"),
        ("http://0x1.0x1.0x1.0x100/", "url"),
        ("http://[::1%25lo]/", "url"),
        ("http://[fe80::1%lo]/", "url"),
        ("http://exa mple.com/", "url"),
        ("http://a..b/", "url"),
        ("http://.a/", "url"),
        ("http://a./", "url"),
        ("http://example.com./", "url"),
        ("http://a,b/", "url"),
        ("http://*.example.com/", "url"),
        ("http://-a.com/", "url"),
        (f"http://{'a' * 64}.com/", "url"),
        (f"http://{'a.' * 130}com/", "url"),
        ("http://example.com:0/", "url"),
        ("http://example.com:65536/", "url"),
        ("http://ex\udc00ample.com/", "url"),
        (f"http://example.com/{'a' * 40_000}", "url"),
    ],
)
def test_what_is_never_requested(url: str, rule: str) -> None:
    with pytest.raises(OutboundRefused) as caught:
        parse_target(url)
    assert caught.value.rule == rule
    assert len(str(caught.value)) < 600


def test_a_url_is_read_once_into_all_that_is_sent() -> None:
    target = parse_target("HTTPS://API.Example.com:8443/a b/../c?q=ü#part")
    assert target.origin == "https://api.example.com:8443"
    assert (target.scheme, target.host, target.port) == ("https", "api.example.com", 8443)
    assert target.authority == "api.example.com:8443"
    assert target.path == "/c?q=%C3%BC"
    assert target.address is None


@pytest.mark.parametrize(
    ("pattern", "matching", "other"),
    [
        (
            "https://api.example.com",
            ["https://api.example.com/", "https://API.example.com:443/x", "https://ap%69.example.com/"],
            [
                "http://api.example.com/",
                "https://api.example.com:8443/",
                "https://example.com/",
                "https://x.api.example.com/",
                "https://api.example.com.evil.net/",
                "https://evilapi.example.com/",
            ],
        ),
        (
            "https://*.example.com",
            ["https://a.example.com/", "https://b.example.com/"],
            [
                "https://example.com/",
                "https://a.b.example.com/",
                "https://aexample.com/",
                "https://a.example.com.evil.net/",
                "https://evil.net/?.example.com",
                "https://evil.net/.example.com",
                "https://evil.net#.example.com",
                "http://a.example.com/",
            ],
        ),
        (
            "https://**.example.com",
            ["https://a.example.com/", "https://a.b.c.example.com/"],
            ["https://example.com/", "https://example.com.evil.net/", "https://notexample.com/"],
        ),
        (
            "http://*.eu.*.example.com:8080",
            ["http://a.eu.b.example.com:8080/"],
            ["http://a.eu.example.com:8080/", "http://a.us.b.example.com:8080/", "http://a.eu.b.example.com/"],
        ),
        (
            "https://**",
            ["https://a/", "https://example.com/"],
            ["https://1.1.1.1/", "https://[2606:4700::1]/", "https://0x01010101/", "http://example.com/"],
        ),
        (
            "http://127.0.0.1:9",
            ["http://127.1:9/", "http://0x7f000001:9/"],
            ["http://127.0.0.2:9/", "http://localhost:9/"],
        ),
        ("http://[::1]", ["http://[0::1]/"], ["http://[::2]/", "http://127.0.0.1/"]),
        ("https://xn--mnchen-3ya.de", ["https://münchen.de/"], ["https://munchen.de/"]),
    ],
)
def test_what_a_pattern_stands_for(pattern: str, matching: list[str], other: list[str]) -> None:
    parsed = OriginPattern.parse(pattern)
    for url in matching:
        assert parsed.matches(parse_target(url)), url
    for url in other:
        assert not parsed.matches(parse_target(url)), url


@pytest.mark.parametrize(
    "text",
    [
        "example.com",
        "https://",
        "ftp://example.com",
        "*://example.com",
        "https://example.com/path",
        "https://example.com?x",
        "https://example.com#x",
        "https://user@example.com",
        "https://a*.example.com",
        "https://a.**.example.com",
        "https://***.example.com",
        "https://*..com",
        "https://*.-a.com",
        "https://example.com:*",
        "https://example.com.",
        "https://münchen.de",
        "https://0x7f.1",
        "https://exa\tmple.com",
        "",
        7,
        None,
    ],
)
def test_what_is_no_pattern(text: object) -> None:
    with pytest.raises(BadRequest, match=r"AllowList\.origins"):
        OriginPattern.parse(text)
