"""Template filters of the console; loaded into every template."""
