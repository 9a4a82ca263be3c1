from cells import expect, ferry, hello, ignored_in, json, model, run_cells, ship
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI


@tool
def departures(port: str) -> str:
    """Says when ferries leave"""
    return f"9:10 from {port}"


def chat(**more):
    return ChatOpenAI(model=model, include_response_headers=True, **more)


def answer(message):
    expect(message.text, "answer")
    return message.response_metadata.get("headers", {}).get("x-svc-ignored")


def plain():
    answer(chat().invoke(hello))


def stream():
    expect("".join(piece.text for piece in chat().stream(hello)), "answer")


def system():
    answer(chat().invoke([("system", "Be short."), ("user", hello)]))


def call_tools(llm):
    bound = llm.bind_tools([departures])
    messages = [("user", ferry)]
    first = bound.invoke(messages)
    expect(first.tool_calls[0]["args"]["port"] == "Kiel", "arguments")
    last = bound.invoke([*messages, first, departures.invoke(first.tool_calls[0])])
    expect("9:10" in last.text, "result in the answer")


def schema():
    expect(chat().with_structured_output(ship).invoke(json)["decks"] == 3, "object")


def responses():
    answer(ChatOpenAI(model=model, use_responses_api=True).invoke(hello))


run_cells(
    {
        "plain": plain,
        "stream": stream,
        "system": system,
        "tools": lambda: call_tools(chat()),
        "JSON schema": schema,
        "responses": responses,
        "responses, tools": lambda: call_tools(ChatOpenAI(model=model, use_responses_api=True)),
        "stop": lambda: answer(chat(stop=["END"]).invoke(hello)) and None,
        "seed": lambda: answer(chat(seed=7).invoke(hello)) and None,
        "n = 2": lambda: ignored_in(answer(chat(n=2).invoke(hello)), "n"),
        "temperature 0.7": lambda: ignored_in(
            answer(chat(temperature=0.7).invoke(hello)), "temperature"
        ),
    }
)
