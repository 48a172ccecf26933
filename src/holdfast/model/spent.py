"""What agents have used up: added up per attempt, conversation, task and run."""

from typing import NamedTuple


class Spent(NamedTuple):
    cost_usd: float | None = None
    """None as long as no agent has told a cost."""
    tokens_in: int = 0
    tokens_out: int = 0

    def __bool__(self) -> bool:
        return self != NOTHING

    def plus(self, cost_usd: float | None, tokens_in: int, tokens_out: int) -> "Spent":
        known = [cost for cost in (self.cost_usd, cost_usd) if cost is not None]
        cost = sum(known) if known else None
        return Spent(cost, self.tokens_in + tokens_in, self.tokens_out + tokens_out)

    def cost_since(self, total: float | None) -> float | None:
        """What came on top, of a total that begins at 0 again after some kills."""
        before = self.cost_usd or 0.0
        return total if total is None or total < before else total - before

    def tokens_since(self, tokens_in: int, tokens_out: int) -> tuple[int, int]:
        if tokens_in < self.tokens_in or tokens_out < self.tokens_out:
            return tokens_in, tokens_out
        return tokens_in - self.tokens_in, tokens_out - self.tokens_out


NOTHING = Spent()
