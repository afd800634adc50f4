"""Stages of an agent's work: inspect (the workspace is read-only), write, test."""
