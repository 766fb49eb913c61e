"""What the jail is asked to do."""

from typing import Literal

import msgspec

Hardening = Literal["required", "used", "off"]
SeccompAction = Literal["errno", "kill"]


class JailPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """How a worker is to be confined.

    Attributes:
        hardening: "required" fails when any layer fails, "used" applies what the system offers
            and reports the rest, "off" applies only the hygiene (descriptors, environment,
            session, priority).
        data_bytes: private writable memory, in bytes, that the worker may gain on top of what it
            has when it is sealed (RLIMIT_DATA). None leaves it unlimited.
        seccomp_action: the answer to a system call nobody foresaw. "errno" refuses it with EPERM;
            "kill" ends the process with SIGSYS, so that a test sees what would otherwise be a
            silent hang. Calls that are refused by design get an error under both.
        nice: added to the inherited niceness; only root may pass a negative number.
        oom_score_adj: value for /proc/self/oom_score_adj, -1000 to 1000; None leaves it as it is.

    Raises:
        ValueError: a number is outside its range.
    """

    hardening: Hardening = "required"
    data_bytes: int | None = None
    seccomp_action: SeccompAction = "errno"
    nice: int = 0
    oom_score_adj: int | None = None

    def __post_init__(self) -> None:
        if self.data_bytes is not None and self.data_bytes <= 0:
            raise ValueError(f"data_bytes must be positive, not {self.data_bytes}")
        if not -20 <= self.nice <= 19:
            raise ValueError(f"nice must be between -20 and 19, not {self.nice}")
        if self.oom_score_adj is not None and not -1000 <= self.oom_score_adj <= 1000:
            raise ValueError(f"oom_score_adj must be between -1000 and 1000, not {self.oom_score_adj}")
