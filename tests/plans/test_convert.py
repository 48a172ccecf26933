"""Any plan as plain Markdown, read back as the same plan."""

from pathlib import Path

import pytest

from holdfast.model.plan import Plan, Status, Step, Task
from holdfast.plans.convert import to_markdown
from holdfast.plans.markdown import Markdown
from scratch import Cli, Repo

OTHER = Plan(
    name="epic",
    dialect="buildspec",
    path="epic.yaml",
    title="An epic",
    preamble="- [ ] not a task\ndepends: nobody",
    tasks=(
        Task("set-up", "Set up", Status.COMPLETED, 1, section="Phase one"),
        Task(
            "build",
            "Build it",
            Status.FAILED,
            5,
            section="Phase two",
            body="verify: rm -rf /\n- [ ] a box that is text\n\nand more",
            depends_on=("set-up",),
            steps=(Step("look", True, 6), Step("leap", False, 7)),
            acceptance=("It works",),
            verify=("make test",),
            files=("a.py", "b.py"),
            critical=True,
        ),
        Task("left", "Left out", Status.SKIPPED, 9, section="Phase two"),
    ),
)


def test_what_a_task_says_survives_and_its_text_cannot_become_structure() -> None:
    set_up, build, left = Markdown().read(to_markdown(OTHER).encode(), "p.md", "p").plan.tasks
    assert [t.status for t in (set_up, build, left)] == [Status.COMPLETED, Status.PENDING, Status.SKIPPED]
    assert [t.section for t in (set_up, build, left)] == ["Phase one", "Phase two", "Phase two"]
    assert (build.id, build.title, build.depends_on) == ("T002", "Build it", ("T001",))
    assert (build.verify, build.files, build.acceptance) == (("make test",), ("a.py", "b.py"), ("It works",))
    assert [(s.text, s.done) for s in build.steps] == [("look", True), ("leap", False)]
    assert build.critical
    assert "Formerly build." in build.body


def test_a_plain_plan_stays_as_it_is(repo: Repo, cli: Cli) -> None:
    repo.write("plan.md", "# P\n\n- [x] T001 One\n- [ ] T002 [P] Two\n  depends: T001\n  - [ ] step\n")
    result = cli("plan", "convert", "plan.md", "--to", "markdown")
    assert result.code == 0, result.err
    assert result.out == (repo.path / "plan.md").read_text()


CORPUS = Path(__file__).parents[3] / "shared/corpus"


@pytest.mark.skipif(not CORPUS.is_dir(), reason="needs the corpus of real plans")
def test_every_idea_of_the_corpus_converts_and_reads_the_same(repo: Repo) -> None:
    from holdfast.errors import PlanError
    from holdfast.plans.i2code import I2code

    count = 0
    for file in sorted((CORPUS / "i2code").rglob("*-plan.md")):
        try:
            plan = I2code().read(file.read_bytes(), file.name, "x").plan
        except PlanError:
            continue
        again = Markdown().read(to_markdown(plan).encode(), "p.md", "p").plan
        assert [(t.id, t.title, t.status) for t in again.tasks] == [
            (t.id, t.title, t.status) for t in plan.tasks
        ], file.name
        count += 1
    assert count > 20
