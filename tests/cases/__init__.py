"""Faults that other products had, as tests: one file per case, named by its id, for the whole class of inputs."""
