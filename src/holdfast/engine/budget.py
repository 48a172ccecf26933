"""What the agents of a run have used, and the cap that ends it."""

from holdfast.engine.site import Site
from holdfast.errors import LimitReached
from holdfast.model.events import AgentEnded, Event, ReviewEnded
from holdfast.model.spent import Spent


class Ledger:
    """Goes on from what earlier starts of the same run have used."""

    def __init__(self, before: Spent) -> None:
        self._spent = before

    def hear(self, event: Event) -> None:
        if isinstance(event, AgentEnded | ReviewEnded):
            self._spent = self._spent.plus(event.cost_usd, event.tokens_in, event.tokens_out)

    def spent(self) -> Spent:
        return self._spent


def stop_at_cap(site: Site) -> None:
    """Before an agent is started; one that is at work is not ended for its price."""
    cap, spent = site.policy.max_cost, site.spent().cost_usd or 0.0
    if not cap or spent < cap:
        return
    raise LimitReached(
        f"${spent:.4f} was spent on this plan, and max_cost is ${cap:g}",
        fix=f"what is done is committed. To go on, allow more: --max-cost {2 * cap:g}",
    )
