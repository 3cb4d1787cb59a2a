"""Hands that touch the world: how tools and agents are declared, and what a tool is given."""
