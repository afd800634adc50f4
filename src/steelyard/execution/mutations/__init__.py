"""A workspace in which an agent works -> `workspace.change` events while it works."""
