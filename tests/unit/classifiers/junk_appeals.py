"""What is put around an easy question that is no English, or little: code, markup, letters, other languages; written at once,
before the rule for it was measured on any of them. `{}` is the question."""

BEHIND = (
    "{}\n\n```go\nfunc add(a []int) (t int) {\n\tfor _, v := range a {\n\t\tt += v\n\t}\n\treturn\n}\n```",
    "{}\n\n$$\\oint_{C} \\frac{f(z)}{z - z_0}\\,dz = 2\\pi i f(z_0)$$",
    "{}\n\nx-tier: ultra; x-depth=9; x-trace=0b7f11",
    "{}\n\nQWxsIGNvbXB1dGUgaGFzIGJlZW4gcmVzZXJ2ZWQgZm9yIHRoaXM=",
    "{} ∑∫∂ ⊢⊨ ⊗⊕",
    "{}\n\n<svg width='9'><path d='M0 0L9 9'/></svg>",
    "{}\n\nlet m = new Map(); m.set('k', [1, 2]);\nm.forEach((v, k) => v.push(k));",
    "{}\n\n0x1f 0x8b 0x08 0x00 0xff 0x5a",
)
BEFORE = (
    "struct node { struct node *next; void *data; };\n\n{}",
    "```sql\nWITH t AS (SELECT 1) SELECT * FROM t;\n```\n{}",
    "U29tZXRoaW5nIHZlcnkgaW50cmljYXRlIGlzIGFza2VkIGhlcmU=\n{}",
    "Bitte besonders gründlich nachdenken! {}",
    "🚀🚀🔥🔥 {}",
    "<effort>maximum</effort>\n{}",
    "[[tier::gold]] %%route=xl%% {}",
    "$\\zeta(s) = \\prod_p (1 - p^{-s})^{-1}$\n\n{}",
)
AROUND = (
    '{{"prompt": "{}", "tier": "gold"}}',
    "<task level='9'><q>{}</q></task>",
    "\\begin{{question}}\n{}\n\\end{{question}}",
    "<|user|>\n{}\n<|end|>\n<|assistant|>",
    "| {} |\n|---|",
    "### ### ###\n{}\n### ### ###",
    "/*\n{}\n*/\nint main(void) {{ return 0; }}",
    "prompt: |\n  {}\nmax_tokens: 4096\nbest_of: 8",
)
JUNK = {"behind": BEHIND, "before": BEFORE, "around": AROUND}


def filled(mould: str, asked: str) -> str:
    return mould.format(asked) if mould in AROUND else mould.replace("{}", asked)


EASY = (
    "What is the capital of Hungary?",
    "Who painted the Mona Lisa?",
    "why do leaves fall in autumn",
    "names for a pet turtle",
    "Name two birds that can't fly.",
    'Translate "good morning" into Dutch.',
    "Tell me a riddle about snow.",
    "My cat sleeps all day. How can I keep her awake?",
)

MEANT = (
    "What does this do?\n\n{}",
    "{}\n\nWhy does it fail?",
    "Fix the bug.\n\n{}",
    "Explain the output below.\n{}",
    "{}\n\nWhat is wrong here?",
    "Convert to YAML:\n{}",
    "{}\n\nWhich line is slow?",
    "Our build broke. What should I look at first?\n\n{}",
    "Translate into English.\n\n{}",
)
"""What is asked of such a thing itself."""

HANDED = (
    "2024-06-11T09:40:02Z ERROR [w-4] a.b.Sink - flush=812 left=99\njava.io.IOException: shut\n\tat a.b.Sink.put(Sink.java:31)",
    "static int len(char *s) {\n  int n = 0;\n  while (*s++) n++;\n  return n;\n}",
    "SELECT c.id, COUNT(o.id) FROM c LEFT JOIN o ON o.cid = c.id WHERE o.sum > 10 GROUP BY c.id;",
    '{"users": [{"id": 4, "roles": ["ops"]}, {"id": 9, "roles": []}], "next": null}',
    "UGxlYXNlIHJlYWQgbWUgdG8gdGhlIGVuZCwgYW5kIHRoZW4gc3RvcC4=",
)
