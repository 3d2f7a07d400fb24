"""How much does the gate catch? `cachegate power` runs it on every seeded bug (fixtures/seeded_bugs/) and scores it."""
