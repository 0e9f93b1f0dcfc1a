"""The exit statuses of the command line."""

from enum import IntEnum

__all__ = ["Exit"]


class Exit(IntEnum):
    """What an exit status means.

    Those above 128 are a signal's number and 128, as shells tell them: an interrupt (SIGINT), and a
    reader of the output that has gone, as ``head`` does (SIGPIPE).
    """

    AGREEMENT = 0
    MISMATCH = 1
    USAGE = 2
    TOOL = 4
    SIMULATION = 5
    INTERNAL = 70
    INTERRUPTED = 130
    CLOSED_PIPE = 141
