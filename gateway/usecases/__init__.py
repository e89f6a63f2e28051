"""The use cases: one callable per RPC, over ports and records. Nothing here knows gRPC or protobuf."""
