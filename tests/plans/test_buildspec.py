"""buildspec epics: which paths are ours, what all their shapes say, and why the others are refused."""

import pytest
import yaml

from holdfast.errors import PlanError
from holdfast.model.plan import Document, Plan, Status, Task
from holdfast.plans.base import Found, Recognised
from holdfast.plans.buildspec import Buildspec
from holdfast.plans.epic_document import _epic
from holdfast.registry import dialects

EPIC = Buildspec()
PATH = ".epics/shop/shop.epic.yaml"
STATE = ".epics/shop/artifacts/epic-state.json"


def text_of(ticket: str) -> str:
    return f".epics/shop/tickets/{ticket}.md"


def read(epic: str, *tickets: str, path: str = PATH, **beside: bytes) -> Document:
    """The epic with a short text for each of these tickets."""
    files = {text_of(ticket): f"Do {ticket} well.\n".encode() for ticket in tickets}
    return EPIC.read(epic.encode(), path, "shop", {**files, **beside})


def refusal(epic: str | bytes, path: str = PATH) -> PlanError:
    data = epic.encode() if isinstance(epic, str) else epic
    texts = {text_of(ticket): b"text" for ticket in "abc"}
    with pytest.raises(PlanError) as caught:
        EPIC.read(data, path, "shop", texts)
    assert caught.value.exit_code == 2
    assert caught.value.fix
    return caught.value


# Which paths are epics


def test_a_directory_with_one_epic_file_is_an_epic_called_like_the_directory() -> None:
    found = Found("/r/.epics/shop", ("artifacts", "other-name.epic.yaml", "tickets"), None)
    assert EPIC.recognise(found) == Recognised("other-name.epic.yaml", "shop")


def test_the_file_itself_is_the_epic_of_its_directory() -> None:
    assert EPIC.recognise(Found("/r/.epics/shop/x.epic.yaml", None, b"")) == Recognised("", "shop")


def test_a_directory_with_two_epics_is_refused_by_name() -> None:
    with pytest.raises(PlanError, match=r"a\.epic\.yaml, b\.epic\.yaml"):
        EPIC.recognise(Found("/r/shop", ("a.epic.yaml", "b.epic.yaml"), None))


def test_markdown_beside_the_yaml_is_its_companion_not_a_second_epic() -> None:
    found = Found("/r/shop", ("shop.epic.md", "shop.epic.yaml"), None)
    assert EPIC.recognise(found) == Recognised("shop.epic.yaml", "shop")


def test_a_specification_beside_the_epic_does_not_make_it_half_an_idea() -> None:
    found = Found("/r/shop", ("shop-spec.md", "shop.epic.yaml", "tickets"), None)
    first = next(dialect for dialect in dialects() if dialect.recognise(found))
    assert first.name == "buildspec"


TOML_EPIC = '# Shop\n\n```toml\n[epic]\nname = "Shop"\n\n[[tickets]]\nid = "a"\n```\n'


@pytest.mark.parametrize(
    ("file", "text", "ours"),
    [
        ("shop.epic.md", TOML_EPIC, True),
        ("notes.md", TOML_EPIC, True),
        ("shop.epic.md", f"{TOML_EPIC}\n- [ ] a box in an epic\n", True),
        ("plan.md", f"{TOML_EPIC}\n- [ ] a task of a plain plan\n", False),
        ("plan.md", "- [ ] Read this\n\n  ```toml\n  [epic]\n  [[tickets]]\n  ```\n", False),
        ("shop.epic.md", "- [ ] only boxes\n", False),
        ("notes.md", "```toml\n[epic]\n```\n", False),
        ("notes.md", f"{TOML_EPIC}{TOML_EPIC}", False),
        ("notes.txt", TOML_EPIC, False),
    ],
)
def test_markdown_is_an_epic_only_with_its_one_block_of_toml(file: str, text: str, ours: bool) -> None:
    found = EPIC.recognise(Found(f"/r/shop/{file}", None, text.encode()))
    assert found == (Recognised("", "shop") if ours else None)


@pytest.mark.parametrize("names", [("plan.md",), ("epic.yaml",), (), ("x.epic.yaml.original",)])
def test_other_directories_are_left_to_other_dialects(names: tuple[str, ...]) -> None:
    assert EPIC.recognise(Found("/r/shop", names, None)) is None


# What it says

