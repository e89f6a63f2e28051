"""The demo: a gateway of its own, a recorded conversation, and every question that can be asked about the prompt."""
