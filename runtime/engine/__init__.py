"""The engine: takes tasks, performs what the core decides, and gives them back.

Effects live here; what they lead to is decided in ``runtime.core``.
"""
