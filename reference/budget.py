"""Which budget does a request give? The rules of opening, growing, shrinking and changing k, without any cache.

Sources: BigMoeOnEdge#103 for whole cycles, Helldez/BigMoeOnEdge at 2d4f2b1 for exact bytes; reference/expert_config.py
names each place where the two differ.
"""

from __future__ import annotations

from reference.expert_config import ExpertConfig
from reference.sizing import floor_to_cycles, total_expert_bytes


class Budget:
    """The budget of one cache over its life.

    Attributes:
        shape: the model with the k of now.
        requested_bytes: the last request.
        granted_bytes: the budget in force; 0 is off.
    """

    def __init__(self, config: ExpertConfig) -> None:
        self.rules = config.rules
        self.shape = config.shape
        self.requested_bytes = config.budget_bytes
        self.granted_bytes = self._floored(config.budget_bytes)
        self._off_for_ever = self.granted_bytes == 0 and self.rules.shrink_to_zero == "one-byte"

    def request(self, request_bytes: int) -> bool:
        """Ask for another budget; True if that counts as a resize.

        It does not where nothing changes. With budgets kept to the byte, a grow that a clamp undoes does count.
        """
        if self._off_for_ever:
            return False
        before, self.requested_bytes = self.granted_bytes, request_bytes
        if self.rules.budget == "bytes" and request_bytes == before:
            return False
        self.granted_bytes = self._resized(request_bytes)
        return self.rules.budget == "bytes" or self.granted_bytes != before

    def change_k(self, k: int) -> bool:
        """The top-k changes; the last request is floored again. True if that counts as a resize."""
        self.shape = self.shape.with_k(k)
        return self.rules.budget == "cycles" and self.request(self.requested_bytes)

    def _floored(self, request_bytes: int) -> int:
        if self.rules.budget == "cycles":
            return floor_to_cycles(request_bytes, self.shape)
        return request_bytes

    def _resized(self, request_bytes: int) -> int:
        granted = self._floored(request_bytes)
        grows = granted > self.granted_bytes
        if grows and self.rules.budget == "bytes" and self.rules.grow == "total":
            granted = min(granted, total_expert_bytes(self.shape))
        return max(1, granted) if self.rules.shrink_to_zero == "one-byte" else granted
