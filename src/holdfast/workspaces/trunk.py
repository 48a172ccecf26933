"""In place: the user's own checkout, on the branch it is on, or was on before an agent left it."""

from holdfast.errors import Refused
from holdfast.system.git import Git
from holdfast.workspaces.base import Wanted, Workspace, Workspaces, no_commit_yet
from holdfast.workspaces.trees import mend_torn


class Trunk(Workspaces):
    name = "trunk"

    def find(self, git: Git, wanted: Wanted) -> Git | None:
        return git

    def open(self, git: Git, wanted: Wanted) -> Workspace:
        mend_torn(git)
        branch = wanted.branch or git.current_branch()
        if branch is None:
            raise Refused(
                "HEAD is detached: there is no branch to commit to",
                fix="git switch -c my-branch (or git switch an existing one), then run again",
            )
        if not wanted.branch and git.resolve(branch) is None:
            raise no_commit_yet(branch)
        return Workspace(git, branch)
