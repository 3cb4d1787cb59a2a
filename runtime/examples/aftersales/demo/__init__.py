"""The demo run: a shop, workers, requests, a worker killed, a robot person, and a verdict."""
