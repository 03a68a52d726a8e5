"""Step 4: from a request to Facts and to the Question for the classifier. Counts text, and stores none in the facts."""

from collections.abc import Mapping, Sequence

from backends.messages import ChatRequest, Message
from backends.remote.prompt import LONG_CHARS, estimate_newest, estimate_prompt, estimate_tokens, imprint_of
from backends.upstream import Prepared
from classifiers.question import Question
from gateway.request.identity import Principal
from policies.facts import Ability, Facts


def facts_of(
    request: ChatRequest,
    principal: Principal,
    headers: Mapping[str, str],
    headers_read: frozenset[str],
    prepared: Mapping[str, Prepared],
) -> Facts:
    prompt_tokens = estimate_prompt(request, principal.salt)
    of_users, answered, images, needs = read_turns(request.messages)
    exact, prefix = {}, ""
    for model, measured in prepared.items():
        if measured.exact:
            exact[model] = measured.tokens
        if measured.blocks and not prefix:
            prefix = measured.blocks[0].hex()
    return Facts(
        requested=request.model,
        prompt_tokens=prompt_tokens,
        history_tokens=history_of(request, prompt_tokens, answered, principal.salt) if answered else 0,
        exact_tokens=exact,
        max_tokens=request.max_tokens,
        needs=needs_of(request, needs),
        stream=request.stream,
        tools=len(request.tools),
        images=images,
        user_turns=1 if request.asks != "chat" else of_users,
        tenant=principal.tenant,
        plan=principal.plan,
        headers={name: headers[name] for name in headers_read if name in headers} if headers_read else {},
        allowed_models=principal.models,
        choices=request.n,
        prefix=prefix,
        longest_tokens=0 if request.asks == "chat" else longest_of(request),
    )


PLAIN: frozenset[Ability] = frozenset()


def read_turns(messages: Sequence[Message]) -> tuple[int, int, int, frozenset[Ability]]:
    """How many are of users, how many up to the last answer, images, and abilities that are needed to read them: a history with
    tool turns needs the tool template."""
    of_users = answered = images = 0
    needs: list[Ability] = []
    for count, turn in enumerate(messages, 1):
        role = turn.role
        if role == "user":
            of_users += 1
        elif role == "assistant":
            answered = count
        if role == "tool" or turn.tool_calls:
            needs.append("tools")
        if turn.images or turn.files:
            images += turn.images
            needs.append("vision")
        if turn.audio:
            needs.append("audio")
    return of_users, answered, images, frozenset(needs) if needs else PLAIN


def longest_of(request: ChatRequest) -> int:
    """Of texts that stand for themselves, the longest; a lone one that is to be continued may be counted exactly."""
    if request.asks == "completions" and len(request.messages) == 1:
        return 0
    return max(estimate_tokens(turn.text.encode("utf-8", "replace")) + turn.tokens for turn in request.messages)


def history_of(request: ChatRequest, prompt_tokens: int, answered: int, salt: bytes) -> int:
    """Tokens up to the last answer, which whoever gave it has computed already; tools and system prompt among them."""
    return max(0, prompt_tokens - estimate_newest(request, answered, salt))


def needs_of(request: ChatRequest, of_turns: frozenset[Ability]) -> frozenset[Ability]:
    """Abilities without which a model would answer wrongly."""
    needs: list[Ability] = []
    if request.asks == "embeddings":
        needs.append("embeddings")
    if request.tools:
        needs.append("tools")
    if request.response_format is not None and request.response_format.get("type", "text") != "text":
        needs.append("json_schema")
    if request.sampling.logprobs:
        needs.append("logprobs")
    return of_turns.union(needs) if needs else of_turns


def question_of(request: ChatRequest) -> Question:
    """The user's own turns with text. System and developer prompts and tools are the same for every request of an
    agent; they would drown the signal."""
    turns: list[str] = []
    names: list[bytes] = []
    for place, turn in enumerate(request.messages):
        if turn.role == "user" and turn.text:
            turns.append(turn.text)
            names.append(imprint_of(request, place) if len(turn.text) > LONG_CHARS else b"")
    return Question(tuple(turns), tuple(names) if any(names) else ())
