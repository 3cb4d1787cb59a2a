"""Several processes as one thing that is started and stopped: what `up` runs.

It knows processes, not what they do; which ones there are is `plan.py`'s. For one machine: in
production each process is started by the system's own supervisor.
"""