SHAPES = {
    "epic, id, depends_on": """
epic: "Shop"
tickets:
  - id: a
    description: First words
    depends_on: []
  - id: b
    description: |
      Second words
      and more of them
    depends_on: [a]
""",
    "name, name, dependencies": """
name: Shop
tickets:
  - name: a
    description: First words
    dependencies: []
  - name: b
    description: |
      Second words
      and more of them
    dependencies:
      - a
""",
    "title, id with title, dependencies": """
title: Shop
tickets:
  - {id: a, title: First words}
  - id: b
    title: Second words
    description: |
      Second words
      and more of them
    dependencies: [a]
""",
    "a table of the epic, paths": """
epic:
  name: Shop
tickets:
  - id: a
    path: tickets/a.md
    description: First words
  - id: b
    path: .epics/shop/tickets/b.md
    description: "Second words\\nand more of them"
    depends_on: [a]
""",
}


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_of_an_epic_says_the_same(shape: str) -> None:
    plan = read(SHAPES[shape], "a", "b").plan
    assert plan.title == "Shop"
    assert [(task.id, task.title, task.depends_on) for task in plan.tasks] == [
        ("a", "First words", ()),
        ("b", "Second words", ("a",)),
    ]
    assert "and more of them" in plan.tasks[1].body
    assert plan.tasks[1].body.endswith("Do b well.")


def test_a_markdown_epic_says_the_same_with_lines_of_the_markdown_file() -> None:
    epic = """# Shop

Prose with a [link] and `[[tickets]]`.

```toml
[epic]
name = "Shop"
rollback_on_failure = false
objectives = ["sell", "deliver"]

[[tickets]]
id = "a"
description = "First words"
critical = true

[[tickets]]
id = "b"
title = "Second words"
depends_on = ["a"]
```
"""
    plan = read(epic, "a", "b", path=".epics/shop/shop.epic.md").plan
    assert plan.title == "Shop"
    assert [(task.id, task.title, task.line, task.critical) for task in plan.tasks] == [
        ("a", "First words", 11, True),
        ("b", "Second words", 16, False),
    ]
    assert plan.tasks[1].depends_on == ("a",)
    assert not plan.rollback_on_failure
    assert plan.preamble == "Objectives:\n- sell\n- deliver"


def test_fences_inside_the_toml_are_part_of_it() -> None:
    code = "```python\nx = 1"
    epic = f"# Shop\n````toml\n[ epic ]\n[[ tickets ]]\nid = 'a'\ndescription = '''Do\n{code}\n'''\n````\n"
    assert EPIC.recognise(Found("/r/shop/x.md", None, epic.encode())) == Recognised("", "shop")
    assert code in read(epic, "a", path=".epics/shop/shop.epic.md").plan.tasks[0].body


def test_a_ticket_brings_everything_that_was_written_about_it() -> None:
    epic = """
name: Shop
tickets:
  - id: a
    title: Add the parser
    description: Reads prices.
    critical: yes
    coordination_role: Gives the others their prices
    acceptance_criteria:
      - unknown items are errors
      - "exit code: 2"
      - Message: names the item
    files_to_modify: [shop.py, tests/test_shop.py]
"""
    assert read(epic, "a").plan.tasks == (
        Task(
            id="a",
            title="Add the parser",
            status=Status.PENDING,
            line=4,
            body="Reads prices.\n\nCoordination role: Gives the others their prices\n\nDo a well.",
            acceptance=("unknown items are errors", "exit code: 2", "Message: names the item"),
            files=("shop.py", "tests/test_shop.py"),
            critical=True,
        ),
    )


def test_what_holds_for_all_tickets_is_there_for_the_prompt() -> None:
    epic = """
name: Shop
description: Sell things.
objectives: [sell, deliver]
constraints:
  - No new dependencies
coordination_requirements:
  interfaces:
    Parser:
      - parse(text) returns a list
  note: |
    two
    lines
acceptance_criteria:
  - All prices are right
tickets: [{id: a}]
"""
    plan = read(epic, "a").plan
    assert plan.preamble == (
        "Sell things.\n\nObjectives:\n- sell\n- deliver\n\nConstraints:\n- No new dependencies\n\n"
        "Coordination requirements:\n- interfaces:\n  - Parser:\n    - parse(text) returns a list\n"
        "- note: two\n  lines\n\nAcceptance criteria of the whole epic:\n- All prices are right"
    )
    assert plan.rollback_on_failure, "the default of the tool"


