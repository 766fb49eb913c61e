"""The system call filter as a layer; the last one, because it forbids what the others are made with."""

import os
from functools import cache

from codemode_executor.jail import kernel
from codemode_executor.jail.bpf import FilterProgram, assemble
from codemode_executor.jail.layer import Context, LayerFailure, Outcome, on
from codemode_executor.jail.policy import SeccompAction
from codemode_executor.jail.syscalls import architecture


@cache
def filter_program(action: SeccompAction, executable_memory: bool = True) -> FilterProgram:
    """Return the filter for this machine, assembled once for each pair of choices.

    Raises:
        LayerFailure: there is no table for this machine.
    """
    arch = architecture()
    if arch is None:
        raise LayerFailure("there is no system call table for this machine")
    return assemble(arch, action, executable_memory)


def load(context: Context) -> Outcome:
    """The layer. It covers every thread there is and will be."""
    arch = architecture()
    action, executable = context.policy.seccomp_action, context.policy.executable_memory
    program = filter_program(action, executable).for_pid(os.getpid())
    if arch is None:
        raise LayerFailure("there is no system call table for this machine")
    kernel.load_filter(arch.numbers["seccomp"], program)
    memory = "" if executable else ", no new executable memory"
    return on(f"{arch.name}, {len(program) // 8} instructions, unforeseen calls: {action}{memory}")
