"""The worker's cryptography: right by others' measure, and nothing taken on trust."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from codemode_executor.worker import crypto
from codemode_executor.worker.crypto import HANDLERS, digests, keys
from codemode_executor.worker.crypto.sessions import MAX_OPEN
from codemode_executor.worker.host_calls import GuestError


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    yield
    crypto.reset()


def call(name: str, params: dict[str, Any] | None = None, *buffers: bytes) -> tuple[Any, bytes]:
    return HANDLERS[f"crypto.{name}"](params or {}, list(buffers))


def refusal(name: str, params: dict[str, Any] | None = None, *buffers: bytes) -> tuple[str, str]:
    with pytest.raises(GuestError) as raised:
        call(name, params, *buffers)
    return raised.value.name, raised.value.message


def generated(**kind: object) -> tuple[bytes, bytes]:
    at, both = call("key.generate", kind)
    return both[:at], both[at:]


# --- digests ---------------------------------------------------------------------------------------------------------

PYTHON_NAMES = {"sha512-256": "sha512_256", "md5-sha1": None}


@pytest.mark.parametrize("name", digests.NAMES)
@given(pieces=st.lists(st.binary(max_size=300), max_size=5))
def test_digests_are_those_of_hashlib(name: str, pieces: list[bytes]) -> None:
    message = b"".join(pieces)
    if name == "md5-sha1":
        expected = hashlib.md5(message).digest() + hashlib.sha1(message).digest()
    else:
        expected = hashlib.new(PYTHON_NAMES.get(name) or name, message).digest()
    assert call("digest", {"hash": name}, *pieces)[1] == expected
    handle, _ = call("digest.start", {"hash": name})
    for piece in pieces:
        call("digest.update", {"handle": handle}, piece)
    assert call("digest.finish", {"handle": handle})[1] == expected


@given(key=st.binary(max_size=200), message=st.binary(max_size=200))
def test_codes_are_those_of_hmac(key: bytes, message: bytes) -> None:
    for name in ("md5", "sha1", "sha256", "sha384", "sha512"):
        assert call("hmac", {"hash": name}, key, message)[1] == hmac.digest(key, message, name)
        handle, _ = call("digest.start", {"hash": name}, key)
        call("digest.update", {"handle": handle}, message)
        assert call("digest.finish", {"handle": handle})[1] == hmac.digest(key, message, name)


def test_a_copy_goes_its_own_way() -> None:
    first, _ = call("digest.start", {"hash": "sha256"})
    call("digest.update", {"handle": first}, b"a")
    second, _ = call("digest.copy", {"handle": first})
    call("digest.update", {"handle": first}, b"b")
    call("digest.update", {"handle": second}, b"c")
    assert call("digest.finish", {"handle": first})[1] == hashlib.sha256(b"ab").digest()
    assert call("digest.finish", {"handle": second})[1] == hashlib.sha256(b"ac").digest()


def test_what_is_finished_or_of_another_run_is_gone() -> None:
    done, _ = call("digest.start", {"hash": "sha256"})
    call("digest.finish", {"handle": done})
    left, _ = call("digest.start", {"hash": "sha256"})
    cipher, _ = call("cipher.start", {"cipher": "aes-128-ctr"}, bytes(16), bytes(16))
    crypto.reset()
    for name, handle in (("digest.update", done), ("digest.update", left), ("cipher.update", cipher)):
        assert refusal(name, {"handle": handle}, b"x")[0] == "Error"


def test_the_oldest_of_too_many_gives_way() -> None:
    handles = [call("digest.start", {"hash": "md5"})[0] for _ in range(MAX_OPEN)]
    call("digest.update", {"handle": handles[0]}, b"used, so no longer the oldest")
    call("digest.start", {"hash": "md5"})
    call("digest.finish", {"handle": handles[0]})
    assert "oldest" in refusal("digest.finish", {"handle": handles[1]})[1]


# --- ciphers ---------------------------------------------------------------------------------------------------------

# NIST SP 800-38A, F.2.1 and F.5.1 (first two blocks); the GCM specification's test case 4; RFC 3394, 4.1.
KEY = bytes.fromhex("2b7e151628aed2a6abf7158809cf4f3c")
PLAIN = bytes.fromhex("6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51")


def test_cbc_and_ctr_by_their_vectors() -> None:
    iv = bytes.fromhex("000102030405060708090a0b0c0d0e0f")
    expected = bytes.fromhex("7649abac8119b246cee98e9b12e9197d5086cb9b507219ee95db113a917678b2")
    _, sealed = call("encrypt", {"mode": "cbc"}, KEY, iv, PLAIN)
    assert sealed[:32] == expected
    assert call("decrypt", {"mode": "cbc"}, KEY, iv, sealed) == (None, PLAIN)
    counter = bytes.fromhex("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff")
    expected = bytes.fromhex("874d6191b620e3261bef6864990db6ce9806f66b7970fdff8617187bb9fffdff")
    assert call("encrypt", {"mode": "ctr", "counter": 128}, KEY, counter, PLAIN)[1] == expected


def test_gcm_by_its_vector() -> None:
    key = bytes.fromhex("feffe9928665731c6d6a8f9467308308")
    iv = bytes.fromhex("cafebabefacedbaddecaf888")
    more = bytes.fromhex("feedfacedeadbeeffeedfacedeadbeefabaddad2")
    plain = bytes.fromhex(
        "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16a"
        "edf5aa0de657ba637b39"
    )
    sealed = bytes.fromhex(
        "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e21d514b25466931c7d8f6a5aac84aa051ba3"
        "0b396a0aac973d58e091"
        "5bc94fbc3221a5db94fae95ae7121a47"
    )
    assert call("encrypt", {"mode": "gcm", "tag": 128}, key, iv, plain, more)[1] == sealed
    assert call("decrypt", {"mode": "gcm", "tag": 128}, key, iv, sealed, more) == (None, plain)
    broken = sealed[:-1] + bytes([sealed[-1] ^ 1])
    assert call("decrypt", {"mode": "gcm", "tag": 128}, key, iv, broken, more) == (60, b"")


def test_key_wrapping_by_its_vector() -> None:
    key = bytes(range(16))
    data = bytes.fromhex("00112233445566778899aabbccddeeff")
    wrapped = bytes.fromhex("1fa68b0a8112b447aef34bd8fb5a7b829d3e862371d2cfe5")
    assert call("wrap", {}, key, data)[1] == wrapped
    assert call("unwrap", {}, key, wrapped)[1] == data
    assert refusal("unwrap", {}, key, wrapped[:-1] + b"x")[0] == "OperationError"


@given(
    mode=st.sampled_from(["cbc", "ctr", "ecb", "ofb", "gcm"]),
    plain=st.binary(max_size=200),
    cuts=st.lists(st.integers(0, 200), max_size=4),
    padded=st.booleans(),
)
def test_pieces_are_as_the_whole(mode: str, plain: bytes, cuts: list[int], padded: bool) -> None:
    if not padded and mode in ("cbc", "ecb"):
        plain = plain[: len(plain) // 16 * 16]

    def run(data: bytes, *, decrypt: bool, tag: bytes | None) -> tuple[Any, bytes]:
        handle, _ = call("cipher.start", {"cipher": f"aes-256-{mode}", "decrypt": decrypt}, bytes(32), bytes(16))
        call("cipher.padding", {"handle": handle, "on": padded})
        if tag is not None:
            call("cipher.tag", {"handle": handle}, tag)
        edges = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
        out = b"".join(
            call("cipher.update", {"handle": handle}, data[a:b])[1] for a, b in zip(edges, edges[1:], strict=False)
        )
        value, rest = call("cipher.finish", {"handle": handle})
        return value, out + rest

    tag, sealed = run(plain, decrypt=False, tag=None)
    assert run(sealed, decrypt=True, tag=bytes.fromhex(tag) if tag else None)[1] == plain


@given(bits=st.integers(1, 128), start=st.binary(min_size=16, max_size=16), blocks=st.integers(0, 40))
def test_a_counter_wraps_within_its_bits(bits: int, start: bytes, blocks: int) -> None:
    if blocks > 1 << bits:
        assert (
            refusal("encrypt", {"mode": "ctr", "counter": bits}, KEY, start, bytes(16 * blocks))[0] == "OperationError"
        )
        return
    mask = (1 << bits) - 1
    first = int.from_bytes(start, "big")
    expected = b""
    for i in range(blocks):
        counter = (first & ~mask) | ((first + i) & mask)
        expected += call("encrypt", {"mode": "ctr", "counter": 128}, KEY, counter.to_bytes(16, "big"), bytes(16))[1]
    assert call("encrypt", {"mode": "ctr", "counter": bits}, KEY, start, bytes(16 * blocks))[1] == expected


# --- derivation ------------------------------------------------------------------------------------------------------


def test_derivation_by_vectors() -> None:
    # RFC 6070 (third), RFC 5869 (first), RFC 7914 (second, within the bounds).
    assert call("pbkdf2", {"hash": "sha1", "iterations": 4096, "length": 20}, b"password", b"salt")[1].hex() == (
        "4b007901b765489abead49d926f721d065a429c1"
    )
    info = bytes.fromhex("f0f1f2f3f4f5f6f7f8f9")
    assert call("hkdf", {"hash": "sha256", "length": 42}, b"\x0b" * 22, bytes(range(13)), info)[1].hex() == (
        "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865"
    )
    params = {"n": 1024, "r": 8, "p": 16, "length": 64, "memory": 32 << 20}
    assert call("scrypt", params, b"password", b"NaCl")[1].hex() == (
        "fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b3731622eaf30d92e22a3886ff109279d9830dac727"
        "afb94a83ee6d8360cbdfa2cc0640"
    )


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("pbkdf2", {"hash": "sha512", "iterations": 2**31 - 1, "length": 64}),
        ("pbkdf2", {"hash": "sha1", "iterations": 1000, "length": 1024 * 1024}),
        ("pbkdf2", {"hash": "sha1", "iterations": 1, "length": 2**40}),
        ("hkdf", {"hash": "sha256", "length": 255 * 32 + 1}),
        ("scrypt", {"n": 2**20, "r": 8, "p": 1, "length": 1, "memory": 2**40}),
        ("scrypt", {"n": 1024, "r": 1, "p": 2**20, "length": 1, "memory": 2**40}),
        ("scrypt", {"n": 3, "r": 1, "p": 1, "length": 1, "memory": 2**40}),
        ("scrypt", {"n": 2**16, "r": 1, "p": 1, "length": 1, "memory": 2**40}),
        ("scrypt", {"n": 1024, "r": 8, "p": 1, "length": 1, "memory": 1000}),
        ("key.generate", {"kind": "rsa", "bits": 4097, "exponent": 65537}),
        ("key.generate", {"kind": "rsa", "bits": 2**31, "exponent": 65537}),
        ("key.generate", {"kind": "rsa", "bits": 2048, "exponent": 2**64 + 1}),
    ],
)
def test_what_would_take_too_long_is_refused(name: str, params: dict[str, Any]) -> None:
    refusal(name, params, *([b"p", b"s", b"i"] if name == "hkdf" else [b"p", b"s"]))


# --- pairs -----------------------------------------------------------------------------------------------------------

KINDS: list[tuple[dict[str, Any], dict[str, Any] | None]] = [
    ({"kind": "rsa", "bits": 1024, "exponent": 65537}, {"scheme": "pkcs1", "hash": "sha256"}),
    ({"kind": "rsa", "bits": 1024, "exponent": 3}, {"scheme": "pss", "hash": "sha256", "salt": 32}),
    *(({"kind": "ec", "curve": c}, {"scheme": "ecdsa", "hash": "sha256"}) for c in ("P-256", "P-384", "P-521")),
    ({"kind": "ec", "curve": "P-256"}, {"scheme": "ecdsa", "hash": "sha256", "der": True}),
    ({"kind": "ed25519"}, {"scheme": "ed25519"}),
    ({"kind": "x25519"}, None),
]


@pytest.mark.parametrize(("kind", "scheme"), KINDS)
def test_a_pair_goes_out_and_comes_in(kind: dict[str, Any], scheme: dict[str, Any] | None) -> None:
    private, public = generated(**kind)
    described, der = call("key.pkcs8", {}, private)
    assert der == private
    assert described["private"] is True
    assert call("key.spki", {}, public)[1] == public
    for der, secret in ((private, True), (public, False)):
        jwk, _ = call("key.to_jwk", {"private": secret}, der)
        assert call("key.jwk", {**kind, "jwk": jwk})[1] == der
    if kind["kind"] != "rsa":
        assert call("key.raw", kind, call("key.to_raw", {}, public)[1])[1] == public
    if scheme is None:
        return
    _, signature = call("sign", scheme, private, b"message")
    assert call("verify", scheme, public, signature, b"message") == (True, b"")
    assert call("verify", scheme, public, signature, b"another") == (False, b"")
    assert call("verify", scheme, public, b"", b"message") == (False, b"")
    broken = signature[:-1] + bytes([signature[-1] ^ 1])
    assert call("verify", scheme, public, broken, b"message") == (False, b"")


def test_ed25519_by_its_vector() -> None:
    # RFC 8032, 7.1, test 2.
    jwk = {
        "d": "TM0Imyj_ltqdtsNG7BFOD1uKMZ81q6Yk2oz27U-4pvs",
        "x": "PUAXw-hDiVqStwqnTRt-vJyYLM8uxJaMwM1V8Sr0Zgw",
    }
    _, private = call("key.jwk", {"kind": "ed25519", "jwk": jwk})
    assert call("sign", {"scheme": "ed25519"}, private, b"\x72")[1].hex() == (
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b"
        "2eaeb4302aeeb00d291612bb0c00"
    )


@pytest.mark.parametrize("kind", [{"kind": "ec", "curve": "P-521"}, {"kind": "x25519"}])
def test_both_sides_agree(kind: dict[str, Any]) -> None:
    (mine, mine_open), (theirs, theirs_open) = generated(**kind), generated(**kind)
    assert call("agree", {}, mine, theirs_open)[1] == call("agree", {}, theirs, mine_open)[1]


@pytest.mark.parametrize("name", digests.NAMES)
def test_every_hash_with_every_scheme_is_answered_or_refused(name: str) -> None:
    """What the library does not combine must be an error of the program's, not the end of its worker."""
    for kind in (
        {"kind": "rsa", "bits": 1024, "exponent": 65537},
        {"kind": "ec", "curve": "P-521"},
        {"kind": "ed25519"},
    ):
        private, public = generated(**kind)
        for scheme in ("pkcs1", "pss", "ecdsa", "ed25519"):
            for salt in (0, 60, 100, 2**31 - 1):
                params = {"scheme": scheme, "hash": name, "salt": salt}
                for operation, buffers in (("sign", [private, b""]), ("verify", [public, b"\xff" * 128, b""])):
                    try:
                        call(operation, params, *buffers)
                    except GuestError as refused:
                        assert refused.message
        for padding in ("oaep", "pkcs1"):
            for length in (0, 1, 128, 300):
                for operation, der in (("rsa.encrypt", public), ("rsa.decrypt", private)):
                    try:
                        call(operation, {"padding": padding, "hash": name}, der, bytes(length), b"label")
                    except GuestError as refused:
                        assert refused.message


