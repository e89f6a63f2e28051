"""What the commands do: a request, a call, an answer to look at or to pipe on."""
