"""Agents to try ReviewHub with, and to copy from."""
