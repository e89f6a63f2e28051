"""The gateway: everything of Muniment that talks. Use cases, gRPC server, converters, telemetry and command line."""
