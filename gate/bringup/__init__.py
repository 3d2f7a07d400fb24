"""How a new driver comes up: its skeleton, and the ladder that names the first thing wrong with it."""
