"""The services: each method converts in, runs one use case, and converts out."""
