"""grpc.reflection.v1alpha, so that clients without the .proto files can call: grpcio's servicer behind our errors."""

from collections.abc import AsyncIterator, Iterable
from typing import Any

import grpc
from google.protobuf.message import DecodeError
from grpc_reflection.v1alpha import reflection, reflection_pb2

from gateway.errors import MalformedRequest
from gateway.server.failures import explain
from gateway.server.pipeline import RpcHandler
from gateway.server.status import abort

PATH = f"/{reflection.SERVICE_NAME}/ServerReflectionInfo"


class Reflection:
    """Serves the descriptors of the services named."""

    def __init__(self, services: Iterable[str]) -> None:
        self._servicer = reflection.aio.ReflectionServicer([*services, reflection.SERVICE_NAME])

    def handler(self) -> RpcHandler:
        """The handler of the only method. It decodes by itself, since a parser's text must not get out."""

        async def serve(
            bodies: AsyncIterator[bytes], context: "grpc.aio.ServicerContext[Any, Any]"
        ) -> AsyncIterator[bytes]:
            try:
                async for response in self._servicer.ServerReflectionInfo(_decoded(bodies), context):
                    yield response.SerializeToString()
            except DecodeError:
                await abort(context, MalformedRequest())
            except Exception as error:  # noqa: BLE001  grpc would send its text to the client
                await abort(context, explain(error, PATH, 0.0))

        return grpc.stream_stream_rpc_method_handler(serve)


async def _decoded(bodies: AsyncIterator[bytes]) -> AsyncIterator[reflection_pb2.ServerReflectionRequest]:
    async for body in bodies:
        yield reflection_pb2.ServerReflectionRequest.FromString(body)
