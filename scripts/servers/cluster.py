"""A cluster of three nodes on loopback, without replicas: what shows that keys of one script share a slot."""

import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from scripts.servers import ports
from scripts.servers.errors import ServerError
from scripts.servers.valkey import Flavour, Valkey, ValkeyOptions

NODES = 3
SLOTS = 16384
READY_SECONDS = 30.0
# How long a node may be silent before the others call it failed.
NODE_TIMEOUT_MS = 2000


@dataclass(frozen=True, slots=True)
class Cluster:
    """The running nodes; they end with their owner."""

    nodes: tuple[Valkey, ...]

    @classmethod
    def start(
        cls,
        folder: Path,
        *,
        password: str | None = None,
        flavour: Flavour = Flavour.VALKEY,
        scratch: Path | None = None,
    ) -> Self:
        """Start the nodes, give each a third of the slots, and return once all agree.

        `scratch` is a folder that is removed if the owner dies. Raises `ServerError`."""
        with ExitStack() as started:
            nodes = tuple(
                started.enter_context(
                    Valkey.start(folder / f"node-{number}", _options(password, flavour), scratch=scratch)
                )
                for number in range(NODES)
            )
            _join(nodes)
            _wait(nodes)
            started.pop_all()
        return cls(nodes)

    @property
    def url(self) -> str:
        """The first node's; a cluster client finds the others."""
        return self.nodes[0].url()

    def flush(self) -> None:
        """Forget everything on all nodes."""
        for node in self.nodes:
            node.flush()

    def stop(self) -> None:
        """End all nodes; the folders stay."""
        for node in self.nodes:
            node.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def _options(password: str | None, flavour: Flavour) -> ValkeyOptions:
    # The port of the cluster's bus is by default the client's plus 10,000, which may be taken or too high.
    settings = {
        "cluster-enabled": "yes",
        "cluster-port": str(ports.free_port()),
        "cluster-node-timeout": str(NODE_TIMEOUT_MS),
    }
    if password is not None:
        settings["masterauth"] = password
    return ValkeyOptions(password=password, flavour=flavour, settings=settings)


def _join(nodes: tuple[Valkey, ...]) -> None:
    """Give out the slots and introduce the nodes; one that was here before knows its slots and the others."""
    bounds = [SLOTS * number // NODES for number in range(NODES + 1)]
    for number, node in enumerate(nodes):
        with node.client as client:
            if client.execute_command("CLUSTER INFO")["cluster_slots_assigned"] != "0":
                return
            client.execute_command("CLUSTER ADDSLOTSRANGE", bounds[number], bounds[number + 1] - 1)
            # Different from the start: with equal ones the nodes first settle who is to change.
            client.execute_command("CLUSTER SET-CONFIG-EPOCH", number + 1)
    with nodes[0].client as client:
        for other in nodes[1:]:
            client.execute_command("CLUSTER MEET", ports.HOST, other.port, other.settings["cluster-port"])


def _wait(nodes: tuple[Valkey, ...]) -> None:
    """Until each node knows the whole; a new cluster takes about two seconds to agree."""
    deadline = time.monotonic() + READY_SECONDS
    while not all(_agrees(node) for node in nodes):
        if time.monotonic() > deadline:
            raise ServerError(f"the cluster's nodes did not agree within {READY_SECONDS:.0f} s")
        time.sleep(0.02)


def _agrees(node: Valkey) -> bool:
    with node.client as client:
        info = client.execute_command("CLUSTER INFO")
    return bool(info["cluster_state"] == "ok" and info["cluster_known_nodes"] == str(NODES))