def test_keys_that_do_not_fit_are_refused() -> None:
    rsa, rsa_open = generated(kind="rsa", bits=1024, exponent=65537)
    curve, curve_open = generated(kind="ec", curve="P-256")
    _, other_open = generated(kind="ec", curve="P-384")
    assert refusal("agree", {}, rsa, curve_open)[0] == "InvalidAccessError"
    assert refusal("agree", {}, curve, other_open)[0] == "InvalidAccessError"
    assert refusal("sign", {"scheme": "ed25519"}, rsa, b"")[0] == "InvalidAccessError"
    assert refusal("verify", {"scheme": "ecdsa", "hash": "sha256"}, rsa_open, b"", b"")[0] == "InvalidAccessError"
    assert refusal("sign", {"scheme": "pkcs1", "hash": "sha256"}, rsa_open, b"")[0] == "DataError"
    jwk, _ = call("key.to_jwk", {"private": True}, curve)
    other, _ = call("key.to_jwk", {"private": True}, generated(kind="ec", curve="P-256")[0])
    mixed = {**jwk, "d": other["d"]}
    assert refusal("key.jwk", {"kind": "ec", "curve": "P-256", "jwk": mixed})[0] == "DataError"


@pytest.mark.parametrize("type_", ["pkcs1", "pkcs8", "sec1"])
def test_keys_in_the_forms_of_node(type_: str) -> None:
    kind = {"kind": "ec", "curve": "P-256"} if type_ == "sec1" else {"kind": "rsa", "bits": 1024, "exponent": 65537}
    private, public = generated(**kind)
    _, written = call("key.write", {"type": type_, "private": True}, private)
    assert call("key.read", {"format": "der", "private": True}, written)[1] == private
    assert call("key.read", {"format": "der", "private": False}, public)[1] == public
    _, locked = call("key.write", {"type": "pkcs8", "private": True}, private, b"pass")
    assert call("key.read", {"format": "der", "private": True}, locked, b"pass")[1] == private
    for secret in ((), (b"wrong",)):
        assert refusal("key.read", {"format": "der", "private": True}, locked, *secret)[0] == "Error"


