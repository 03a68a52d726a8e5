"""Step 4: from a request to Facts and to the Question for the classifier. Counts text, and stores none in the facts."""

from collections.abc import Mapping

from backends.messages import ChatRequest
from backends.remote.prompt import estimate_newest, estimate_prompt, estimate_tokens
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
    return Facts(
        requested=request.model,
        prompt_tokens=prompt_tokens,
        history_tokens=history_of(request, prompt_tokens, principal.salt),
        exact_tokens={model: measured.tokens for model, measured in prepared.items() if measured.exact},
        max_tokens=request.max_tokens,
        needs=needs_of(request),
        stream=request.stream,
        tools=len(request.tools),
        images=sum([turn.images for turn in request.messages]),
        user_turns=1 if request.asks != "chat" else [turn.role for turn in request.messages].count("user"),
        tenant=principal.tenant,
        plan=principal.plan,
        headers={name: headers[name] for name in headers_read if name in headers},
        allowed_models=principal.models,
        choices=request.n,
        prefix=next((measured.blocks[0].hex() for measured in prepared.values() if measured.blocks), ""),
        longest_tokens=longest_of(request),
    )


def longest_of(request: ChatRequest) -> int:
    """Of texts that stand for themselves, the longest; a lone one that is to be continued may be counted exactly."""
    if request.asks == "chat" or (request.asks == "completions" and len(request.messages) == 1):
        return 0
    return max(estimate_tokens(turn.text.encode("utf-8", "replace")) + turn.tokens for turn in request.messages)


def history_of(request: ChatRequest, prompt_tokens: int, salt: bytes) -> int:
    """Tokens up to the last answer, which whoever gave it has computed already; tools and system prompt among them."""
    answers = [place for place, turn in enumerate(request.messages) if turn.role == "assistant"]
    if not answers:
        return 0
    return max(0, prompt_tokens - estimate_newest(request, answers[-1] + 1, salt))


def needs_of(request: ChatRequest) -> frozenset[Ability]:
    """Abilities without which a model would answer wrongly: a history with tool turns needs the tool template too."""
    needs: list[Ability] = []
    if request.asks == "embeddings":
        needs.append("embeddings")
    if request.tools:
        needs.append("tools")
    if request.response_format is not None and request.response_format.get("type", "text") != "text":
        needs.append("json_schema")
    if request.sampling.logprobs:
        needs.append("logprobs")
    for turn in request.messages:
        if turn.tool_calls or turn.role == "tool":
            needs.append("tools")
        if turn.images or turn.files:
            needs.append("vision")
        if turn.audio:
            needs.append("audio")
    return frozenset(needs)


def question_of(request: ChatRequest) -> Question:
    """The user's own turns with text. System and developer prompts and tools are the same for every request of an
    agent; they would drown the signal."""
    return Question(tuple(message.text for message in request.messages if message.role == "user" and message.text))
