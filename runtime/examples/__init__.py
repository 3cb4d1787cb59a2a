"""Example agents that ship with the runtime; nothing in the runtime imports them."""
