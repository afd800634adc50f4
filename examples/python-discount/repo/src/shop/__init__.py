"""Prices a cart, in whole cents."""
