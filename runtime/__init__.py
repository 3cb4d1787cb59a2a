"""Agent tasks as durable state machines; other packages use the facade `runtime.api`."""
