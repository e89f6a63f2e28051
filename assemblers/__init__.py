"""Muniment's pure core: records, policy, ranking, budget, rendering and provenance."""
