"""Agents that exist for tests only."""