def test_ids_that_yaml_takes_for_numbers_or_switches_are_ids_as_written() -> None:
    plan = read("tickets:\n  - id: 1.10\n  - id: no\n    depends_on: [1.10]\n", "1.10", "no").plan
    assert [task.id for task in plan.tasks] == ["1.10", "no"]
    assert plan.task("no") and plan.tasks[1].depends_on == ("1.10",)


def test_a_plan_without_a_name_is_called_like_its_directory() -> None:
    assert read("tickets: [{id: a}]", "a").plan.title == "shop"


def test_aliases_stand_for_what_they_name() -> None:
    epic = "tickets:\n- id: a\n  acceptance_criteria: &done [works]\n- id: b\n  acceptance_criteria: *done\n"
    assert [task.acceptance for task in read(epic, "a", "b").plan.tasks] == [("works",), ("works",)]


# Its files


def test_an_epic_needs_the_texts_of_its_tickets_and_its_state() -> None:
    epic = b"tickets:\n  - id: a\n  - id: b\n    path: more/b.md\n"
    assert EPIC.needs(epic, PATH) == (text_of("a"), ".epics/shop/more/b.md", "more/b.md", STATE)
    assert EPIC.keeps(PATH) == (STATE,)
    assert EPIC.marks_in(PATH) == STATE
    assert EPIC.marks_in("top.epic.yaml") == "artifacts/epic-state.json"


def test_a_written_path_is_looked_for_beside_the_epic_then_at_the_root() -> None:
    epic = "tickets: [{id: a, path: docs/a.md}]"
    near, far = {".epics/shop/docs/a.md": b"near"}, {"docs/a.md": b"far"}
    assert EPIC.read(epic.encode(), PATH, "shop", near | far).plan.tasks[0].body == "near"
    assert EPIC.read(epic.encode(), PATH, "shop", far).plan.tasks[0].body == "far"


@pytest.mark.parametrize("path", ["/etc/passwd", "../../../x.md", "../../..", "a/../../../../x"])
def test_a_ticket_outside_the_repository_is_refused(path: str) -> None:
    error = refusal(f"tickets:\n  - id: a\n    path: {path}\n")
    assert "outside the repository" in error.message
    assert error.line == 2


def test_an_id_that_climbs_out_of_the_repository_is_refused() -> None:
    assert "outside the repository" in refusal("tickets: [{id: ../../../../etc/passwd}]").message


def test_a_missing_text_is_named_with_the_line_of_its_ticket() -> None:
    error = refusal("name: Shop\ntickets:\n  - id: a\n  - id: zz\n")
    assert error.line == 4
    assert text_of("zz") in error.message
    assert text_of("zz") in error.fix


# How it is run and told


def test_presets_messages_and_trailers_are_those_of_the_tool() -> None:
    document = read("tickets: [{id: a, title: Add the parser}]", "a")
    task = document.plan.tasks[0]
    assert dict(EPIC.preset) == {
        "branch": "epic/{name}",
        "task_branch": "ticket/{task}",
        "order": "dependencies",
        "on_interrupt": "rollback",
        "max_attempts": 1,
        "on_failure": "continue",
    }
    assert EPIC.message(task) == "feat: Add the parser"
    assert dict(EPIC.trailers(task)) == {"Ticket": "a"}
    assert EPIC.finish_message(document) == "chore: finalize epic shop"


# What is refused


def _ever_deeper() -> str:
    """A list that holds the list on the line before; no line is deep by itself."""
    return "{" + ", ".join(["a0: &a0 [x]", *[f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, 90)]]) + "}\n"


@pytest.fixture(params=["CSafeLoader", "SafeLoader"])
def either_parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """PyYAML is built with libyaml or without; what is refused must not depend on it."""
    loader = getattr(yaml, request.param, None)
    if loader is None:
        pytest.skip("PyYAML without libyaml")
    monkeypatch.setattr("holdfast.plans.epic_yaml.LOADER", loader)
    _epic.cache_clear()


