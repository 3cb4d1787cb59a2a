"""Agent tasks as durable state machines: core, store, tools, planners, engine and the facade `runtime.api`."""
