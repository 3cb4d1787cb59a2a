"""The pure core: values and decisions, without database, clock, dice, environment, logging, I/O."""
