"""The demo: an order after-sales agent, and the real little shop behind HTTP that it works for."""
