"""The server under test: the gateway as `serve` runs it, and in the same event loop an echo of given bytes.

Run as `python -m benchmarks.server DATA_DIR`; the first line of its output has the two ports.
"""

import sys
from pathlib import Path

import grpc

from gateway.app import serve
from gateway.config import ListenAddress, LogLevel, Settings
from gateway.logs import configure_logs
from gateway.server import run

ECHO_SERVICE = "benchmarks.Echo"
ANSWER, SET = "Answer", "Set"
READY = "benchmark server on "

_LOOPBACK = ListenAddress("127.0.0.1", 0)


class Echo:
    """Answers every call with the bytes that were set before: the least that a call of that size can cost."""

    def __init__(self) -> None:
        self._body = b""

    async def answer(self, _request: bytes, _context: "grpc.aio.ServicerContext[bytes, bytes]") -> bytes:
        """The bytes."""
        return self._body

    async def set(self, request: bytes, _context: "grpc.aio.ServicerContext[bytes, bytes]") -> bytes:
        """Answer with these from now on."""
        self._body = request
        return b""

    async def start(self) -> int:
        """Listen on a port of its own."""
        server = grpc.aio.server()
        methods: dict[str, grpc.RpcMethodHandler[bytes, bytes]] = {
            ANSWER: grpc.unary_unary_rpc_method_handler(self.answer),
            SET: grpc.unary_unary_rpc_method_handler(self.set),
        }
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(ECHO_SERVICE, methods),))
        port = server.add_insecure_port(_LOOPBACK.target)
        await server.start()
        self._server = server
        return port


async def main(data_dir: Path) -> None:
    """Serve both until SIGTERM."""
    echo = Echo()
    echo_port = await echo.start()
    settings = Settings(listen=_LOOPBACK, data_dir=data_dir)
    await serve(settings, lambda port: print(f"{READY}{port} {echo_port}", flush=True))


if __name__ == "__main__":
    configure_logs(LogLevel.WARNING)
    run(main(Path(sys.argv[1])))
