"""One story again, by its words: what happened, and the scene left for a look when something is wrong.

PYTHONPATH=tests python -m proof.replay_sequence executor/resume/positional/tracked fault:commit.after@2 run
"""

import sys
import tempfile
from pathlib import Path

from proof.sequences import play


def main(*story: str) -> int:
    scene = Path(tempfile.mkdtemp(prefix="story-")) / "scene"
    verdict = play(story, scene)
    print("\n".join(verdict.problems) or "every invariant holds")
    if verdict.problems:
        print(f"the scene: {scene}")
    return 1 if verdict.problems else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
