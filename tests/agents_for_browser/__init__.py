"""Agents that exist for the browser tests only."""
