"""Signing, agreeing and encrypting with pairs of keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

from ..host_calls import Operation
from . import digests, keys
from .params import integer, parts, refusal, text

_MAX_SALT = 2**31 - 1
_PSS_OVERHEAD = 2
_OAEP_HASHES = ("sha1", "sha224", "sha256", "sha384", "sha512")
_MAX_RAW_BITS = 4096


def sign(params: dict[str, Any], buffers: list[bytes]) -> tuple[object, bytes]:
    """``{scheme}`` is pkcs1, pss with ``{salt}``, ecdsa (``{der}``: its form) or ed25519, and but for the last has a
    ``{hash}``: private key, message."""
    der, data = parts(buffers, 2)
    key = keys.private(der)
    match text(params, "scheme"), key:
        case "pkcs1", rsa.RSAPrivateKey():
            algorithm = digests.algorithm(text(params, "hash"))
            if algorithm.digest_size + 32 > key.key_size // 8:
                least = 8 * (algorithm.digest_size + 32)
                raise refusal(f"key too small for signing with given digest, need at least {least}bits.")
            return None, key.sign(data, padding.PKCS1v15(), algorithm)
        case "pss", rsa.RSAPrivateKey():
            algorithm = digests.algorithm(text(params, "hash"))
            room = _pss_room(key.key_size, algorithm)
            salt = integer(params, "salt", 0, _MAX_SALT)
            if room < 0:
                raise refusal("key too small for signing with given digest")
            if salt > room:
                raise refusal("key too small for signing with given digest and salt length")
            return None, key.sign(data, _pss(algorithm, salt), algorithm)
        case "ecdsa", ec.EllipticCurvePrivateKey():
            signature = key.sign(data, ec.ECDSA(digests.algorithm(text(params, "hash"))))
            if params.get("der") is True:
                return None, signature
            size = -(-key.key_size // 8)
            r, s = decode_dss_signature(signature)
            return None, r.to_bytes(size, "big") + s.to_bytes(size, "big")
        case "ed25519", Ed25519PrivateKey():
            return None, key.sign(data)
        case _:
            raise refusal("the key does not fit the algorithm", "InvalidAccessError")


def verify(params: dict[str, Any], buffers: list[bytes]) -> tuple[object, bytes]:
    """As ``sign``: public key, signature, message. The value is whether it fits."""
    der, signature, data = parts(buffers, 3)
    key = keys.public(der)
    try:
        match text(params, "scheme"), key:
            case "pkcs1", rsa.RSAPublicKey():
                key.verify(signature, data, padding.PKCS1v15(), digests.algorithm(text(params, "hash")))
            case "pss", rsa.RSAPublicKey():
                algorithm = digests.algorithm(text(params, "hash"))
                salt = integer(params, "salt", 0, _MAX_SALT)
                if salt > _pss_room(key.key_size, algorithm):
                    return False, b""
                key.verify(signature, data, _pss(algorithm, salt), algorithm)
            case "ecdsa", ec.EllipticCurvePublicKey():
                algorithm = digests.algorithm(text(params, "hash"))
                if params.get("der") is not True:
                    size = -(-key.key_size // 8)
                    if len(signature) != 2 * size:
                        return False, b""
                    signature = encode_dss_signature(
                        int.from_bytes(signature[:size], "big"), int.from_bytes(signature[size:], "big")
                    )
                key.verify(signature, data, ec.ECDSA(algorithm))
            case "ed25519", Ed25519PublicKey():
                key.verify(signature, data)
            case _:
                raise refusal("the key does not fit the algorithm", "InvalidAccessError")
    except InvalidSignature:
        return False, b""
    return True, b""


def _pss_room(bits: int, algorithm: hashes.HashAlgorithm) -> int:
    return bits // 8 - algorithm.digest_size - _PSS_OVERHEAD


def _pss(algorithm: hashes.HashAlgorithm, salt: int) -> padding.PSS:
    return padding.PSS(padding.MGF1(algorithm), salt)


def agree(params: dict[str, Any], buffers: list[bytes]) -> tuple[object, bytes]:
    """The secret that a private key and the other side's public one give."""
    mine, theirs = parts(buffers, 2)
    secret, open_half = keys.private(mine), keys.public(theirs)
    if isinstance(secret, ec.EllipticCurvePrivateKey) and isinstance(open_half, ec.EllipticCurvePublicKey):
        if secret.curve.name != open_half.curve.name:
            raise refusal("the keys are on different curves", "InvalidAccessError")
        return None, secret.exchange(ec.ECDH(), open_half)
    if isinstance(secret, X25519PrivateKey) and isinstance(open_half, X25519PublicKey):
        try:
            return None, secret.exchange(open_half)
        except ValueError:
            raise refusal("Failed to derive EDDH key: public key routines INVALID_PEER_KEY.") from None
    raise refusal("the keys do not fit each other", "InvalidAccessError")


