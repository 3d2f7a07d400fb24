"""The fast engines and the readers of recorded artefacts; each engine is held equal to reference/ by a property."""
