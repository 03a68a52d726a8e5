"""What speculation is measured on, written for it: answers that repeat their prompt, that partly do, and free chat."""

ARTICLE = """The harbour board of Eskvik approved a plan on Monday to move the fish market from the old quay to the empty \
grain warehouse on Tollgate Street. Board chair Ingrid Solheim said that the warehouse has twice the floor space and stays \
dry when the autumn storms flood the quay. The move will cost 3.1 million crowns, of which the town pays a third and the \
fishing cooperative the rest. Three members voted against the plan because the new site lies eight hundred metres from the \
ferry landing, where most visitors arrive. The cooperative promised a free shuttle bus from May to September. Work starts \
in February, and the first fish is to be sold in the new hall on the tenth of June. The old quay will become a public \
bathing place with a small cafe."""

LETTER = """Dear Mr. Halvorsen, thank you for you're visit to our workshop last thursday. We have now repaird the two \
windows and the cellar door, and we will deliver them on the ninteenth of the month. The third window could not be saved, \
becuase the frame was rotten on the inside. We can biuld a new one from larch for the price that is shown in the attached \
offer. Please let us now before friday if you wish to go ahead. The glas for it is allready in our store. With kind \
regards, Berit Aasen"""

CODE = """def read_orders(path):
    orders = []
    with open(path) as handle:
        for line in handle:
            number, customer, amount = line.strip().split(";")
            orders.append({"number": int(number), "customer": customer, "amount": float(amount)})
    return orders


def total_by_customer(orders):
    totals = {}
    for order in orders:
        customer = order["customer"]
        totals[customer] = totals.get(customer, 0) + order["amount"]
    return totals
"""

ROWS = """Mirela Popa; Cluj; 1987; surveyor
Jonas Brandt; Kiel; 1994; boat builder
Aiko Tanaka; Nagoya; 1979; translator
Samuel Okoro; Lagos; 1990; pharmacist
Eva Lindqvist; Umea; 1983; forester
Paulo Teixeira; Braga; 1996; cook"""

TASKS: dict[str, tuple[str, ...]] = {
    "edit": (
        f"Correct the spelling mistakes in this letter and return the full corrected letter.\n\n{LETTER}",
        f"Repeat the following text exactly, but write Thursday instead of Monday.\n\n{ARTICLE}",
        f"Repeat the following text exactly.\n\n{LETTER}",
    ),
    "code edit": (
        f"Add a docstring to each function and return the full code.\n\n```python\n{CODE}```",
        f"Rename the variable orders to sales in this code and return the full code.\n\n```python\n{CODE}```",
    ),
    "summarise": (
        f"Summarise the following text in three sentences.\n\n{ARTICLE}",
        f"Write the main points of this text as a list.\n\n{ARTICLE}",
    ),
    "rag": (
        f"{ARTICLE}\n\nQuestion: When does the work start, what does it cost and who pays? Quote the text.",
        f"{ARTICLE}\n\nQuestion: Why did three members vote against the plan?",
    ),
    "extract": (f"Convert these rows to a JSON list with the keys name, city, year and job.\n\n{ROWS}",),
    "chat": (
        "Explain why the sea is salty.",
        "Write a short story about a clockmaker who is always late.",
        "What should I look at when I buy a used bicycle?",
        "Give me three ideas for a rainy afternoon with two children, with a short explanation for each.",
    ),
}

THINGS = (
    "a sewing machine", "a lighthouse", "a pressure cooker", "a violin", "a compass", "a sailing boat", "a refrigerator",
    "a pendulum clock", "a windmill", "a zip fastener", "a thermometer", "a canal lock", "a telescope", "a tin whistle",
    "a water tower", "a ball pen",
)  # fmt: skip
CROWD = tuple(f"Explain to a curious neighbour how {thing} works." for thing in THINGS)
"""16 free chats, of which a crowded batch is made: the case in which drafts earn least."""
