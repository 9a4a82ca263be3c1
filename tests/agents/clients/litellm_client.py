import json as codec

from cells import both, book, departures, expect, hello, library, member_order, members, model, order, run_cells
import litellm
import os

litellm.suppress_debug_info = True
tools = [{"type": "function", "function": departures}]


def ask(prompt, **more):
    messages = [{"role": "user", "content": prompt}]
    base = os.environ["OPENAI_BASE_URL"]
    return litellm.completion(model=f"openai/{model}", api_base=base, messages=messages, max_retries=0, **more)


def plain():
    answer = ask(hello)
    expect(answer.choices[0].message.content and answer.usage.total_tokens, "answer")


def stream():
    expect("".join(piece.choices[0].delta.content or "" for piece in ask(hello, stream=True)), "answer")


def one_call():
    calls = ask(both, tools=tools, parallel_tool_calls=False).choices[0].message.tool_calls
    expect(len(calls) == 1 and codec.loads(calls[0].function.arguments)["port"] == "Kiel", "single call")


def schema():
    form = {"type": "json_schema", "json_schema": {"name": "order", "schema": order, "strict": True}}
    answer = codec.loads(ask(members, response_format=form).choices[0].message.content)
    expect(answer["reasoning"] == member_order, "order of members")


def cut():
    expect(ask(book).choices[0].finish_reason == "length", "length")
    pieces = [piece.choices[0].finish_reason for piece in ask(book, stream=True)]
    expect("length" in pieces, "length in the stream")


def too_long():
    for streams in (False, True):
        try:
            list(ask(library, stream=streams))
        except litellm.ContextWindowExceededError:
            continue
        raise ValueError("no error")


run_cells(
    {
        **{"plain": plain, "stream": stream, "one call": one_call, "member order": schema},
        **{"cut answer": cut, "too long": too_long},
    }
)
