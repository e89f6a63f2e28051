"""The sections of a prompt: which candidates each has, how it renders them, and what they cost."""
