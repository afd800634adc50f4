"""Sharing a bill in whole cents."""


def share(cents, parts):
    if parts < 1:
        raise ValueError("nobody to share with")
    return [cents // parts] * parts
