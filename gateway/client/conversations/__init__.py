"""Recorded conversations: a documented format (docs/conversation-format.md), its reader and its player."""

from gateway.client.conversations.errors import LineError
from gateway.client.conversations.player import Answer, Played, Player
from gateway.client.conversations.reader import read_conversation
from gateway.client.conversations.records import Conversation, LiveSession, TurnStep, Wait

__all__ = [
    "Answer",
    "Conversation",
    "LineError",
    "LiveSession",
    "Played",
    "Player",
    "TurnStep",
    "Wait",
    "read_conversation",
]
