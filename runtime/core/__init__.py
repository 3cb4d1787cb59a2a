"""The pure core: values and decisions without database, clock, dice, environment, logging or I/O."""
