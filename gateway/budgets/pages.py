"""Every account that this process remembers, by a key that all gateways have for it; bounded."""

from dataclasses import dataclass

from gateway.budgets.accounts import Whose
from policies.budgets.account import Account, at
from policies.budgets.period import began_at, ends_at
from policies.budgets.plan import Budget

MOST_ACCOUNTS = 100_000
"""About 30 MB. Whoever comes beyond them is charged to an account that all such have together, for each tenant: who could push
accounts out by making up users would be rid of what they have spent."""

BETWEEN_LOOKS_S = 10.0
"""Full, it is looked through for what is over no more often than this."""


@dataclass(slots=True)
class Page:
    """An account, of which budget, and when its period ends; 0 where it flows. `asked` is what the store is being asked for."""

    budget: Budget
    account: Account
    ends_at: float
    asked: int = 0

    def is_over(self, now: float) -> bool:
        """Whether nothing need be remembered of it."""
        if self.ends_at:
            return self.ends_at <= now
        return at(self.account, self.budget, now).is_whole


class Pages:
    def __init__(self, most: int = MOST_ACCOUNTS) -> None:
        self._most = most
        self._pages: dict[str, Page] = {}
        self._looked_at = 0.0

    def __len__(self) -> int:
        return len(self._pages)

    def page(self, budget: Budget, whose: Whose, now: float, gateways: int = 1) -> tuple[str, Page]:
        """The account as it stands now, with its key. An account of an hour, a day or a month is another one in the next."""
        head = f"{budget.name}:{budget.unit}:{budget.period}:{began_at(budget.period, now)}"
        key = f"{head}:{whose.own}"
        if key not in self._pages and self._is_full(now):
            key = f"{head}:of:{whose.tenants}"
        page = self._pages.get(key)
        if page is None:
            ends = 0.0 if budget.flow else float(ends_at(budget.period, now))
            page = self._pages[key] = Page(budget, Account(now), ends)
        page.budget, page.account = budget, at(page.account, budget, now, gateways)
        return key, page

    def _is_full(self, now: float) -> bool:
        if len(self._pages) >= self._most and now - self._looked_at >= BETWEEN_LOOKS_S:
            self._looked_at = now
            for key in [key for key, page in self._pages.items() if page.is_over(now)]:
                del self._pages[key]
        return len(self._pages) >= self._most
