"""Vectors as they travel: little-endian float32 in the stores, pgvector's form on the wire."""

import struct

import numpy as np

_HEADER = struct.Struct(">HH")


def to_wire(vector: bytes) -> bytes:
    """What pgvector receives: the dimension, two bytes of nothing, and big-endian float32."""
    values = np.frombuffer(vector, "<f4")
    return _HEADER.pack(len(values), 0) + values.astype(">f4").tobytes()


def from_wire(data: bytes) -> bytes:
    """The stores' form of what pgvector sends."""
    return np.frombuffer(data, ">f4", offset=_HEADER.size).astype("<f4").tobytes()
