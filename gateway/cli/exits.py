"""The exit codes of every command."""

from enum import IntEnum


class ExitCode(IntEnum):
    """How a command ended. Scripts rely on the numbers: a new kind gets a new one."""

    OK = 0
    INTERNAL = 1
    USAGE = 2
    NOT_FOUND = 3
    INVALID = 4
    PRECONDITION = 5
    UNAVAILABLE = 6
    DENIED = 7
    CONFLICT = 8
    EXHAUSTED = 9
    DIFFERENT = 10


HELP = (
    "Exit codes: 0 done, 1 fault of the server, 2 wrong usage, 3 not found, 4 invalid argument, policy or file, "
    "5 precondition not met (such as a budget too small), 6 no gateway, or not in time, 7 not allowed, "
    "8 conflict (an id used before, a stale etag), 9 a limit is reached, 10 a replay or check differs."
)

_BY_STATUS = {
    "INVALID_ARGUMENT": ExitCode.INVALID,
    "OUT_OF_RANGE": ExitCode.INVALID,
    "NOT_FOUND": ExitCode.NOT_FOUND,
    "FAILED_PRECONDITION": ExitCode.PRECONDITION,
    "UNAVAILABLE": ExitCode.UNAVAILABLE,
    "DEADLINE_EXCEEDED": ExitCode.UNAVAILABLE,
    "PERMISSION_DENIED": ExitCode.DENIED,
    "UNAUTHENTICATED": ExitCode.DENIED,
    "ALREADY_EXISTS": ExitCode.CONFLICT,
    "ABORTED": ExitCode.CONFLICT,
    "RESOURCE_EXHAUSTED": ExitCode.EXHAUSTED,
}


def exit_code(status: str) -> ExitCode:
    """The code for a gRPC status, by its name."""
    return _BY_STATUS.get(status, ExitCode.INTERNAL)
