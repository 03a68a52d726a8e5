"""What escalating has come to on each route since this process began. The judgement is the ledger's."""

import logging
from collections.abc import Mapping

from policies.escalate import ledger
from policies.escalate.ledger import Ledger
from policies.escalate.plan import Escalation

log = logging.getLogger("turnout.escalate")


class Escalations:
    """One ledger for each route. A reload keeps them: the traffic is the same."""

    def __init__(self) -> None:
        self._ledgers: dict[str, Ledger] = {}

    def of(self, route: str) -> Ledger:
        return self._ledgers.get(route) or Ledger()

    def off(self) -> Mapping[str, str]:
        """The routes that are left alone for a while, and why."""
        ledgers = self._ledgers
        return {route: kept.why_off for route, kept in ledgers.items() if kept.is_off} if ledgers else {}

    def asked(self, route: str, plan: Escalation) -> None:
        """One more request on a route that escalates."""
        self._ledgers[route] = ledger.asked(self.of(route), plan.at_most)

    def take(self, route: str) -> bool:
        """Take one escalation from the route's share; False when it is spent."""
        if not ledger.may_escalate(self.of(route)):
            return False
        self._ledgers[route] = ledger.escalated(self.of(route))
        return True

    def learnt(self, route: str, *, gained: bool) -> None:
        self._change(route, ledger.learnt(self.of(route), gained=gained))

    def paid(self, route: str, *, spent: int, alone: int) -> None:
        self._change(route, ledger.paid(self.of(route), spent=spent, alone=alone))

    def _change(self, route: str, after: Ledger) -> None:
        if after.is_off and not self.of(route).is_off:
            log.warning(
                "route %s: escalation pauses for %d requests, it does not pay: %s", route, after.pause, after.why_off
            )
        self._ledgers[route] = after
