import os
from pathlib import Path

import pytest

from holdfast.cli.init import toml
from holdfast.config import Config, load_config
from holdfast.errors import ConfigError
from holdfast.model.fitting import expected
from holdfast.model.policy import Commits, OnInterrupt, Policy
from holdfast.model.settings import SETTINGS, Setting, Value

DOCUMENT = Path(__file__).parents[1] / "docs" / "CONFIGURATION.md"


def project(root: Path, text: str, name: str = "holdfast.toml") -> Path:
    (root / name).write_text(text, encoding="utf-8")
    return root


def user_environment(home: Path, text: str) -> dict[str, str]:
    file = home / "holdfast" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text(text, encoding="utf-8")
    return {"XDG_CONFIG_HOME": str(home)}


def load(root: Path, environ: dict[str, str] | None = None, **flags: object) -> Config:
    return load_config(str(root), environ or {}, flags)


def refusal(root: Path, environ: dict[str, str] | None = None, **flags: object) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        load(root, environ, **flags)
    return caught.value


def test_without_any_file_the_defaults_hold(tmp_path: Path) -> None:
    config = load(tmp_path)
    assert config.policy == Policy()
    assert (config.agent, config.agent_cmd, config.script) == ("command", "", "")
    assert set(config.origin.values()) == {"default"}


def test_each_source_wins_over_the_ones_below_it(tmp_path: Path) -> None:
    project(tmp_path, "max_attempts = 6\ntask_timeout = 60\nidle_timeout = 60\n")
    user = "max_attempts = 5\ntask_timeout = 50\nidle_timeout = 50\nextra_prompt = 'user'\n"
    environ = user_environment(tmp_path / "home", user)
    environ |= {"HOLDFAST_MAX_ATTEMPTS": "7", "HOLDFAST_TASK_TIMEOUT": "70"}
    preset: dict[str, Value] = {"max_attempts": 4, "extra_prompt": "preset", "hooks.timeout": 40.0}
    config = load_config(str(tmp_path), environ, {"max_attempts": 8}, preset)
    policy = config.policy
    assert (policy.max_attempts, policy.task_timeout, policy.idle_timeout) == (8, 70.0, 60.0)
    assert (policy.extra_prompt, policy.hook_timeout, policy.gate_timeout) == ("user", 40.0, 900.0)
    assert config.origin["max_attempts"] == "flag --max-attempts"
    assert config.origin["task_timeout"] == "HOLDFAST_TASK_TIMEOUT"
    assert config.origin["idle_timeout"] == "holdfast.toml:3"
    assert config.origin["extra_prompt"] == f"{tmp_path}/home/holdfast/config.toml:4"
    assert config.origin["hooks.timeout"] == "plan dialect"
    assert config.origin["verify.timeout"] == "default"


def test_tables_fill_their_policies(tmp_path: Path) -> None:
    text = "[verify]\ncommands = ['make test', 'make lint']\nplan = false\nevidence = true\n"
    text += "timeout = 12.5\nrequire_change = false\n[hooks]\ntimeout = 7\n"
    policy = load(project(tmp_path, text)).policy
    assert policy.verify == ("make test", "make lint")
    assert (policy.use_plan_verify, policy.use_evidence, policy.require_change) == (False, True, False)
    assert (policy.gate_timeout, policy.hook_timeout) == (12.5, 7.0)


def test_pyproject_holds_the_settings_too(tmp_path: Path) -> None:
    text = "[project]\nname = 'x'\n\n[tool.holdfast]\nmax_attempts = 9\n[tool.holdfast.verify]\ntimeout = 5\n"
    config = load(project(tmp_path, text, "pyproject.toml"))
    assert config.policy.max_attempts == 9
    assert config.origin["max_attempts"] == "pyproject.toml:5"
    assert config.origin["verify.timeout"] == "pyproject.toml:7"


