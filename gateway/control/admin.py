"""The admin API: how experiments and rollouts stand, and a person's word on them. It has a listener and a key of its own.

GET /admin/experiments[/NAME], POST /admin/experiments/NAME/stop|promote; GET /admin/rollouts[/NAME],
POST /admin/rollouts/NAME/approve|abort|resume. Nothing is told to who does not have the key, not even what there is.
"""

import asyncio
import hmac
from collections.abc import Mapping
from hashlib import sha256

import msgspec

from gateway.control.admin_orders import Asked, Wanted, order_of
from gateway.errors import (
    AdminKeyRefused,
    BadRequest,
    Internal,
    Left,
    MethodNotAllowed,
    NotFound,
    RouterError,
    Unavailable,
)
from gateway.experiments.chapter import Chapter
from gateway.experiments.keeper import Keeper
from gateway.experiments.telling import ToldExperiment, ToldRollout, told_experiment, told_rollout
from gateway.request.client import client_of
from gateway.request.identity import presented_key
from gateway.request.ingress import Receive, Scope, Send, read_body, refuse_deep, refuse_early
from gateway.request.reply import one_line, send_error, send_whole
from gateway.request.snapshot import Clock
from gateway.request.whose import PLAIN
from gateway.settings import Limits

NO_CACHE = {"cache-control": "no-store"}

ROOT = "/admin/"

LONGEST_BODY = 4_096
DEEPEST = 4

ACTIONS: Mapping[str, tuple[str, ...]] = {
    "experiments": ("stop", "promote"),
    "rollouts": ("approve", "abort", "resume"),
}
"""What can be ordered of each kind."""


class Admin:
    """The ASGI application. `key_hash` is the SHA-256 of the key, in hex."""

    def __init__(self, keeper: Keeper, key_hash: str, limits: Limits, now: Clock) -> None:
        self._keeper = keeper
        self._digest = bytes.fromhex(key_hash)
        self._limits = limits.model_copy(update={"body_bytes": LONGEST_BODY, "json_depth": DEEPEST})
        self._now = now

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await send_whole(send, 200, await self._answer(scope, receive), NO_CACHE)
        except Left:
            return
        except RouterError as error:
            await send_error(send, error, NO_CACHE, PLAIN)
        except Exception:
            broken = Internal("Something broke here; the process's log says what.")
            await send_error(send, broken, NO_CACHE, PLAIN)
            raise

    async def _answer(self, scope: Scope, receive: Receive) -> bytes:
        """Raises RouterError."""
        head = client_of(scope).head
        refuse_early(head, self._limits)
        self._refuse_strangers(head.headers)
        kind, _, rest = scope["path"].removeprefix(ROOT).rstrip("/").partition("/")
        if not scope["path"].startswith(ROOT) or kind not in ACTIONS:
            raise NotFound(f"There is nothing here; ask {' or '.join(ROOT + known for known in ACTIONS)}.")
        if scope["method"] == "GET":
            return await self._told(kind, rest)
        if scope["method"] == "POST":
            return await self._obeyed(kind, rest, await read_body(receive, self._limits))
        raise MethodNotAllowed("Use GET, POST here.", headers={"allow": "GET, POST"})

    def _refuse_strangers(self, headers: Mapping[str, str]) -> None:
        """Raises AdminKeyRefused. Digests are compared, in constant time: the key itself is nowhere."""
        presented = sha256(presented_key(headers).encode("latin-1")).digest()
        if not hmac.compare_digest(presented, self._digest):
            raise AdminKeyRefused("The admin key is missing or wrong.")

    async def _told(self, kind: str, name: str) -> bytes:
        chapters = self._of(kind)
        if name:
            return await self._as_told(kind, found(chapters, kind, name))
        told = await asyncio.to_thread(lambda: [self._tell(kind, chapter) for chapter in chapters.values()])
        return msgspec.json.encode({kind: told})

    async def _obeyed(self, kind: str, rest: str, body: bytes) -> bytes:
        name, _, action = rest.rpartition("/")
        if not name or action not in ACTIONS[kind]:
            ways = ", ".join(f"POST {ROOT}{kind}/NAME/{known}" for known in ACTIONS[kind])
            raise NotFound(f"There is no such order; there are {ways}.")
        chapter, now = found(self._of(kind), kind, name), self._now()
        order = order_of(chapter, Asked(action, self._wanted(body), now))
        try:
            after = await self._keeper.obey(name, order)
        except TimeoutError:
            raise Unavailable(
                "The order was not taken within its time; look how it stands before giving it again."
            ) from None
        return await self._as_told(kind, after or chapter)

    def _wanted(self, body: bytes) -> Wanted:
        refuse_deep(body, self._limits.json_depth)
        try:
            return msgspec.json.decode(body, type=Wanted) if body.strip() else Wanted()
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise BadRequest(f"The body can say which variant is promoted, and nothing else: {error}.") from None

    def _of(self, kind: str) -> Mapping[str, Chapter]:
        is_rollout = kind == "rollouts"
        known = self._keeper.chapters
        return {name: chapter for name, chapter in known.items() if bool(chapter.experiment.steps) == is_rollout}

    async def _as_told(self, kind: str, chapter: Chapter) -> bytes:
        return msgspec.json.encode(await asyncio.to_thread(self._tell, kind, chapter))

    def _tell(self, kind: str, chapter: Chapter) -> ToldExperiment | ToldRollout:
        return told_rollout(chapter, self._now()) if kind == "rollouts" else told_experiment(chapter)


def found(chapters: Mapping[str, Chapter], kind: str, name: str) -> Chapter:
    """Raises NotFound."""
    if name not in chapters:
        known = ", ".join(chapters) or "none"
        raise NotFound(
            f"There is nothing called {one_line(name[:128])} among the {kind} of this policy, which are: {known}."
        )
    return chapters[name]
