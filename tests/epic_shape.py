"""What a version 1 state file of an epic looks like, written down apart from the code that writes it."""

import json
from typing import Any

ON_ITS_WAY = ["PENDING", "READY", "BRANCH_CREATED", "IN_PROGRESS", "AWAITING_VALIDATION"]
TICKET_STATES = [*ON_ITS_WAY, "COMPLETED", "FAILED", "BLOCKED"]
EPIC_STATES = ["INITIALIZING", "EXECUTING", "MERGING", "FINALIZED", "FAILED", "ROLLED_BACK"]
EPIC_KEYS = ["schema_version", "epic_id", "epic_branch", "baseline_commit", "epic_state", "tickets"]
DESCRIBED = ["id", "path", "title", "depends_on", "critical"]
HAPPENED = ["state", "git_info", "test_suite_status", "acceptance_criteria"]
TEXT_OR_NULL = ["failure_reason", "blocking_dependency", "started_at", "completed_at"]
TICKET_KEYS = [*DESCRIBED, *HAPPENED, *TEXT_OR_NULL]


def state_in(data: bytes) -> dict[str, Any]:
    """The file's content, when it has the shape; unknown keys may follow the known ones."""
    text = data.decode("utf-8-sig")
    found: dict[str, Any] = json.loads(text)
    assert text.startswith(('{\n  "schema_version": 1,', '{\r\n  "schema_version": 1,'))
    assert list(found)[: len(EPIC_KEYS)] == EPIC_KEYS
    assert found["schema_version"] == 1
    assert found["epic_state"] in EPIC_STATES
    for name, ticket in found["tickets"].items():
        _check_ticket(name, ticket)
    at_work = [ticket for ticket in found["tickets"].values() if ticket["state"] == "IN_PROGRESS"]
    assert len(at_work) <= 1
    return found


def _check_ticket(name: str, ticket: dict[str, Any]) -> None:
    assert list(ticket)[: len(TICKET_KEYS)] == TICKET_KEYS
    assert ticket["id"] == name
    assert ticket["state"] in TICKET_STATES
    assert isinstance(ticket["path"], str) and isinstance(ticket["title"], str)
    assert isinstance(ticket["depends_on"], list) and isinstance(ticket["critical"], bool)
    assert all(ticket[key] is None or isinstance(ticket[key], str) for key in TEXT_OR_NULL)
    for criterion in ticket["acceptance_criteria"]:
        assert list(criterion) == ["criterion", "met"]
        assert isinstance(criterion["met"], bool)
    if ticket["git_info"] is not None:
        assert list(ticket["git_info"])[:3] == ["branch_name", "base_commit", "final_commit"]
        assert ticket["git_info"]["branch_name"] == f"ticket/{name}"