def test_a_pyproject_about_other_things_is_left_alone(tmp_path: Path) -> None:
    project(tmp_path, "this is no TOML at all", "pyproject.toml")
    assert load(tmp_path).policy == Policy()
    project(tmp_path, "[project]\nname = 'holdfast-fan'\n[tool.other]\nx = 1\n", "pyproject.toml")
    assert load(tmp_path).policy == Policy()


def test_two_project_files_are_refused_with_the_one_to_remove(tmp_path: Path) -> None:
    project(tmp_path, "")
    error = refusal(project(tmp_path, "[tool.holdfast]\n", "pyproject.toml"))
    assert "both holdfast.toml and [tool.holdfast] in pyproject.toml" in error.message
    assert "remove that table" in error.fix


def test_user_file_defaults_to_dot_config_in_home(tmp_path: Path) -> None:
    user_environment(tmp_path / ".config", "max_attempts = 2\n")
    assert load(tmp_path / "x", {"HOME": str(tmp_path)}).policy.max_attempts == 2
    assert load(tmp_path / "x", {"HOME": str(tmp_path), "XDG_CONFIG_HOME": "rel"}).policy.max_attempts == 2


@pytest.mark.parametrize(
    ("text", "message", "fix"),
    [
        ("\nmax_atempts = 1\n", "holdfast.toml:2: there is no setting `max_atempts`", "`max_attempts`"),
        (
            "[verify]\ncommand = []\n",
            "holdfast.toml:2: there is no setting `verify.command`",
            "`commands` in [verify]",
        ),
        ("[verify]\nmax_attempts = 1\n", "holdfast.toml:2", "`max_attempts`, above the first [table]"),
        ("[verfy]\n", "holdfast.toml:1: there is no setting `verfy`", "[verify]"),
        ("verify = 'make'\n", "holdfast.toml:1: verify is a table", "[verify]"),
        ("zzz = 1\n", "there is no setting `zzz`", "the settings are: agent, agent_cmd,"),
        ("max_attempts = '3'\n", 'holdfast.toml:1: max_attempts is "3"', "a whole number from 1 to 100"),
        ("max_attempts = 0\n", "max_attempts is 0", "from 1 to 100"),
        ("max_attempts = 1.5\n", "max_attempts is 1.5", "a whole number"),
        ("max_attempts = true\n", "max_attempts is true", "a whole number"),
        ("task_timeout = inf\n", "task_timeout is inf", "seconds, a number from 1 to 604800"),
        ("idle_timeout = nan\n", "idle_timeout is nan", "seconds"),
        ("agent = 'clade'\n", 'agent is "clade"', 'it takes "claude" or "codex" or "gemini" or'),
        ("agent_cmd = ['x']\n", 'agent_cmd is a list: "x"', "text"),
        ('agent_cmd = "a\\u0000b"\n', "agent_cmd is", "text"),
        ("[verify]\ncommands = 'make'\n", 'verify.commands is "make"', "a list of commands"),
        ("[verify]\ncommands = ['']\n", "verify.commands is a list", "a list of commands"),
        ("agent_args = '--flag'\n", 'agent_args is "--flag"', "a list of words"),
        ("agent_env = ['PATH']\n", 'agent_env is a list: "PATH"', "a list of variables"),
        ("[verify]\nplan = 1\n", "holdfast.toml:2: verify.plan is 1", "true or false"),
        ("agent = {}\n", "agent is a table", '"command" or "scripted"'),
        ("max_attempts = 1\nagent = = 2\n", "holdfast.toml:2: not valid TOML: ", "correct that line"),
        ("agent = 'x", "not valid TOML", "correct"),
    ],
)
def test_a_mistake_in_a_file_is_named_with_its_place_and_its_cure(
    tmp_path: Path, text: str, message: str, fix: str
) -> None:
    error = refusal(project(tmp_path, text))
    assert message in error.message
    assert error.message.startswith("holdfast.toml")
    assert fix in error.fix and error.fix
    assert error.exit_code == 2


