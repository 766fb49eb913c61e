"""Which addresses are nobody's business but the host's."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network

from ..errors import BadRequest

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

# Of all registries of special addresses; the standard library's own judgement changes from version to version.
_V4 = [
    (IPv4Network("0.0.0.0/8"), "of this network"),
    (IPv4Network("10.0.0.0/8"), "private"),
    (IPv4Network("100.64.0.0/10"), "shared by a carrier"),
    (IPv4Network("127.0.0.0/8"), "loopback"),
    (IPv4Network("169.254.0.0/16"), "link-local"),
    (IPv4Network("172.16.0.0/12"), "private"),
    (IPv4Network("192.0.0.0/24"), "reserved"),
    (IPv4Network("192.0.2.0/24"), "for documentation"),
    (IPv4Network("192.88.99.0/24"), "of a tunnel"),
    (IPv4Network("192.168.0.0/16"), "private"),
    (IPv4Network("198.18.0.0/15"), "for benchmarks"),
    (IPv4Network("198.51.100.0/24"), "for documentation"),
    (IPv4Network("203.0.113.0/24"), "for documentation"),
    (IPv4Network("224.0.0.0/4"), "multicast"),
    (IPv4Network("240.0.0.0/4"), "reserved"),
]
_V6 = [
    (IPv6Network("::/128"), "unspecified"),
    (IPv6Network("::1/128"), "loopback"),
    (IPv6Network("fc00::/7"), "private"),
    (IPv6Network("fe80::/10"), "link-local"),
    (IPv6Network("fec0::/10"), "private"),
    (IPv6Network("ff00::/8"), "multicast"),
    (IPv6Network("2001::/32"), "of a tunnel"),
    (IPv6Network("2001::/23"), "reserved"),
    (IPv6Network("2001:db8::/32"), "for documentation"),
    (IPv6Network("2002::/16"), "of a tunnel"),
    (IPv6Network("3fff::/20"), "for documentation"),
]
_V6_PUBLIC = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")

#: Where clouds answer a machine's questions about itself, credentials among them. Two of them look public.
_METADATA: frozenset[Address] = frozenset(
    [
        IPv4Address("169.254.169.254"),
        IPv4Address("169.254.170.2"),
        IPv4Address("169.254.170.23"),
        IPv4Address("168.63.129.16"),
        IPv4Address("100.100.100.200"),
        IPv4Address("192.0.0.192"),
        IPv6Address("fd00:ec2::254"),
        IPv6Address("fd00:ec2::23"),
        IPv6Address("fd20:ce::254"),
    ]
)


def refusal(address: Address, listed: Sequence[Network] = ()) -> str | None:
    """Why no connection may be made to ``address``: what it is, for example ``loopback``; ``None`` if one may.

    Args:
        listed: networks that the host opens all the same. A metadata address is opened only by an entry that is that
            address alone: it is easily forgotten that a large network contains one.
    """
    plain = embedded(address)
    if address in _METADATA or plain in _METADATA:
        exact = any(network.num_addresses == 1 and _contains(network, address, plain) for network in listed)
        return None if exact else "a metadata service"
    if is_listed(address, listed):
        return None
    if plain is not None:
        return _of_v4(plain)
    return _of_v4(address) if isinstance(address, IPv4Address) else _of_v6(address)


def is_listed(address: Address, listed: Sequence[Network]) -> bool:
    """One of the networks holds ``address``, or the IPv4 address that it stands for."""
    plain = embedded(address)
    return any(_contains(network, address, plain) for network in listed)


def embedded(address: Address) -> IPv4Address | None:
    """The IPv4 address at which a connection to ``address`` would arrive, if that can be told from it."""
    if isinstance(address, IPv4Address):
        return None
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    if (int(address) >> 32) & 0xFFFFFFFF in (0x00005EFE, 0x02005EFE):  # ISATAP
        return IPv4Address(int(address) & 0xFFFFFFFF) if address in _V6_PUBLIC else None
    return None


def is_own(address: Address) -> bool:
    """``address`` is one of this machine's: the kernel would answer from the very address that is asked.

    Sends nothing.
    """
    address = embedded(address) or address
    family = socket.AF_INET if isinstance(address, IPv4Address) else socket.AF_INET6
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((str(address), 9))
            own = str(probe.getsockname()[0])
    except OSError:
        return False  # there is no way to it at all, so a connection fails as well
    return own == str(address)


def parse_networks(entries: object) -> tuple[Network, ...]:
    """Networks of ``AllowList.allow_private``.

    Raises:
        BadRequest: one is not an address or a network.
    """
    if isinstance(entries, str) or not isinstance(entries, Sequence):
        raise BadRequest(f"AllowList.allow_private must be a list of addresses and networks, not {entries!r}")
    networks: list[Network] = []
    for entry in entries:  # pyright: ignore[reportUnknownVariableType]
        if not isinstance(entry, str):
            raise BadRequest(f"AllowList.allow_private holds {entry!r}; write addresses and networks as strings")
        try:
            networks.append(ip_network(entry))
        except ValueError as error:
            raise BadRequest(
                f"AllowList.allow_private holds {entry!r}, which is no address or network: {error}"
            ) from error
    return tuple(networks)


def _contains(network: Network, address: Address, plain: IPv4Address | None) -> bool:
    if isinstance(network, IPv4Network):
        inner = address if isinstance(address, IPv4Address) else plain
        return inner is not None and inner in network
    return isinstance(address, IPv6Address) and address in network


def _of_v4(address: IPv4Address) -> str | None:
    for network, kind in _V4:
        if address in network:
            return kind
    return None if address.is_global else "reserved"


def _of_v6(address: IPv6Address) -> str | None:
    for network, kind in _V6:
        if address in network:
            return kind
    return None if address in _V6_PUBLIC and address.is_global else "reserved"
