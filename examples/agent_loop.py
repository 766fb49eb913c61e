"""An agent loop in Python: a prompt, a model that writes programs, and the functions that the programs call.

The agent library is Pydantic AI. Its FunctionModel stands in for a model, so this runs without an account: it writes a
program with a mistake, reads what became of it, and writes a better one. For a real model, change MODEL.
"""

import asyncio

from pydantic_ai import Agent, ModelRetry, Tool
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from codemode_compat import (
    CodeExecutionFailed,
    DynamicWorkerExecutor,
    ToolDescriptor,
    ToolProvider,
    create_code_tool,
)

# --8<-- [start:tools]
INVOICES = [
    {"customer": "acme", "amount": 120, "days": 41},
    {"customer": "acme", "amount": 830, "days": 12},
    {"customer": "globex", "amount": 55, "days": 90},
]


async def invoices(query: dict[str, str]) -> list[dict[str, object]]:
    """The function that programs call. It runs here, where the data is."""
    return [invoice for invoice in INVOICES if invoice["customer"] == query["customer"]]


code_tool = create_code_tool(
    tools=[
        ToolProvider(
            name="billing",
            tools={
                "invoices": ToolDescriptor(
                    invoices,
                    description="A customer's unpaid invoices",
                    input_schema={
                        "type": "object",
                        "properties": {"customer": {"type": "string"}},
                        "required": ["customer"],
                    },
                ),
            },
        ),
    ],
    executor=DynamicWorkerExecutor(timeout=10_000),
)
# --8<-- [end:tools]


# --8<-- [start:agent]
async def run_program(code: str) -> object:
    """What the agent library calls when the model sends a program."""
    try:
        return (await code_tool.execute(code=code))["result"]
    except CodeExecutionFailed as failure:
        # What a program did wrong is the model's to mend.
        raise ModelRetry(str(failure)) from failure


def make_agent(model: FunctionModel) -> Agent[object, str]:
    return Agent(
        model,
        tools=[
            Tool.from_schema(
                run_program,
                name=code_tool.name,
                description=code_tool.description,
                json_schema=code_tool.input_schema,
            )
        ],
        retries=3,
    )


# --8<-- [end:agent]


# --8<-- [start:mock]
FIRST = "async () => (await billing.invoice({ customer: 'acme' })).length"
SECOND = """
async () => {
  const overdue = (await billing.invoices({ customer: "acme" })).filter((invoice) => invoice.days > 30);
  if (overdue.length === 0) throw new Error("nothing is overdue");
  return overdue.reduce((total, invoice) => total + invoice.amount, 0);
}
"""


def mock(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Answers as a model would: it sees the conversation, and sends a program or a text."""
    tool = info.function_tools[0]
    last = messages[-1].parts[-1]
    if isinstance(last, ToolReturnPart) and last.outcome == "success":
        return ModelResponse(parts=[TextPart(f"Acme is overdue with {last.content}.")])
    program = SECOND if isinstance(last, ToolReturnPart) else FIRST
    return ModelResponse(parts=[ToolCallPart(tool.name, {"code": program})])


MODEL = FunctionModel(mock)
# --8<-- [end:mock]


# --8<-- [start:run]
async def main() -> None:
    answer = await make_agent(MODEL).run("How much is acme overdue by more than 30 days?")
    for message in answer.all_messages():
        for part in message.parts:
            if isinstance(part, ToolReturnPart):
                print(f"{part.outcome}: {part.content}")
    print("the model says:", answer.output)


asyncio.run(main())
# --8<-- [end:run]
