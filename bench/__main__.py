"""`python -m bench`: what Holdfast costs, each figure beside a floor measured in the same minutes.

Ratios travel from machine to machine, seconds do not; docs/BENCHMARKS.md says what is measured and how.
"""

import argparse
import os
import tempfile

from bench import landing, many, memory, plansize, reading, startup, trees
from bench.figures import Measure, heading, line
from bench.scratch import Bench, hermetic_environment

MEASURES: dict[str, Measure] = {
    "startup": startup.measure,
    "landing": landing.measure,
    "plansize": plansize.measure,
    "reading": reading.measure,
    "many": many.measure,
    "trees": trees.measure,
    "memory": memory.measure,
}


def main() -> None:
    args = _arguments()
    print(heading(), flush=True)
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as directory:
        bench = Bench(directory, hermetic_environment(os.path.join(directory, "home")), args.quick)
        for name in args.only or MEASURES:
            for figure in MEASURES[name](bench):
                print(line(figure), flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description="What Holdfast costs, as ratios.")
    parser.add_argument("--quick", action="store_true", help="smaller repositories, fewer rounds")
    parser.add_argument("--only", action="append", choices=MEASURES, metavar="WHAT", help=", ".join(MEASURES))
    return parser.parse_args()


if __name__ == "__main__":
    main()