def test_a_file_that_cannot_be_read_as_text_is_named(tmp_path: Path) -> None:
    (tmp_path / "holdfast.toml").write_bytes(b"# fine\nagent_cmd = '\xff'\n")
    assert refusal(tmp_path).message == "holdfast.toml:2: not UTF-8 text"
    (tmp_path / "holdfast.toml").unlink()
    (tmp_path / "holdfast.toml").mkdir()
    assert refusal(tmp_path).message == "holdfast.toml: cannot be read: Is a directory"


def test_byte_order_mark_and_windows_line_ends_are_fine(tmp_path: Path) -> None:
    (tmp_path / "holdfast.toml").write_bytes(b"\xef\xbb\xbfmax_attempts = 2\r\n[hooks]\r\ntimeout = 3\r\n")
    config = load(tmp_path)
    assert (config.policy.max_attempts, config.policy.hook_timeout) == (2, 3.0)
    assert (config.origin["max_attempts"], config.origin["hooks.timeout"]) == (
        "holdfast.toml:1",
        "holdfast.toml:3",
    )


def test_no_line_is_named_when_two_could_be_meant(tmp_path: Path) -> None:
    text = 'extra_prompt = """\nmax_attempts = 1\n"""\nmax_attempts = 2\n'
    config = load(project(tmp_path, text))
    assert config.policy.max_attempts == 2
    assert config.origin["max_attempts"] == "holdfast.toml"


def test_inline_tables_and_dotted_keys_count(tmp_path: Path) -> None:
    config = load(project(tmp_path, "hooks = { timeout = 4 }\nverify.timeout = 5\n"))
    assert (config.policy.hook_timeout, config.policy.gate_timeout) == (4.0, 5.0)
    assert (config.origin["hooks.timeout"], config.origin["verify.timeout"]) == (
        "holdfast.toml",
        "holdfast.toml:2",
    )


def test_every_setting_can_come_from_the_environment(tmp_path: Path) -> None:
    values = {
        "choice": "scripted",
        "path": "/s",
        "text": "t",
        "count": "9",
        "seconds": "9",
        "dollars": "9",
        "commands": "a\n\n b \n",
        "words": "--flag 'two words'",
        "variables": "A=1\nB=x=y\n",
    }
    environ = {s.env: values.get(s.kind, "off" if s.default else "on") for s in SETTINGS}
    environ |= {"HOLDFAST_ON_INTERRUPT": "rollback", "HOLDFAST_COMMITS": "agent"}
    environ |= {"HOLDFAST_ON_FAILURE": "continue", "HOLDFAST_MODE": "trunk", "HOLDFAST_ORDER": "phases"}
    environ |= {"HOLDFAST_REVIEW_AGENT": "codex", "HOLDFAST_EXISTING_BUILD": "ask"}
    config = load(tmp_path, environ)
    assert config[:3] == ("scripted", "t", "/s")
    assert config.agent_args == ("--flag", "two words")
    assert config.policy.verify == ("a", "b")
    assert config.policy.added_environment == {"A": "1", "B": "x=y"}
    assert config.policy.on_interrupt is OnInterrupt.ROLLBACK
    assert config.policy.commits is Commits.AGENT
    assert (config.policy.use_plan_verify, config.policy.use_evidence) == (False, True)
    assert config.origin == {s.key: s.env for s in SETTINGS}


def test_variables_meant_for_the_agent_configure_nothing(tmp_path: Path) -> None:
    names = ("TASK_ID", "TASK_TITLE", "ATTEMPT", "PLAN", "RUN", "PROMPT_FILE", "TOKEN", "FAULT", "FAULT_AT")
    assert load(tmp_path, {f"HOLDFAST_{name}": "x" for name in names}) == load(tmp_path)


def test_a_flag_for_claude_or_codex_is_refused_where_another_agent_is_meant(tmp_path: Path) -> None:
    error = refusal(tmp_path, agent_cmd="cat", model="opus")
    assert error.message == "--model means nothing to the agent command"
    project(tmp_path, "agent = 'claude'\nmodel = 'opus'\nagent_args = ['--max-turns', '5']\n")
    assert load(tmp_path).agent_in_words == "claude, model opus, --max-turns 5"
    assert load(tmp_path, agent_cmd="cat").agent_in_words == "cat"