MALFORMED = {
    "bad YAML": ("name: Shop\ntickets:\n  - id: [a\n", 4, "not YAML"),
    "a tab for indent": ("name: Shop\ntickets:\n\t- id: a\n", 3, "not YAML"),
    "an unclosed quote": ("name: 'Shop\n", 2, "not YAML"),
    "two documents": ("name: Shop\n---\nname: Shop\n", 2, "not YAML"),
    "a control character": ("name: Shop\ntickets: \x07\n", 2, "not YAML"),
    "a duplicate key": ("name: Shop\ntickets:\n  - id: a\n    title: x\n    title: y\n", 5, "twice"),
    "an alias of nothing": ("tickets: *nothing\n", 1, "not YAML"),
    "a tag": ("name: Shop\ntickets:\n  - id: !!python/name:os.system a\n", 3, "tag"),
    "a merge key": ("x: &x {id: a}\ntickets:\n  - <<: *x\n", 3, "merge keys"),
    "an escaped surrogate": ('name: Shop\ntickets:\n  - id: "\\ud800"\n', 3, "character"),
    "an escaped null": ('tickets:\n  - id: a\n    title: "x\\0y"\n', 3, "U+0000"),
    "a null in a name": ('"a\\0": b\ntickets: [{id: a}]\n', 1, "U+0000"),
    "an escape out of range": ('name: "\\UFFFFFFFF"\n', 1, "not YAML"),
    "an escape just out of range": ('name: "\\U00110000"\n', 1, "not YAML"),
    "a YAML that is not invented yet": ("%YAML 2.0\n---\nname: Shop\n", 1, "not YAML"),
    "a line below an odd line end": ('name: "a\u2028b"\ntickets:\n  - id: [a]\n', 3, "id must be a text"),
    "a list that is called a text": ("tickets:\n  - id: !!str [a]\n", 2, "tag"),
    "a second document, empty": ("tickets: [{id: a}]\n---\n", 2, "second document"),
    "aliases ever deeper": (_ever_deeper(), 1, "nested too deep"),
    "a list as a key": ("? [a]\n: b\n", 1, "a key that is not a word"),
    "a conflict": ("name: Shop\n<<<<<<< HEAD\ntickets: []\n", 2, "merge conflict"),
    "nothing": ("", 0, "empty"),
    "a comment only": ("# soon\n", 0, "empty"),
    "a list at the top": ("- id: a\n", 1, "a mapping of names to values"),
    "text at the top": ("just words\n", 1, "a mapping of names to values"),
    "no tickets": ("name: Shop\n", 0, "no tickets found"),
    "empty tickets": ("name: Shop\ntickets: []\n", 0, "no tickets found"),
    "tickets that say nothing": ("name: Shop\ntickets:\n", 0, "no tickets found"),
    "tickets in a mapping": ("name: Shop\ntickets:\n  a: {id: a}\n", 3, "tickets must be a list"),
    "tickets as a number": ("name: Shop\ntickets: 5\n", 2, "tickets must be a list"),
    "a ticket that is text": ("tickets:\n  - a\n", 2, "a list of mappings"),
    "a ticket without an id": ("tickets:\n  - id: a\n  - title: b\n", 3, "without an id"),
    "an id of two lines": ('tickets:\n  - id: "a\\nb"\n', 2, "one line"),
    "a title that is a list": ("tickets:\n  - id: a\n    title: [x]\n", 3, "title must be a text"),
    "dependencies as text": ("tickets:\n  - id: a\n    depends_on: b\n", 3, "depends_on must be a list"),
    "a dependency that is a list": ("tickets:\n  - id: a\n    depends_on: [[b]]\n", 3, "a list of texts"),
    "an odd switch": ("tickets:\n  - id: a\n    critical: maybe\n", 3, "true or false"),
    "an odd rollback": ("rollback_on_failure: [x]\ntickets: [{id: a}]\n", 1, "true or false"),
    "duplicate ids": ("tickets:\n  - id: a\n  - id: b\n  - id: a\n", 4, "cannot be told apart"),
    "an unknown dependency": ("tickets:\n  - id: a\n    depends_on: [z]\n", 2, "depends on z"),
    "a cycle": ("tickets:\n  - {id: a, depends_on: [b]}\n  - {id: b, depends_on: [a]}\n", 2, "wait for each"),
    "itself": ("tickets:\n  - {id: a, depends_on: [a]}\n", 2, "wait for each"),
}


@pytest.mark.usefixtures("either_parser")
@pytest.mark.parametrize("case", MALFORMED)
def test_a_malformed_epic_is_refused_with_its_line_and_what_to_do(case: str) -> None:
    epic, line, words = MALFORMED[case]
    error = refusal(epic)
    assert words in error.message
    assert error.message.startswith(f"{PATH}:{line}: " if line else f"{PATH}: ")