# --- whatever a program sends ----------------------------------------------------------------------------------------

VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=12),
    st.sampled_from(["sha256", "gcm", "cbc", "ctr", "rsa", "ec", "P-256", "ed25519", "pkcs1", "pem", "aes-128-gcm"]),
    st.lists(st.integers(), max_size=3),
    st.dictionaries(st.sampled_from(["n", "e", "d", "x", "y", "p"]), st.text(max_size=8) | st.integers(), max_size=4),
)
NAMES = [
    "hash",
    "mode",
    "kind",
    "curve",
    "bits",
    "exponent",
    "length",
    "iterations",
    "n",
    "r",
    "p",
    "memory",
    "handle",
    "tag",
]
NAMES += ["counter", "cipher", "decrypt", "scheme", "salt", "jwk", "private", "format", "type", "padding", "on", "der"]


@given(
    name=st.sampled_from(sorted(HANDLERS)),
    params=st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=8),
    buffers=st.lists(
        st.binary(max_size=40) | st.sampled_from([bytes(16), bytes(32), b"\x30\x03\x02\x01\x00"]), max_size=5
    ),
)
@settings(max_examples=1500, suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_anything_is_answered_or_refused(name: str, params: dict[str, Any], buffers: list[bytes]) -> None:
    try:
        value, payload = HANDLERS[name](params, buffers)
    except GuestError as refused:
        assert refused.message
        return
    assert isinstance(payload, bytes)
    json.dumps(value)


@given(
    data=st.binary(max_size=120), flip=st.integers(0, 400), name=st.sampled_from(["key.pkcs8", "key.spki", "key.read"])
)
@settings(max_examples=400, deadline=None)
def test_broken_keys_are_refused(data: bytes, flip: int, name: str) -> None:
    for der in _SAMPLES():
        at = flip % len(der)
        for broken in (data, der[:at], der[:at] + bytes([der[at] ^ 0xFF]) + der[at + 1 :], der + data):
            try:
                call(name, {"format": "der", "private": True}, broken)
            except GuestError as refused:
                assert refused.name in ("DataError", "Error")


def _samples() -> Callable[[], list[bytes]]:
    made: list[bytes] = []

    def samples() -> list[bytes]:
        if not made:
            for kind in ({"kind": "ec", "curve": "P-256"}, {"kind": "ed25519"}):
                made.extend(generated(**kind))
        return made

    return samples


_SAMPLES = _samples()


# --- the process -----------------------------------------------------------------------------------------------------


def test_warming_up_starts_no_thread_and_forks_draw_apart() -> None:
    program = """
import os, sys
from codemode_executor.worker import crypto
crypto.preload()
threads = [line for line in open('/proc/self/status') if line.startswith('Threads:')]
sys.stdout.write(threads[0].split()[1] + '\\n'); sys.stdout.flush()
for _ in range(3):
    if os.fork() == 0:
        at, both = crypto.HANDLERS['crypto.key.generate']({'kind': 'ed25519'}, [])
        os.write(1, both[:at].hex().encode() + b'\\n')
        os._exit(0)
for _ in range(3):
    os.wait()
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": ""},
    )
    threads, *made = done.stdout.split()
    assert threads == "1"
    assert len(set(made)) == 3


def test_the_keys_that_are_kept_are_forgotten() -> None:
    private, public = generated(kind="ed25519")
    call("sign", {"scheme": "ed25519"}, private, b"")
    call("verify", {"scheme": "ed25519"}, public, bytes(64), b"")
    assert keys.private.cache_info().currsize == keys.public.cache_info().currsize == 1
    crypto.reset()
    assert keys.private.cache_info().currsize == keys.public.cache_info().currsize == 0