def test_any_program_that_speaks_acp_may_be_the_agent(tmp_path: Path) -> None:
    assert load(tmp_path, agent="acp:my-agent --acp", model="big").agent == "acp:my-agent --acp"
    assert 'or "acp:…"' in refusal(tmp_path, agent="acp:").fix
    assert (
        refusal(tmp_path, agent="acp:x", max_turns="3").message
        == "--max-turns means nothing to the agent acp:x"
    )


def test_an_empty_variable_counts_as_unset(tmp_path: Path) -> None:
    assert load(tmp_path, {"HOLDFAST_MAX_ATTEMPTS": ""}) == load(tmp_path)


def test_a_misspelt_variable_is_an_error_not_a_silent_nothing(tmp_path: Path) -> None:
    error = refusal(tmp_path, {"HOLDFAST_MAX_ATEMPTS": "3"})
    assert "HOLDFAST_MAX_ATEMPTS" in error.message
    assert "HOLDFAST_MAX_ATTEMPTS" in error.fix


@pytest.mark.parametrize(
    ("name", "text"), [("MAX_ATTEMPTS", "many"), ("VERIFY_PLAN", "maybe"), ("AGENT", "x")]
)
def test_a_variable_with_a_bad_value_is_named(tmp_path: Path, name: str, text: str) -> None:
    error = refusal(tmp_path, {f"HOLDFAST_{name}": text})
    assert error.message == f'the environment variable HOLDFAST_{name} is "{text}"'
    assert error.fix.startswith("it takes ")


def test_flags_may_be_text_or_values_and_are_checked_alike(tmp_path: Path) -> None:
    assert load(tmp_path, max_attempts="4").policy.max_attempts == 4
    assert load(tmp_path, verify=["a b", "c"]).policy.verify == ("a b", "c")
    assert load(tmp_path, max_attempts=None, func=print, json=True).policy == Policy()
    for value in ("0", 0, "x"):
        assert refusal(tmp_path, max_attempts=value).message.startswith("--max-attempts is ")


def test_choices_for_one_run_come_only_from_flags(tmp_path: Path) -> None:
    policy = load(tmp_path, allow_dirty=True, only="1.2", until=None).policy
    assert (policy.allow_dirty, policy.only, policy.until) == (True, "1.2", "")
    assert "no setting" in refusal(project(tmp_path, "allow_dirty = true\n")).message


def test_naming_a_program_chooses_the_agent_that_runs_it(tmp_path: Path) -> None:
    project(tmp_path, "agent = 'scripted'\nscript = 'play.json'\n")
    config = load(tmp_path, agent_cmd="my-agent")
    assert (config.agent, config.origin["agent"]) == ("command", "flag --agent-cmd")
    assert load(tmp_path, {"HOLDFAST_AGENT": "scripted"}, agent="command").agent == "command"
    assert load(tmp_path / "none", script="x").agent == "scripted"


def test_relative_paths_start_where_they_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert load(project(tmp_path, "script = 'a/play.json'\n")).script == str(tmp_path / "a" / "play.json")
    assert load(tmp_path, script="play.json").script == os.path.join(os.getcwd(), "play.json")
    assert load(tmp_path, {"HOLDFAST_SCRIPT": "/abs"}).script == "/abs"


def test_the_document_lists_exactly_the_settings_there_are() -> None:
    rows = [line for line in DOCUMENT.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    assert rows == [row(setting) for setting in SETTINGS]


def row(setting: Setting) -> str:
    flag = f"`{setting.flag}`" if setting.flag else "–"
    default = f"`{toml(setting.default)}`"
    cells = (f"`{setting.key}`", f"`{setting.env}`", flag, expected(setting), default, setting.help)
    return f"| {' | '.join(cells)} |"
