"""What the first revision is made of. Immutable once released, as the revision is."""
