"""What the jail says about itself. Every type here can be sent with msgspec."""

from typing import Literal

import msgspec

from codemode_executor.jail.policy import Hardening

LayerState = Literal["on", "off", "failed"]


class LayerReport(msgspec.Struct, frozen=True):
    """One layer: "on" holds, "off" was not asked for or does not apply, "failed" was tried.

    `wanted` is what the policy said of it.
    """

    name: str
    state: LayerState
    detail: str
    wanted: Hardening = "used"


class JailReport(msgspec.Struct, frozen=True):
    """Every layer in the order of application, under the hardening that was asked for."""

    hardening: Hardening
    layers: tuple[LayerReport, ...]

    def state_of(self, name: str) -> LayerState:
        """Return the state of a layer; a layer that the report does not list is "off"."""
        for layer in self.layers:
            if layer.name == name:
                return layer.state
        return "off"

    def wanted_of(self, name: str) -> Hardening:
        """Return what was asked of a layer; of one that is not listed, what holds for all."""
        for layer in self.layers:
            if layer.name == name:
                return layer.wanted
        return self.hardening


class ProbeResult(msgspec.Struct, frozen=True):
    """One attempt to do what the jail forbids.

    `blocked` is True only when the attempt was refused for want of permission (EPERM, EACCES) or
    as unknown (ENOSYS). Any other answer means that the kernel considered the request. `errno` is
    its answer, 0 for a success.
    """

    name: str
    blocked: bool
    detail: str
    errno: int = 0


class ThreadStatus(msgspec.Struct, frozen=True):
    """One thread as the kernel describes it to an outsider.

    `uids` and `gids` are (real, effective, saved, file system). `seccomp` is 0 for none, 1 for
    strict, 2 for a filter. `cap_effective` and `cap_permitted` are bit sets.
    """

    tid: int
    name: str
    state: str
    uids: tuple[int, int, int, int]
    gids: tuple[int, int, int, int]
    groups: tuple[int, ...]
    seccomp: int
    no_new_privs: bool
    cap_effective: int
    cap_permitted: int


class ProcessStatus(msgspec.Struct, frozen=True):
    """What the kernel tells an outsider of a process as a whole, None where it does not.

    The namespaces and the root directory are the process's own or the same as the observer's.
    """

    own_user_namespace: bool | None
    own_network_namespace: bool | None
    own_root_directory: bool | None
    dumpable: bool | None
