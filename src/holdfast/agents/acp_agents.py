"""The agents known by name that speak ACP: how each is started, and how it is made to ask."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from holdfast.agents.acp_permission import Mode

_NOTHING: Mapping[str, str] = MappingProxyType({})
_OPENCODE_LOOKS = '"read":"allow","glob":"allow","grep":"allow","list":"allow"'


class Profile(NamedTuple):
    argv: tuple[str, ...]
    install: str
    log_in: str
    model_flag: str = ""
    """"" where the model is chosen in the protocol's own way."""
    reads: bool = True
    """It may read files through us; without that goose has no tool to read with."""
    environment: Mapping[str, str] = _NOTHING
    confining: Mapping[Mode, Mapping[str, str]] = MappingProxyType({})
    """Added in a mode, for one that would otherwise use its tools without asking."""
    asking: tuple[str, ...] = ()
    """Arguments for every mode but `everything`: it asks, whatever the user's settings let it do unasked."""

    def program(self, mode: Mode, model: str) -> tuple[str, ...]:
        chosen = (self.model_flag, model) if self.model_flag and model else ()
        return (*self.argv, *(() if mode is Mode.EVERYTHING else self.asking), *chosen)

    def surroundings(self, mode: Mode) -> dict[str, str]:
        return {**self.environment, **self.confining.get(mode, _NOTHING)}


PROFILES: Mapping[str, Profile] = MappingProxyType(
    {
        "gemini": Profile(
            ("gemini", "--acp"),
            install="npm install -g @google/gemini-cli, then start gemini once and log in",
            log_in="start gemini once and log in (or set GEMINI_API_KEY)",
            model_flag="--model",
            reads=False,  # it takes "there is no such file", which every new file begins with, for a failure
            environment={"GEMINI_CLI_NO_RELAUNCH": "true"},
            asking=("--approval-mode", "default"),
        ),
        "opencode": Profile(
            ("opencode", "acp"),
            install="npm install -g opencode-ai, then log in: opencode auth login",
            log_in="opencode auth login",
            # Rules and not questions: it ends its turn at the first "no".
            confining={
                Mode.READ_ONLY: {"OPENCODE_PERMISSION": f'{{"*":"deny",{_OPENCODE_LOOKS}}}'},
                Mode.EDITS: {"OPENCODE_PERMISSION": f'{{"*":"deny",{_OPENCODE_LOOKS},"edit":"allow"}}'},
            },
        ),
        "goose": Profile(
            ("goose", "acp"),
            install="npm install -g @aaif/goose-acp, then choose a provider and log in: goose configure",
            log_in="goose configure (or set the key of your provider) to log in",
            confining={mode: {"GOOSE_MODE": "approve"} for mode in (Mode.READ_ONLY, Mode.EDITS)},
        ),
        "qwen": Profile(
            ("qwen", "--acp"),
            install="npm install -g @qwen-code/qwen-code, then start qwen once and log in",
            log_in="start qwen once and log in (or set OPENAI_API_KEY)",
            model_flag="--model",
            environment={"QWEN_CODE_NO_RELAUNCH": "true"},
            asking=("--approval-mode", "default"),
        ),
        "copilot": Profile(
            ("copilot", "--acp"),
            install="npm install -g @github/copilot, then log in: copilot login",
            log_in="copilot login",
            model_flag="--model",
        ),
    }
)


def other(words: tuple[str, ...]) -> Profile:
    """Any other program that speaks ACP, as the user gave it."""
    return Profile(
        words,
        install=f"install {words[0]}, or check what follows acp:",
        log_in=f"log in with {words[0]} in its own way",
    )
