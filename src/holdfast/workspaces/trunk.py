"""In place: the user's own checkout, on the branch it is on."""

from holdfast.errors import Refused
from holdfast.system.git import Git
from holdfast.workspaces.base import Workspace


class Trunk:
    name = "trunk"

    def open(self, git: Git) -> Workspace:
        branch = git.current_branch()
        if branch is None:
            raise Refused(
                "HEAD is detached: there is no branch to commit to",
                fix="git switch -c my-branch (or git switch an existing one), then run again",
            )
        if git.resolve(branch) is None:
            raise Refused(
                f"branch {branch.removeprefix('refs/heads/')} has no commit yet: nothing to start from",
                fix="git add -A && git commit -m 'Start', then run again",
            )
        return Workspace(git, branch)
