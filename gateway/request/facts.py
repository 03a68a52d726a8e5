"""Step 4: from a request to Facts and to the Question for the classifier. Counts text, and stores none in the facts."""

from collections.abc import Iterator, Mapping, Sequence

from backends.measures import LONG_CHARS
from backends.messages import ChatRequest, Message, Thinking
from backends.remote.prompt import estimate_newest, estimate_prompt, estimate_tokens, imprint_of
from backends.upstream import Prepared
from classifiers.question import Question
from gateway.request.identity import Principal
from policies.facts import Ability, Facts, ThinkingAsked


def facts_of(
    request: ChatRequest,
    principal: Principal,
    headers: Mapping[str, str],
    headers_read: frozenset[str],
    prepared: Mapping[str, Prepared],
) -> Facts:
    measures, salt, is_chat = request.measures, principal.salt, request.asks == "chat"
    prompt_tokens = estimate_prompt(request, salt) if measures.tokens is None else measures.tokens
    exact, prefix = {}, ""
    for model, measured in prepared.items():
        if measured.exact:
            exact[model] = measured.tokens
        if measured.blocks and not prefix:
            prefix = measured.blocks[0].hex()
    return Facts(
        requested=request.model,
        prompt_tokens=prompt_tokens,
        history_tokens=history_of(request, prompt_tokens, salt) if measures.answered else 0,
        exact_tokens=exact,
        max_tokens=request.max_tokens,
        needs=needs_of(request),
        stream=request.stream,
        tools=len(request.tools),
        images=0 if measures.is_plain else sum([turn.images for turn in request.messages]),
        user_turns=measures.of_users if is_chat else 1,
        tenant=principal.tenant,
        plan=principal.plan,
        headers={name: headers[name] for name in headers_read if name in headers} if headers_read else {},
        allowed_models=principal.models,
        choices=request.n,
        prefix=prefix,
        longest_tokens=0 if is_chat else longest_of(request),
        thinking="" if request.thinking is None else asked_of(request.thinking),
    )


def asked_of(thinking: Thinking) -> ThinkingAsked:
    """A word goes before a number, of which servers know the word alone."""
    return "" if not thinking.is_wanted else "words" if thinking.effort else "tokens"


PLAIN: frozenset[Ability] = frozenset()


def longest_of(request: ChatRequest) -> int:
    """Of texts that stand for themselves, the longest; a lone one that is to be continued may be counted exactly."""
    if request.asks == "completions" and len(request.messages) == 1:
        return 0
    return max(estimate_tokens(turn.text.encode("utf-8", "replace")) + turn.tokens for turn in request.messages)


def history_of(request: ChatRequest, prompt_tokens: int, salt: bytes) -> int:
    """Tokens up to the last answer, which whoever gave it has computed already; tools and system prompt among them."""
    return max(0, prompt_tokens - estimate_newest(request, request.measures.answered, salt))


def needs_of(request: ChatRequest) -> frozenset[Ability]:
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
    if not request.measures.is_plain:
        needs += needs_in(request.messages)
    return frozenset(needs) if needs else PLAIN


def needs_in(messages: Sequence[Message]) -> Iterator[Ability]:
    """Those that are needed to read the turns: a history with tool turns needs the tool template."""
    for turn in messages:
        if turn.role == "tool" or turn.tool_calls:
            yield "tools"
        if turn.images or turn.files:
            yield "vision"
        if turn.audio:
            yield "audio"


def question_of(request: ChatRequest) -> Question:
    """The user's own turns with text. System and developer prompts and tools are the same for every request of an
    agent; they would drown the signal."""
    measures = request.measures
    if measures.longest <= LONG_CHARS:
        return Question(tuple(measures.asked))
    places = [place for place, turn in enumerate(request.messages) if turn.role == "user" and turn.text]
    names = [imprint_of(request, at) if len(measures.texts[at]) > LONG_CHARS else b"" for at in places]
    return Question(tuple(measures.asked), tuple(names) if any(names) else ())
