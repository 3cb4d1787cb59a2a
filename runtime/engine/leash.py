"""Runs a program that ends when its starter dies: `python -m …leash STARTER_PID PROGRAM ARG …`.

The kernel sends SIGTERM once the starter is gone, however it went, so that a killed `up`, demo or
drill leaves no worker behind; other systems than Linux cannot do that. It becomes the program, so
the process id stays.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1  # <linux/prctl.h>; it survives exec


def main(starter: int, program: list[str]) -> None:
    """Become the program, tied to the starter; returns only when the starter is gone already."""
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "prctl")
    # Asked after the request: a starter that died before it would never be reported.
    if os.getppid() == starter:
        os.execv(program[0], program)  # noqa: S606 (ours, and no shell)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
