"""The command line of the runtime."""
