"""Version 1 of the contract. Import the modules by name: `from muniment.v1 import context_pb2, context_pb2_grpc`."""
