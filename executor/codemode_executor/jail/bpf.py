"""Assembles the seccomp filter from the tables, without libseccomp."""

import errno
import struct
from typing import NamedTuple

from codemode_executor.jail.policy import SeccompAction
from codemode_executor.jail.syscalls import (
    ALLOWED,
    LAST_KNOWN,
    OWN_PID,
    REFUSED,
    UNKNOWN,
    WITHOUT_EXECUTABLE_MEMORY,
    Architecture,
    Condition,
)

LD_W_ABS = 0x20
ALU_AND_K = 0x54
JMP_JEQ_K = 0x15
JMP_JGT_K = 0x25
JMP_JGE_K = 0x35
RET_K = 0x06

RET_KILL_PROCESS = 0x8000_0000
RET_ERRNO = 0x0005_0000
RET_ALLOW = 0x7FFF_0000

X32_SYSCALL_BIT = 0x4000_0000

# struct seccomp_data {int nr; u32 arch; u64 instruction_pointer; u64 args[6];}, little-endian on
# both architectures: the lower half of an argument comes first.
OFFSET_NR = 0
OFFSET_ARCH = 4
OFFSET_ARGS = 16

_INSTRUCTION = struct.Struct("<HBBI")


class Instruction(NamedTuple):
    """One classic BPF instruction: a jump goes `true` or `false` instructions further."""

    code: int
    true: int
    false: int
    value: int


class FilterProgram(NamedTuple):
    """An assembled filter in which only the process id is missing."""

    code: bytes
    pid_offsets: tuple[int, ...]

    def for_pid(self, pid: int) -> bytes:
        """Return the program for one process: `struct sock_filter` records of 8 bytes each."""
        code = bytearray(self.code)
        for offset in self.pid_offsets:
            struct.pack_into("<I", code, offset, pid)
        return bytes(code)


def assemble(arch: Architecture, action: SeccompAction, executable_memory: bool = True) -> FilterProgram:
    """Assemble the filter for an architecture.

    A foreign architecture and the x32 call table always kill: nothing in a worker uses them.
    """
    refuse = _return(RET_ERRNO | errno.EPERM)
    unknown = _return(RET_ERRNO | errno.ENOSYS)
    kill = _return(RET_KILL_PROCESS)
    unforeseen = kill if action == "kill" else refuse
    numbers = arch.numbers
    program = [
        Instruction(LD_W_ABS, 0, 0, OFFSET_ARCH),
        Instruction(JMP_JEQ_K, 1, 0, arch.audit_arch),
        kill,
        Instruction(LD_W_ABS, 0, 0, OFFSET_NR),
    ]
    if arch.has_x32:
        program += [Instruction(JMP_JGE_K, 0, 1, X32_SYSCALL_BIT), kill]
    pid_slots: list[int] = []
    allowed = ALLOWED if executable_memory else {**ALLOWED, **WITHOUT_EXECUTABLE_MEMORY}
    for name, conditions in allowed.items():
        if name in numbers:
            block, slots = _allow_if(conditions, refuse)
            pid_slots += [len(program) + 1 + slot for slot in slots]
            program += [Instruction(JMP_JEQ_K, 0, len(block), numbers[name]), *block]
    for names, answer in ((REFUSED, refuse), (UNKNOWN, unknown)):
        for name in names:
            if name in numbers:
                program += [Instruction(JMP_JEQ_K, 0, 1, numbers[name]), answer]
    if action == "errno":
        program += [Instruction(JMP_JGT_K, 0, 1, LAST_KNOWN), unknown]
    program.append(unforeseen)
    value_offset = _INSTRUCTION.size - 4
    return FilterProgram(
        b"".join(_INSTRUCTION.pack(*instruction) for instruction in program),
        tuple(slot * _INSTRUCTION.size + value_offset for slot in pid_slots),
    )


def _return(value: int) -> Instruction:
    return Instruction(RET_K, 0, 0, value)


def _allow_if(conditions: tuple[Condition, ...], refuse: Instruction) -> tuple[list[Instruction], list[int]]:
    """Return the block behind a matching number, and which of its values are the process id."""
    block: list[Instruction] = []
    pid_slots: list[int] = []
    for condition in conditions:
        low = OFFSET_ARGS + 8 * condition.argument
        halves = [(low, 0)] + ([(low + 4, 32)] if condition.wide else [])
        for offset, shift in halves:
            mask = condition.mask >> shift & 0xFFFF_FFFF
            block.append(Instruction(LD_W_ABS, 0, 0, offset))
            if mask != 0xFFFF_FFFF:
                block.append(Instruction(ALU_AND_K, 0, 0, mask))
            for position, value in enumerate(condition.values):
                if value == OWN_PID:
                    pid_slots.append(len(block))
                remaining = len(condition.values) - position
                wanted = 0 if value == OWN_PID else value >> shift & 0xFFFF_FFFF
                block.append(Instruction(JMP_JEQ_K, remaining, 0, wanted))
            block.append(refuse)
    block.append(_return(RET_ALLOW))
    return block, pid_slots