MALFORMED_MARKDOWN = {
    "no block": ("# Shop\n", 0, "no block of TOML"),
    "two blocks": (f"{TOML_EPIC}\n{TOML_EPIC}", 13, "2 blocks of TOML"),
    "an unclosed block": ("# Shop\n```toml\n[epic]\n", 2, "never closed"),
    "bad TOML": ("# Shop\n```toml\n[epic]\nname = \n```\n", 4, "not TOML"),
    "TOML that ends too soon": ('```toml\n[epic]\nname = """x\n```\n', 3, "not TOML"),
    "a duplicate key": ('```toml\n[[tickets]]\nid = "a"\nid = "b"\n```\n', 4, "not TOML"),
    "no tickets": ('```toml\n[epic]\nname = "x"\n```\n', 0, "no tickets found"),
    "one ticket": ('```toml\n[tickets]\nid = "x"\n```\n', 1, "tickets must be a list"),
    "an escaped null": ('```toml\n[[tickets]]\nid = "a\\u0000"\n```\n', 1, "U+0000"),
    "a wrong type": ('# S\n```toml\n[[tickets]]\nid = "a"\ndepends_on = "b"\n```\n', 3, "must be a list"),
    "an unknown dependency": ('```toml\n[[tickets]]\nid = "a"\ndepends_on = ["z"]\n```\n', 2, "depends on z"),
}


@pytest.mark.parametrize("case", MALFORMED_MARKDOWN)
def test_a_malformed_markdown_epic_is_refused_with_its_line(case: str) -> None:
    epic, line, words = MALFORMED_MARKDOWN[case]
    error = refusal(epic, ".epics/shop/shop.epic.md")
    assert words in error.message
    assert error.line == line


def test_a_bomb_of_aliases_is_refused_instead_of_filling_the_memory() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    assert "aliases" in refusal("\n".join([*lines, "tickets: *a11", ""])).message


@pytest.mark.parametrize("epic", ["a: &a [*a]\ntickets: *a\n", "tickets: " + "[" * 5000, "a: " + "{a: " * 90])
def test_an_epic_that_never_ends_is_refused(epic: str) -> None:
    assert refusal(epic).message


def test_deep_toml_is_refused_instead_of_a_stack_overflow() -> None:
    refusal(f"```toml\n[epic]\nname = {'[' * 5000}\n```\n", ".epics/shop/shop.epic.md")


# Bytes


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
def test_line_ends_and_byte_order_marks_do_not_matter(end: str, bom: bytes) -> None:
    epic = "name: Läden\ntickets:\n  - id: ä\n    description: |\n      Größe\n      两\n  - id: b\n"
    data = bom + epic.replace("\n", end).encode()
    texts = {text_of("ä"): bom + f"# Grün{end}\tTab{end}".encode(), text_of("b"): b""}
    document = EPIC.read(data, PATH, "shop", texts)
    assert document.data == data
    assert dict(document.beside) == texts
    assert document.plan.title == "Läden"
    assert [(task.id, task.line) for task in document.plan.tasks] == [("ä", 3), ("b", 7)]
    assert document.plan.tasks[0].body == "Größe\n两\n\n# Grün\n\tTab"


def test_bytes_that_are_no_utf8_are_refused_with_file_and_line() -> None:
    assert refusal(b"name: Shop\ntickets:\n  - id: \xff\n").line == 3
    with pytest.raises(PlanError) as caught:
        EPIC.read(b"tickets: [{id: a}]", PATH, "shop", {text_of("a"): b"fine\nbad \xff\n"})
    assert (caught.value.path, caught.value.line) == (text_of("a"), 2)


def test_a_conflict_in_a_ticket_is_refused_with_its_file_and_line() -> None:
    with pytest.raises(PlanError) as caught:
        EPIC.read(b"tickets: [{id: a}]", PATH, "shop", {text_of("a"): b"fine\n<<<<<<< HEAD\n"})
    assert (caught.value.path, caught.value.line) == (text_of("a"), 2)


def test_marking_a_ticket_that_is_not_there_is_refused() -> None:
    document = read("tickets: [{id: a}]", "a")
    with pytest.raises(PlanError, match="no ticket z"):
        EPIC.mark(document, "z", Status.COMPLETED)


def test_other_dialects_have_nothing_to_say_for_all_tasks() -> None:
    assert Plan("x", "markdown", "x.md", ()).preamble == ""
    assert not Plan("x", "markdown", "x.md", ()).rollback_on_failure
