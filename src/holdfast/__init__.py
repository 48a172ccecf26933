"""Holdfast runs a plan of coding tasks through a coding agent: one commit per task, whatever dies."""

__version__ = "0.1.0"
