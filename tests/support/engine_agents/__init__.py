"""Agents and tools that the engine's tests run; an app of its own for worker processes."""
