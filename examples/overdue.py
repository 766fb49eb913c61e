"""A program that a model could have written adds up what a customer owes.

It runs in a V8 isolate inside a jailed process. Its one tool call comes back here, where the data is; the three amounts
never reach the model, only the total does.
"""

import asyncio
import sys

import msgspec

from codemode_executor import IsolateExecutor, Provider

OVERDUE = {"acme": [120, 340, 830], "globex": [55]}


async def overdue(customer: str) -> list[int]:
    """Amounts of the customer's unpaid invoices."""
    return OVERDUE.get(customer, [])


PROGRAM = """
async () => {
  const amounts = await billing.overdue('acme')
  console.log(`${amounts.length} invoices are overdue`)
  return amounts.reduce((total, amount) => total + amount, 0)
}
"""


async def main() -> None:
    async with IsolateExecutor() as executor:
        envelope = await executor.execute(PROGRAM, providers=[Provider("billing", {"overdue": overdue})])
        engine = await executor.inspect()
    print(msgspec.json.format(msgspec.json.encode(envelope), indent=2).decode())
    refused = sum(probe.blocked for probe in engine.probes)
    print(f"jail: {refused} of {len(engine.probes)} probes from inside the worker were refused", file=sys.stderr)


asyncio.run(main())
