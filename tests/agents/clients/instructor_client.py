from cells import both, book, expect, hello, library, member_order, members, model, run_cells
from openai import OpenAI
from pydantic import BaseModel
import instructor


class Order(BaseModel):
    reasoning: str
    answer: int


class Departures(BaseModel):
    port: str


client = instructor.from_openai(OpenAI(max_retries=0))


def ask(prompt, form, of=client, **more):
    messages = [{"role": "user", "content": prompt}]
    return of.chat.completions.create(model=model, messages=messages, response_model=form, max_retries=1, **more)


def failure_of(prompt):
    try:
        ask(prompt, Order)
    except Exception as error:
        return f"{type(error).__name__} {error}"
    raise ValueError("no error")


def plain():
    expect(ask(hello, None).choices[0].message.content, "answer")


def stream():
    *_, last = client.chat.completions.create_partial(
        model=model, messages=[{"role": "user", "content": members}], response_model=Order
    )
    expect(last.answer == 3, "answer")


def one_call():
    expect(ask(both, Departures, parallel_tool_calls=False).port == "Kiel", "single call")


def schema():
    strict = instructor.from_openai(OpenAI(max_retries=0), mode=instructor.Mode.JSON_SCHEMA)
    for of in (client, strict):
        expect(ask(members, Order, of).reasoning == member_order, "order of members")


def cut():
    expect("IncompleteOutput" in failure_of(book), "IncompleteOutputException")


def too_long():
    expect("context_length_exceeded" in failure_of(library), "code")


run_cells(
    {
        **{"plain": plain, "stream": stream, "one call": one_call, "member order": schema},
        **{"cut answer": cut, "too long": too_long},
    }
)
