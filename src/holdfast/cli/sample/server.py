"""Plays a server that an agent starts and forgets: detached, in a session of its own."""

import os
import sys
import time


def main(here: str) -> None:
    agent, server = os.getppid(), os.fork()
    if server == 0:
        os.setsid()
        time.sleep(3600)
        os._exit(0)
    with open(os.path.join(here, "processes"), "w", encoding="ascii") as file:
        file.write(f"{agent} {server}")


main(sys.argv[1])
