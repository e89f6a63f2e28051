"""Scale: ten thousand users and a million excerpts in Postgres, and what assembling takes there."""
