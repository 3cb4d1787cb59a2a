"""The only code that writes the runtime's tables.

Hot statements stand in ``sql/``, one per file, each with its purpose, locks, guards and index.
"""
