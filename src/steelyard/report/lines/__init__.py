"""Cells and words -> lines that fit a terminal."""
