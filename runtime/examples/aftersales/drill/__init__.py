"""The drill: real processes at work, faults that strike them, and the proof that nothing broke."""
