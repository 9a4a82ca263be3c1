# Shared by the clients in Python: each cell of the table is printed as a line of JSON as soon as it is known.
import json as codec

model = "openai:gpt-4o-mini"
hello = "What is a lighthouse for?"
ferry = "When does the ferry leave?"
json = "Describe the ferry as JSON"
# Prompts of provider.ts.
both = "When do both ferries leave?"
members = "Which members, in which order?"
book = "Tell a whole book"
library = "Read a whole library"
order = {
    "type": "object",
    "properties": {"reasoning": {"type": "string"}, "answer": {"type": "integer"}},
    "required": ["reasoning", "answer"],
    "additionalProperties": False,
}
member_order = ",".join(order["properties"])
departures = {
    "name": "departures",
    "description": "Says when ferries leave",
    "parameters": {
        "type": "object",
        "properties": {"port": {"type": "string"}},
        "required": ["port"],
        "additionalProperties": False,
    },
}
ship = {
    "title": "ship",
    "description": "A ship",
    "type": "object",
    "properties": {"name": {"type": "string"}, "decks": {"type": "number"}},
    "required": ["name", "decks"],
    "additionalProperties": False,
}


def run_cells(cells):
    for column, ask in cells.items():
        try:
            ignored = ask()
            result = f"ignored ({ignored})" if ignored else "ok"
        except Exception as error:
            result = f"FAIL: {error}"
        print(codec.dumps({"column": column, "result": result}), flush=True)


def expect(value, what):
    if not value:
        raise ValueError(f"no {what}")


def ignored_in(header, name):
    expect(name in (header or "").split(", "), f"{name} in x-svc-ignored")
    return name
