"""What the bridge tells, a JSON object a line → what the agent does, and the facts it will be judged by."""

from holdfast.agents import wire
from holdfast.agents.acp_outcome import Facts, in_words, judged
from holdfast.agents.activity import Activity, Called, CallFailed, Said, SessionKnown, Waited
from holdfast.agents.base import Ending, Outcome
from holdfast.agents.plain import FINAL_BYTES
from holdfast.agents.recent import Recent
from holdfast.model.spent import NOTHING, Spent

_OVER = ("completed", "failed")


class AcpListener:
    plain = False

    def __init__(self, log_in: str, before: Spent = NOTHING) -> None:
        self._log_in, self._before = log_in, before
        self._facts = Facts()
        self._words = ""
        """Of the message that is being said: it comes in pieces."""
        self._message = ""
        """Its name, where it has one."""
        self._calls: dict[str, wire.Object] = {}
        self._shown: set[str] = set()
        self._recent = Recent()

    def heard(self, line: bytes) -> list[Activity]:
        event = wire.parsed(line)
        return self._recent.add(self._seen(event))

    def outcome(self, ending: Ending) -> Outcome:
        self._finish_message()
        outcome = judged(self._facts, ending, self._log_in)
        # The cost it tells is that of the whole conversation, the tokens are those of this turn.
        before = self._before if self._facts.resumed else NOTHING
        return outcome._replace(cost_usd=before.cost_since(outcome.cost_usd), tail=self._recent.tail())

    def _seen(self, event: wire.Object) -> list[Activity]:
        match event.get("event"):
            case "agent":
                self._facts = self._facts._replace(agent=wire.text(event, "name"))
            case "session":
                return self._session(event)
            case "update":
                return self._update(wire.inner(event, "update"))
            case "permission":
                return self._permission(wire.inner(event, "call"), event.get("allowed") is True)
            case "file" if refused := wire.text(event, "refused"):
                self._deny(f"write: {refused}")
            case "ended":
                return self._ended(event)
            case "error":
                self._facts = self._facts._replace(error=event)
                return self._finish_message()
            case "gone":
                self._facts = self._facts._replace(gone=event)
                return self._finish_message()
        return []

    def _session(self, event: wire.Object) -> list[Activity]:
        session = wire.text(event, "session")
        self._facts = self._facts._replace(session=session, resumed=event.get("resumed") is True)
        known: list[Activity] = [SessionKnown(session)] if session else []
        lost = wire.text(event, "lost")
        return [Waited("the conversation cannot be resumed; a new one begins"), *known] if lost else known

    def _update(self, update: wire.Object) -> list[Activity]:
        match update.get("sessionUpdate"):
            case "agent_message_chunk":
                return self._spoke(update)
            case "agent_thought_chunk" | "user_message_chunk":
                return self._finish_message()
            case "tool_call" | "tool_call_update":
                return [*self._finish_message(), *self._called(update)]
            case "usage_update":
                cost = wire.inner(update, "cost")
                if wire.text(cost, "currency").upper() == "USD":
                    self._facts = self._facts._replace(cost_usd=wire.number(cost, "amount"))
        return []

    def _spoke(self, chunk: wire.Object) -> list[Activity]:
        self._count(wire.inner(wire.inner(chunk, "_meta"), "usage"))
        message = wire.text(chunk, "messageId")
        seen = self._finish_message() if message != self._message else []
        self._message = message
        self._words = (self._words + wire.text(wire.inner(chunk, "content"), "text"))[-FINAL_BYTES:]
        return seen

    def _finish_message(self) -> list[Activity]:
        said, self._words = self._words, ""
        if not said.strip():
            return []
        self._facts = self._facts._replace(final=said.strip(), stuck=False)
        return [Said(said.strip("\n"))]

    def _called(self, update: wire.Object) -> list[Activity]:
        """A call may be told in several pieces; it is shown once it is known what it is about."""
        name = wire.text(update, "toolCallId")
        call = self._calls[name] = {**self._calls.get(name, {}), **update}
        status = wire.text(call, "status")
        seen: list[Activity] = []
        if name not in self._shown and status != "pending":
            self._shown.add(name)
            self._facts = self._facts._replace(stuck=False)
            seen.append(Called(*in_words(call)))
        if status in _OVER:
            del self._calls[name]
        if status == "failed" and not call.get("denied"):
            seen.append(CallFailed(in_words(call)[0], _said(update)))
        return seen

    def _permission(self, call: wire.Object, allow: bool) -> list[Activity]:
        seen = [*self._finish_message(), *self._called({**call, "status": "in_progress"})]
        if not allow:
            known = self._calls[wire.text(call, "toolCallId")]
            known["denied"] = True
            words = ": ".join(filter(None, in_words(known)))
            self._deny(words)
            seen.append(CallFailed(words, "not permitted"))
        return seen

    def _deny(self, words: str) -> None:
        self._facts = self._facts._replace(denied=(*self._facts.denied, words), stuck=True)

    def _ended(self, event: wire.Object) -> list[Activity]:
        seen = self._finish_message()
        self._facts = self._facts._replace(ended=event)
        if usage := wire.inner(event, "usage"):
            self._facts = self._facts._replace(tokens_in=0, tokens_out=0)
            self._count(usage)
        elif told := wire.inner(wire.inner(wire.inner(event, "_meta"), "quota"), "token_count"):  # gemini
            read, written = wire.count(told, "input_tokens"), wire.count(told, "output_tokens")
            self._facts = self._facts._replace(tokens_in=read, tokens_out=written)
        return seen

    def _count(self, usage: wire.Object) -> None:
        """With what came from a cache, which some tell apart and all tell in the total."""
        written, thought = wire.count(usage, "outputTokens"), wire.count(usage, "thoughtTokens")
        read = max(wire.count(usage, "inputTokens"), wire.count(usage, "totalTokens") - written - thought)
        self._facts = self._facts._replace(
            tokens_in=self._facts.tokens_in + read, tokens_out=self._facts.tokens_out + written
        )


def _said(update: wire.Object) -> str:
    """What the tool said, where it said something."""
    blocks = [wire.inner(item, "content") for item in wire.items(update, "content")]
    return " ".join(wire.text(block, "text") for block in blocks).strip()
