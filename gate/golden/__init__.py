"""Golden tables: how one is read, what computes its cells, how far two differ. Data: regressions/tables/."""
