"""What a plan's own files say about git, compared with git before a run goes on. Git is right."""

from holdfast.engine.site import Site
from holdfast.errors import Refused
from holdfast.model.plan import Document
from holdfast.plans.base import Claims, GitFacts
from holdfast.system.git import Git


def require_agreement(site: Site, plan: Document, tip: str) -> None:
    """Refused with everything that is wrong at once: whoever repairs it needs the whole list."""
    claims = site.plan.dialect.git_claims(plan)
    if claims == Claims():
        return
    problems = site.plan.dialect.git_problems(plan, _facts(site.git, claims)) or _not_here(site, claims, tip)
    if problems:
        listed = "\n".join(f"  {problem}" for problem in problems)
        raise Refused(
            f"{site.plan.dialect.marks_in(site.plan.path)} does not agree with git:\n{listed}",
            fix="bring the branch or the commits back (git reflog finds them), "
            f"or begin again: holdfast run {site.plan.path} --force-new",
        )


def _facts(git: Git, claims: Claims) -> GitFacts:
    commits = [commit for _, commit in claims.commits]
    existing = _existing(git, commits)
    branch = git.resolve(f"refs/heads/{claims.branch}") if claims.branch else None
    on_branch = existing - _beyond(git, existing, branch) if branch else frozenset()
    return GitFacts(branch is not None, existing, on_branch)


def _existing(git: Git, commits: list[str]) -> frozenset[str]:
    asked = "".join(f"{commit}^{{commit}}\n" for commit in commits).encode()
    answers = git.run("cat-file", "--batch-check", stdin=asked).decode("utf-8", "replace").splitlines()
    return frozenset(c for c, told in zip(commits, answers, strict=True) if not told.endswith("missing"))


def _beyond(git: Git, commits: frozenset[str], tip: str) -> frozenset[str]:
    """Those that are not reachable from the tip."""
    if not commits:
        return frozenset()
    return commits & set(git.text("rev-list", *sorted(commits), f"^{tip}").split())


def _not_here(site: Site, claims: Claims, tip: str) -> tuple[str, ...]:
    """On the branch it names, but that is not the branch this run goes on with."""
    missing = _beyond(site.git, frozenset(commit for _, commit in claims.commits), tip)
    here = site.lands_on.removeprefix("refs/heads/")
    return tuple(
        f"{task} is done by commit {commit}, which is not on {here}: git switch {claims.branch}"
        for task, commit in claims.commits
        if commit in missing
    )
