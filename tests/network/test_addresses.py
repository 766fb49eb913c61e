"""Which addresses are refused, and that those that carry another address are judged by it."""

from __future__ import annotations

import socket
import sys
from ipaddress import ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codemode_executor import BadRequest
from codemode_executor.network.addresses import embedded, is_own, parse_networks, refusal

PUBLIC = [
    "1.1.1.1",
    "8.8.8.8",
    "93.184.216.34",
    "172.15.255.255",
    "172.32.0.0",
    "100.63.255.255",
    "100.128.0.0",
    "192.169.0.1",
    "2606:4700:4700::1111",
    "2a00:1450:4001:81b::200e",
    "2400:cb00::1",
    "::ffff:1.1.1.1",
    "64:ff9b::101:101",
]

REFUSED = [
    ("127.0.0.1", "loopback"),
    ("127.255.255.254", "loopback"),
    ("0.0.0.0", "of this network"),
    ("10.0.0.1", "private"),
    ("172.16.0.1", "private"),
    ("172.31.255.255", "private"),
    ("192.168.1.1", "private"),
    ("100.64.0.1", "shared by a carrier"),
    ("169.254.1.1", "link-local"),
    ("224.0.0.1", "multicast"),
    ("239.255.255.250", "multicast"),
    ("240.0.0.1", "reserved"),
    ("255.255.255.255", "reserved"),
    ("192.0.0.1", "reserved"),
    ("192.0.2.1", "for documentation"),
    ("198.51.100.1", "for documentation"),
    ("203.0.113.1", "for documentation"),
    ("198.18.0.1", "for benchmarks"),
    ("192.88.99.1", "of a tunnel"),
    ("::1", "loopback"),
    ("::", "unspecified"),
    ("::7f00:1", "reserved"),
    ("fc00::1", "private"),
    ("fd12:3456::1", "private"),
    ("fe80::1", "link-local"),
    ("fec0::1", "private"),
    ("ff02::1", "multicast"),
    ("2001:db8::1", "for documentation"),
    ("3fff::1", "for documentation"),
    ("2001::1", "of a tunnel"),
    ("2001:10::1", "reserved"),
    ("2002:7f00:1::1", "of a tunnel"),
    ("2002:101:101::1", "of a tunnel"),
    ("5f00::1", "reserved"),
    ("100::1", "reserved"),
    ("4000::1", "reserved"),
    ("64:ff9b:1::101:101", "reserved"),
    ("::ffff:127.0.0.1", "loopback"),
    ("::ffff:10.0.0.1", "private"),
    ("64:ff9b::7f00:1", "loopback"),
    ("64:ff9b::a00:1", "private"),
    ("2606:4700::5efe:7f00:1", "loopback"),
    ("2606:4700::200:5efe:a00:1", "private"),
]

METADATA = [
    "169.254.169.254",
    "169.254.170.2",
    "168.63.129.16",
    "100.100.100.200",
    "192.0.0.192",
    "fd00:ec2::254",
    "fd20:ce::254",
    "::ffff:169.254.169.254",
    "64:ff9b::a9fe:a9fe",
]


@pytest.mark.parametrize("text", PUBLIC)
def test_a_public_address_is_not_refused(text: str) -> None:
    assert refusal(ip_address(text)) is None


@pytest.mark.parametrize(("text", "kind"), REFUSED)
def test_any_other_is_refused_by_its_kind(text: str, kind: str) -> None:
    assert refusal(ip_address(text)) == kind


@pytest.mark.parametrize("text", METADATA)
def test_a_metadata_address_is_refused_whatever_network_is_listed(text: str) -> None:
    wide = [ip_network("0.0.0.0/0"), ip_network("::/0")]
    assert refusal(ip_address(text)) == "a metadata service"
    assert refusal(ip_address(text), wide) == "a metadata service"


def test_a_metadata_address_is_opened_by_its_own_name() -> None:
    assert refusal(ip_address("169.254.169.254"), [ip_network("169.254.169.254")]) is None
    assert refusal(ip_address("::ffff:169.254.169.254"), [ip_network("169.254.169.254")]) is None


@pytest.mark.parametrize(("text", "kind"), REFUSED)
def test_listing_opens_an_address_and_not_its_neighbour(text: str, kind: str) -> None:
    address = ip_address(text)
    assert refusal(address, [ip_network(text)]) is None
    neighbour = ip_network(ip_address(int(address) ^ 1))
    assert refusal(address, [neighbour]) == kind


def test_a_listed_network_covers_the_addresses_that_carry_one_of_it() -> None:
    listed = [ip_network("10.1.0.0/16")]
    for text in ("10.1.2.3", "::ffff:10.1.2.3", "64:ff9b::a01:203"):
        assert refusal(ip_address(text), listed) is None, text
    assert refusal(ip_address("10.2.0.1"), listed) == "private"


@given(value=st.integers(min_value=0, max_value=2**32 - 1))
def test_no_version_of_the_standard_library_is_stricter(value: int) -> None:
    for address in (ip_address(value), ip_address(f"::ffff:{ip_address(value)}")):
        plain = embedded(address) or address
        if refusal(address) is None:
            assert plain.is_global
            assert not any((plain.is_private, plain.is_multicast, plain.is_reserved, plain.is_loopback))


@given(value=st.integers(min_value=0, max_value=2**128 - 1))
def test_no_address_outside_global_unicast_is_let_through(value: int) -> None:
    address = ip_address(value.to_bytes(16, "big"))
    if refusal(address) is None and embedded(address) is None:
        assert address in ip_network("2000::/3")
        assert address.is_global


def test_addresses_of_this_machine_are_known_without_sending_anything() -> None:
    assert is_own(ip_address("127.0.0.1"))
    assert is_own(ip_address("::ffff:127.0.0.1"))
    assert not is_own(ip_address("192.0.2.77"))


@pytest.mark.skipif(sys.platform != "linux", reason="another system writes its addresses elsewhere")
def test_every_address_of_an_interface_is_this_machines() -> None:
    own = {entry[4][0] for entry in socket.getaddrinfo(socket.gethostname(), None) if "%" not in str(entry[4][0])}
    for text in own:
        assert is_own(ip_address(str(text))), text


@pytest.mark.parametrize("entries", ["10.0.0.0/8", [10], ["10.0.0.1/8"], ["localhost"], [""], None, ["127.0.0.1:80"]])
def test_what_is_no_network_is_refused_as_an_entry(entries: object) -> None:
    with pytest.raises(BadRequest, match=r"AllowList\.allow_private"):
        parse_networks(entries)
