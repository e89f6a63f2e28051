"""The proxies as a process of their own, told what to do over its standard input.

`python -m benchmarks.faults.proxy_process NAME=HOST:PORT ...` prints the ports as one JSON object; each line on its
input, `NAME CONDITIONS`, is answered by one line once it is in force.
"""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from benchmarks.faults.proxy import Address, Proxy
from benchmarks.faults.toxics import Conditions

_DONE = "done"
_STOP_SECONDS = 5.0


class Proxies:
    """The parent's side: names to ports, and the one way to change conditions."""

    def __init__(self, process: "subprocess.Popen[str]", ports: Mapping[str, int]) -> None:
        self._process, self._ports = process, ports

    def port(self, name: str) -> int:
        """Where the proxy of that name listens on loopback."""
        return self._ports[name]

    def apply(self, name: str, conditions: Conditions) -> None:
        """Returns once they are in force."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(f"{name} {conditions.to_json()}\n")
        stdin.flush()
        line = stdout.readline().strip()
        if line != _DONE:
            raise RuntimeError(f"the proxy did not take new conditions: {line or 'it has ended'}")


@contextmanager
def running_proxies(upstreams: Mapping[str, Address]) -> Iterator[Proxies]:
    """A proxy for each server, by name."""
    named = [f"{name}={address.host}:{address.port}" for name, address in upstreams.items()]
    command = [sys.executable, "-m", "benchmarks.faults.proxy_process", *named]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield Proxies(process, json.loads(process.stdout.readline()))
        finally:
            process.stdin.close()
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()


async def serve(arguments: Sequence[str]) -> None:
    """Until the input ends."""
    proxies = {name: Proxy(address) for name, address in map(_upstream, arguments)}
    ports = {name: await proxy.start() for name, proxy in proxies.items()}
    print(json.dumps(ports), flush=True)
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        name, _, conditions = line.partition(" ")
        await proxies[name].apply(Conditions.from_json(conditions))
        print(_DONE, flush=True)
    for proxy in proxies.values():
        await proxy.close()


def _upstream(argument: str) -> tuple[str, Address]:
    name, _, address = argument.partition("=")
    host, _, port = address.rpartition(":")
    return name, Address(host, int(port))


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1:]))
