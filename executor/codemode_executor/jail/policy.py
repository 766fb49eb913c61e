"""What the jail is asked to do, layer by layer."""

from collections.abc import Mapping
from typing import Literal, get_args

import msgspec

Hardening = Literal["required", "used", "off"]
SeccompAction = Literal["errno", "kill"]

HygieneName = Literal["descriptors", "environment", "session", "priority"]
"""Layers that are always applied: a worker without them would not work as one."""

BaselineName = Literal[
    "threads", "limits", "identity", "capabilities", "no_new_privs", "core_dumps", "parent_death", "seccomp"
]
"""Layers that every supported kernel offers to everybody."""

ExtraName = Literal[
    "user_namespace", "network_namespace", "ipc_namespace", "uts_namespace", "root_directory", "landlock"
]
"""Layers that a kernel, a container or a policy of the system may not permit."""

LayerName = HygieneName | BaselineName | ExtraName

HYGIENE: frozenset[str] = frozenset(get_args(HygieneName))
BASELINE: frozenset[str] = frozenset(get_args(BaselineName))
EXTRA: frozenset[str] = frozenset(get_args(ExtraName))


class JailPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """How a worker is to be confined.

    Attributes:
        hardening: what holds for layers that `layers` does not name. "required": those that every
            supported kernel offers (`BASELINE`) must hold, the others (`EXTRA`) are used where
            they are permitted. "used": whatever the system offers. "off": the hygiene alone.
        layers: what holds for single layers. "required" fails when the layer fails, "used"
            reports that and goes on, "off" leaves the layer out. A layer of the hygiene can only
            be "required" or "used".
        data_bytes: private writable memory, in bytes, that the worker may gain on top of what it
            has when it is sealed (RLIMIT_DATA). None leaves it unlimited.
        seccomp_action: the answer to a system call nobody foresaw. "errno" refuses it with EPERM;
            "kill" ends the process with SIGSYS, so that a test sees what would otherwise be a
            silent hang. Calls that are refused by design get an error under both.
        executable_memory: new executable memory may be made. V8 needs it to compile; with its
            flag --jitless it does not.
        nice: added to the inherited niceness; only root may pass a negative number.
        oom_score_adj: value for /proc/self/oom_score_adj, -1000 to 1000; None leaves it as it is.

    Raises:
        ValueError: a number is outside its range, or `layers` names something else or leaves out
            the hygiene.
    """

    hardening: Hardening = "required"
    layers: Mapping[str, Hardening] = {}
    data_bytes: int | None = None
    seccomp_action: SeccompAction = "errno"
    executable_memory: bool = True
    nice: int = 0
    oom_score_adj: int | None = None

    def __post_init__(self) -> None:
        for name, wanted in self.layers.items():
            if name not in HYGIENE | BASELINE | EXTRA:
                known = ", ".join(sorted(HYGIENE | BASELINE | EXTRA))
                raise ValueError(f"layers names {name!r}, which is no layer of the jail; there are {known}")
            if wanted not in get_args(Hardening):
                raise ValueError(f'layers[{name!r}] must be "required", "used" or "off", not {wanted!r}')
            if wanted == "off" and name in HYGIENE:
                raise ValueError(f'layers[{name!r}] cannot be "off": a worker always has it')
        if self.data_bytes is not None and self.data_bytes <= 0:
            raise ValueError(f"data_bytes must be positive, not {self.data_bytes}")
        if not -20 <= self.nice <= 19:
            raise ValueError(f"nice must be between -20 and 19, not {self.nice}")
        if self.oom_score_adj is not None and not -1000 <= self.oom_score_adj <= 1000:
            raise ValueError(f"oom_score_adj must be between -1000 and 1000, not {self.oom_score_adj}")

    def wanted(self, layer: str) -> Hardening:
        """Return what holds for a layer."""
        own = self.layers.get(layer)
        if own is not None:
            return own
        if self.hardening == "off":
            return "used" if layer in HYGIENE else "off"
        if self.hardening == "required" and layer in EXTRA:
            return "used"
        return self.hardening
