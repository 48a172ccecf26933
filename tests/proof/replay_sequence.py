"""One story again, by its words: what happened, and the scene left for a look when something is wrong.

PYTHONPATH=tests python -m proof.replay_sequence executor/resume/positional/tracked fault:commit.after@2 run
PYTHONPATH=tests python -m proof.replay_sequence 3/resume fault:publish.after@1 add tree:deleted
"""

import sys
import tempfile
from pathlib import Path

from proof import sequences, tree_stories


def main(*story: str) -> int:
    scene = Path(tempfile.mkdtemp(prefix="story-")) / "scene"
    of_trees = story[0].count("/") == 1
    verdict = (tree_stories if of_trees else sequences).play(story, scene)
    print("\n".join(verdict.problems) or "every invariant holds")
    if verdict.problems:
        print(f"the scene: {scene}")
    return 1 if verdict.problems else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
