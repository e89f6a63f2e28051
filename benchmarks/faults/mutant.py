"""Gateways with a fault of their own, which the checker must catch; the product knows nothing of them.

`python -m benchmarks.faults.mutant NAME ... serve ...` makes the changes of those names to the modules in memory and
then runs `muniment serve`.
"""

import sys
from collections.abc import Callable, Mapping
from typing import Final

# What is patched first must be patched before anything else imports it by name.
from benchmarks.faults.mutants import answers, keys, stores

MUTANTS: Final[Mapping[str, Callable[[], None]]] = {
    "colon_keys": keys.join_with_colons,
    "no_tenant": keys.drop_the_tenant,
    "silent": answers.drop_what_is_said,
    "remembers": answers.keep_what_was_gathered,
    "untyped": answers.fail_without_a_type,
    "hangs": answers.hang_now_and_then,
    "unsure": stores.report_time_outs,
    "no_receipts": stores.forget_request_ids,
    "early": stores.acknowledge_before_the_commit,
    "asynchronous": stores.commit_asynchronously,
    "untraced": stores.swallow_failures_of_traces,
}
"""By name; `unsure` is no mutant but the way to report done work as failed."""


def main() -> None:
    """Patch, and serve."""
    arguments = sys.argv[1:]
    names = arguments[: arguments.index("serve")]
    for name in names:
        MUTANTS[name]()
    sys.argv[1:] = arguments[len(names) :]
    # Only now, since importing it binds the names that were patched.
    from gateway.cli.main import main as serve

    serve()


if __name__ == "__main__":
    main()
