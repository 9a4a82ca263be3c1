import json as codec

from cells import book, departures, expect, ferry, hello, ignored_in, json, library, model, run_cells, ship
from openai import APIError, OpenAI

client = OpenAI()
tools = [{"type": "function", "function": departures}]
response_tools = [{"type": "function", **departures, "strict": True}]


def user(content):
    return [{"role": "user", "content": content}]


def ask(messages=None, **more):
    raw = client.chat.completions.with_raw_response.create(
        model=model, messages=messages or user(hello), **more
    )
    answer = raw.parse()
    expect(answer.choices[0].message.content, "answer")
    expect(answer.usage.total_tokens, "usage")
    return raw.headers.get("x-svc-ignored")


def plain():
    ask()


def stream():
    chunks = client.chat.completions.create(model=model, messages=user(hello), stream=True)
    expect("".join(c.choices[0].delta.content or "" for c in chunks if c.choices), "answer")


def system():
    ask([{"role": "system", "content": "Be short."}, *user(hello)])


def call_tools():
    first = client.chat.completions.create(model=model, messages=user(ferry), tools=tools)
    message = first.choices[0].message
    call = message.tool_calls[0]
    expect(codec.loads(call.function.arguments)["port"] == "Kiel", "arguments")
    result = {"role": "tool", "tool_call_id": call.id, "content": "9:10"}
    last = client.chat.completions.create(
        model=model, messages=[*user(ferry), message, result], tools=tools
    )
    expect("9:10" in last.choices[0].message.content, "result in the answer")


def schema():
    form = {"type": "json_schema", "json_schema": {"name": "ship", "schema": ship, "strict": True}}
    answer = client.chat.completions.create(model=model, messages=user(json), response_format=form)
    expect(codec.loads(answer.choices[0].message.content)["decks"] == 3, "JSON")


def responses():
    whole = client.responses.create(model=model, input=hello, instructions="Be short.")
    expect(whole.output_text, "answer")
    form = {"type": "json_schema", "name": "ship", "schema": ship, "strict": True}
    with client.responses.stream(model=model, input=json, text={"format": form}) as events:
        for _ in events:
            pass
        last = events.get_final_response()
    expect(codec.loads(last.output_text)["decks"] == 3, "JSON")


def responses_tools():
    items = user(ferry)
    first = client.responses.create(model=model, input=items, tools=response_tools)
    call = first.output[0]
    expect(codec.loads(call.arguments)["port"] == "Kiel", "arguments")
    result = {"type": "function_call_output", "call_id": call.call_id, "output": "9:10"}
    last = client.responses.create(
        model=model, input=[*items, *first.output, result], tools=response_tools
    )
    expect("9:10" in last.output_text, "result in the answer")


def cut():
    answer = client.chat.completions.create(model=model, messages=user(book))
    expect(answer.choices[0].finish_reason == "length", "length")
    whole = client.responses.create(model=model, input=book)
    expect(whole.incomplete_details.reason == "max_output_tokens", "reason")


def too_long():
    for ask_one in (
        lambda: client.chat.completions.create(model=model, messages=user(library)),
        lambda: list(client.chat.completions.create(model=model, messages=user(library), stream=True)),
        lambda: list(client.responses.create(model=model, input=library, stream=True)),
    ):
        try:
            ask_one()
        except APIError as error:
            expect(error.code == "context_length_exceeded", f"code in {error}")
            continue
        raise ValueError("no error")


def stop():
    ask(stop=["END"])


def seed():
    ask(seed=7)


run_cells(
    {
        "plain": plain,
        "stream": stream,
        "system": system,
        "tools": call_tools,
        "JSON schema": schema,
        "responses": responses,
        "responses, tools": responses_tools,
        **{"cut answer": cut, "too long": too_long},
        "stop": stop,
        "seed": seed,
        "n = 2": lambda: ignored_in(ask(n=2), "n"),
        "temperature 0.7": lambda: ignored_in(ask(temperature=0.7), "temperature"),
    }
)
