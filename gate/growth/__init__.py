"""The self-sizing rule at work: in a loop with cache and device, compared, connected, judged."""
