"""Acceptance criteria: what the agent says about each. Its "not met" counts, its "met" is only its word."""

from holdfast.agents.base import Outcome
from holdfast.agents.tags import Reported
from holdfast.engine.agent_run import Try
from holdfast.engine.commit import Rejected
from holdfast.engine.site import Site
from holdfast.model.events import CriterionReported


def hear_criteria(site: Site, this: Try, outcome: Outcome) -> None:
    """Told to the journal, one by one; Rejected when one is not met."""
    said = {reported.number: reported for reported in outcome.criteria}
    unmet = []
    for number, criterion in enumerate(this.task.acceptance, start=1):
        reported = said.get(number)
        note = reported.note if reported else ""
        site.record(CriterionReported(this.task.id, this.number, criterion, _verdict(reported), note))
        if reported and not reported.met:
            unmet.append(f"{criterion}: {note}" if note else criterion)
    if unmet:
        listed = "\n".join(f"- {each}" for each in unmet)
        raise Rejected(
            f"not every acceptance criterion is met: {unmet[0]}",
            f"You said that these acceptance criteria are not met:\n{listed}",
        )


def _verdict(reported: Reported | None) -> str:
    if reported is None:
        return "not said"
    return "met" if reported.met else "not met"
