"""One small use of everything, before the jail closes: a library that is loaded or set up on first use can do that only
while files can still be opened."""

from __future__ import annotations

from . import asymmetric, ciphers, derivation, digests, hashing, jwk, keys

_DATA = b"x"


def preload() -> None:
    """Use each family of algorithms once. Starts no thread."""
    for name in digests.NAMES:
        hashing.digest({"hash": name}, [_DATA])
    hashing.code({"hash": "sha256"}, [_DATA, _DATA])
    _ciphers()
    derivation.pbkdf2({"hash": "sha256", "iterations": 1, "length": 16}, [_DATA, _DATA])
    derivation.hkdf({"hash": "sha256", "length": 16}, [_DATA, _DATA, _DATA])
    derivation.scrypt({"n": 2, "r": 1, "p": 1, "length": 16, "memory": 1 << 20}, [_DATA, _DATA])
    for curve in keys.CURVES:
        _pair({"kind": "ec", "curve": curve}, {"scheme": "ecdsa", "hash": "sha256"})
    _pair({"kind": "ed25519"}, {"scheme": "ed25519"})
    _pair({"kind": "x25519"}, None)
    _pair(
        {"kind": "rsa", "bits": keys.MIN_RSA_GENERATED_BITS, "exponent": 65537},
        {"scheme": "pss", "hash": "sha256", "salt": 0},
    )
    hashing.reset()
    ciphers.reset()
    keys.reset()


def _ciphers() -> None:
    block = bytes(16)
    for params, more in (
        ({"mode": "gcm", "tag": 128}, [_DATA]),
        ({"mode": "cbc"}, []),
        ({"mode": "ctr", "counter": 64}, []),
    ):
        _, sealed = ciphers.encrypt(params, [block, block, _DATA, *more])
        ciphers.decrypt(params, [block, block, sealed, *more])
    ciphers.unwrap({}, [block, ciphers.wrap({}, [block, block])[1]])
    for mode in ("cbc", "ctr", "ecb", "ofb", "gcm"):
        handle, _ = ciphers.start({"cipher": f"aes-128-{mode}"}, [block, block])
        ciphers.finish({"handle": handle}, [])


def _pair(kind: dict[str, object], scheme: dict[str, object] | None) -> None:
    length, both = keys.generate(kind, [])
    assert isinstance(length, int)
    secret, open_half = both[:length], both[length:]
    keys.read_pkcs8({}, [secret])
    keys.read_spki({}, [open_half])
    for der, private in ((secret, True), (open_half, False)):
        written, _ = jwk.write({"private": private}, [der])
        jwk.read({**kind, "jwk": written}, [])
    if scheme is None:
        asymmetric.agree({}, [secret, open_half])
        return
    _, signature = asymmetric.sign(scheme, [secret, _DATA])
    asymmetric.verify(scheme, [open_half, signature, _DATA])
    if kind["kind"] == "ec":
        keys.read_raw(kind, [keys.write_raw({}, [open_half])[1]])
        asymmetric.agree({}, [secret, open_half])
    if kind["kind"] == "rsa":
        for padding in ("oaep", "pkcs1"):
            params = {"padding": padding, "hash": "sha1"}
            _, sealed = asymmetric.encrypt(params, [open_half, _DATA, b""])
            asymmetric.decrypt(params, [secret, sealed, b""])
