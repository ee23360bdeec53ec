"""Kills the workers of a hosted agent, at named points and at random, on an installation made for it."""
