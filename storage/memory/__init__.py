"""What may be lost: stores in this process's memory."""

from storage.memory.sessions import MemorySessions

__all__ = ["MemorySessions"]
