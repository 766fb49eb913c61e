"""The filters of both architectures, interpreted: no such machine is needed."""

import errno
import struct

import pytest

from codemode_executor.jail.bpf import FilterProgram, assemble
from codemode_executor.jail.syscalls import (
    ALLOWED,
    ARCHITECTURES,
    CLONE_THREAD,
    LAST_KNOWN,
    PR_SET_NAME,
    REFUSED,
    UNKNOWN,
    WITHOUT_EXECUTABLE_MEMORY,
    Architecture,
)

ALLOW = 0x7FFF_0000
KILL = 0x8000_0000
EPERM = 0x0005_0000 | errno.EPERM
ENOSYS = 0x0005_0000 | errno.ENOSYS
PID = 4321
PTHREAD_FLAGS = 0x3D0F00
POINTER = 0x7F00_0000_0000


def interpret(code: bytes, number: int, arch: int, arguments: tuple[int, ...] = ()) -> int:
    padded = arguments + (0,) * (6 - len(arguments))
    data = struct.pack("<IIQ6Q", number, arch, 0, *(a & (1 << 64) - 1 for a in padded))
    program = list(struct.iter_unpack("<HBBI", code))
    accumulator = position = 0
    for _ in range(len(program)):
        operation, true, false, value = program[position]
        position += 1
        match operation:
            case 0x20:
                (accumulator,) = struct.unpack_from("<I", data, value)
            case 0x54:
                accumulator &= value
            case 0x15:
                position += true if accumulator == value else false
            case 0x25:
                position += true if accumulator > value else false
            case 0x35:
                position += true if accumulator >= value else false
            case 0x06:
                return value
            case _:
                raise AssertionError(f"unknown operation {operation:#x}")
    raise AssertionError("the program does not end")


# For each call with conditions: arguments that pass, and arguments that must not.
ARGUMENTS: dict[str, tuple[list[tuple[int, ...]], list[tuple[int, ...]]]] = {
    "sendto": ([(3, POINTER, 5, 0, 0, 0)], [(3, POINTER, 5, 0, POINTER, 16), (3, 0, 0, 0, 1, 0)]),
    "clone": (
        [(PTHREAD_FLAGS,), (PTHREAD_FLAGS | 0x40_0000,)],
        [(17,), (0x4111,), (0,), *((CLONE_THREAD | 1 << bit,) for bit in (17, 25, 26, 27, 28, 29, 30))],
    ),
    "prctl": ([(PR_SET_NAME, POINTER), (0x53564D41, 0)], [(4, 1), (22, 2), (1, 0), (38, 1)]),
    "prlimit64": (
        [(0, 2, 0, POINTER), (PID, 2, 0, POINTER)],
        [(0, 2, POINTER, 0), (0, 2, 1, 0), (1, 2, 0, POINTER), (PID + 1, 2, 0, POINTER)],
    ),
    "tgkill": ([(PID, PID + 1, 6)], [(1, 1, 6), (0, 0, 9), (PID + 1, PID, 9), (-1, 0, 9)]),
}

BOTH = pytest.mark.parametrize("arch", ARCHITECTURES.values(), ids=ARCHITECTURES.keys())


def test_every_condition_has_its_cases() -> None:
    assert set(ARGUMENTS) == {name for name, conditions in ALLOWED.items() if conditions}


@BOTH
@pytest.mark.parametrize("action", ["errno", "kill"])
def test_every_number_gets_its_answer(arch: Architecture, action: str) -> None:
    code = assemble(arch, "kill" if action == "kill" else "errno").for_pid(PID)
    names = {number: name for name, number in arch.numbers.items()}
    for number in range(1024):
        name = names.get(number)
        answer = interpret(code, number, arch.audit_arch, ARGUMENTS.get(name or "", ([()], []))[0][0])
        if name in ALLOWED:
            assert answer == ALLOW, name
        elif name in UNKNOWN:
            assert answer == ENOSYS, name
        elif name in REFUSED:
            assert answer == EPERM, name
        elif action == "kill":
            assert answer == KILL, number
        else:
            assert answer == (ENOSYS if number > LAST_KNOWN else EPERM), number


@BOTH
@pytest.mark.parametrize("name", ARGUMENTS)
def test_conditions(arch: Architecture, name: str) -> None:
    code = assemble(arch, "kill").for_pid(PID)
    good, bad = ARGUMENTS[name]
    for arguments in good:
        assert interpret(code, arch.numbers[name], arch.audit_arch, arguments) == ALLOW, arguments
    for arguments in bad:
        assert interpret(code, arch.numbers[name], arch.audit_arch, arguments) == EPERM, arguments


@BOTH
@pytest.mark.parametrize("name", WITHOUT_EXECUTABLE_MEMORY)
def test_executable_memory(arch: Architecture, name: str) -> None:
    number = arch.numbers[name]
    may, may_not = (assemble(arch, "kill", executable).for_pid(PID) for executable in (True, False))
    for protection in range(8):
        arguments = (POINTER, 4096, protection, 0x22)
        assert interpret(may, number, arch.audit_arch, arguments) == ALLOW
        assert interpret(may_not, number, arch.audit_arch, arguments) == (EPERM if protection & 4 else ALLOW)
    # The kernel's other half of the register means nothing to it.
    assert interpret(may_not, number, arch.audit_arch, (POINTER, 4096, 1 << 32 | 3)) == ALLOW


@BOTH
def test_a_foreign_architecture_is_killed(arch: Architecture) -> None:
    code = assemble(arch, "errno").for_pid(PID)
    others = {0x4000_0003, 0x4000_0028, *(a.audit_arch for a in ARCHITECTURES.values())}
    for other in others - {arch.audit_arch}:
        assert interpret(code, arch.numbers["read"], other) == KILL


def test_the_x32_table_is_killed() -> None:
    arch = ARCHITECTURES["x86_64"]
    code = assemble(arch, "errno").for_pid(PID)
    for number in (0, 39, 59, 512, 547):
        assert interpret(code, number | 0x4000_0000, arch.audit_arch) == KILL


@BOTH
def test_the_program_is_what_the_kernel_accepts(arch: Architecture) -> None:
    program: FilterProgram = assemble(arch, "errno")
    assert len(program.code) % 8 == 0
    assert len(program.code) // 8 <= 4096
    assert program.for_pid(1) != program.for_pid(2)
    assert len(program.pid_offsets) == 2  # tgkill, prlimit64