def encrypt(params: dict[str, Any], buffers: list[bytes]) -> tuple[object, bytes]:
    """RSA with ``{padding}`` pkcs1, or oaep with ``{hash}``: public key, text, label."""
    der, data, label = parts(buffers, 3)
    key = keys.public(der)
    if not isinstance(key, rsa.RSAPublicKey):
        raise refusal("the key does not fit the algorithm", "InvalidAccessError")
    chosen = _padding(params, label)
    try:
        return None, key.encrypt(data, chosen)
    except ValueError:
        raise refusal("RSA-OAEP failed encrypt/decrypt.") from None


def decrypt(params: dict[str, Any], buffers: list[bytes]) -> tuple[object, bytes]:
    """As ``encrypt``: private key, text, label."""
    der, data, label = parts(buffers, 3)
    key = keys.private(der)
    if not isinstance(key, rsa.RSAPrivateKey):
        raise refusal("the key does not fit the algorithm", "InvalidAccessError")
    if len(data) != -(-key.key_size // 8):
        raise refusal("RSA-OAEP failed encrypt/decrypt: Invalid RSA signature..")
    chosen = _padding(params, label)
    try:
        return None, key.decrypt(data, chosen)
    except ValueError:
        raise refusal("RSA-OAEP failed encrypt/decrypt.") from None


def sign_raw(params: dict[str, Any], buffers: list[bytes]) -> tuple[object, bytes]:
    """RSA without padding, for blind signatures: private key, what was blinded."""
    der, data = parts(buffers, 2)
    key = keys.private(der)
    if not isinstance(key, rsa.RSAPrivateKey):
        raise refusal("the key does not fit the algorithm", "InvalidAccessError")
    if key.key_size > _MAX_RAW_BITS:
        raise refusal(f"keys of up to {_MAX_RAW_BITS} bits sign without padding here, not of {key.key_size}")
    size = -(-key.key_size // 8)
    if len(data) > size:
        raise refusal(
            f"Blind Signing requires presigned data ({len(data)} bytes) to be smaller than the key ({size} bytes).",
            "DataError",
        )
    if len(data) < size:
        raise refusal("Invalid RSA signature.")
    numbers = key.private_numbers()
    value, modulus = int.from_bytes(data, "big"), numbers.public_numbers.n
    if value >= modulus:
        raise refusal(
            "Blind Signing requires presigned data value to be strictly smaller than RSA key"
            "modulus, consider using a larger key size.",
            "DataError",
        )
    return None, pow(value, numbers.d, modulus).to_bytes(size, "big")


def _padding(params: dict[str, Any], label: bytes) -> padding.AsymmetricPadding:
    if text(params, "padding") == "pkcs1":
        return padding.PKCS1v15()
    name = text(params, "hash")
    if name not in _OAEP_HASHES:
        raise refusal(f"RSA-OAEP with {name[:20]} is not offered", "NotSupportedError")
    algorithm = digests.algorithm(name)
    return padding.OAEP(padding.MGF1(algorithm), algorithm, label or None)


OPERATIONS: Mapping[str, Operation] = {
    "crypto.sign": sign,
    "crypto.verify": verify,
    "crypto.agree": agree,
    "crypto.rsa.raw": sign_raw,
    "crypto.rsa.encrypt": encrypt,
    "crypto.rsa.decrypt": decrypt,
}
