from cells import both, book, expect, hello, library, member_order, members, model, run_cells
from pydantic import BaseModel
from pydantic_ai import Agent, NativeOutput
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.models.openai import OpenAIChatModel


class Order(BaseModel):
    reasoning: str
    answer: int


agent = Agent(OpenAIChatModel(model))
caller = Agent(OpenAIChatModel(model), model_settings={"parallel_tool_calls": False})


@caller.tool_plain
def departures(port: str) -> str:
    """Says when ferries leave"""
    return f"9:10 from {port}"


def plain():
    answer = agent.run_sync(hello)
    expect(answer.output and answer.usage.total_tokens, "answer")


def stream():
    expect(agent.run_stream_sync(hello).get_output(), "answer")


def one_call():
    expect("After 1 call" in caller.run_sync(both).output, "single call")


def schema():
    for form in (NativeOutput(Order), Order):
        answer = Agent(OpenAIChatModel(model), output_type=form).run_sync(members).output
        expect(answer.reasoning == member_order, "order of members")


def cut():
    expect(agent.run_sync(book).response.finish_reason == "length", "length")


def too_long():
    try:
        agent.run_sync(library)
    except ModelHTTPError as error:
        expect((error.status_code, error.body["code"]) == (400, "context_length_exceeded"), "code")
        return
    raise ValueError("no error")


run_cells(
    {
        **{"plain": plain, "stream": stream, "one call": one_call, "member order": schema},
        **{"cut answer": cut, "too long": too_long},
    }
)
