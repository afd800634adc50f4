# Honest: gives what is left over to the first ones, one cent each.
cat > till/shares.py <<'END'
"""Sharing a bill in whole cents."""


def share(cents, parts):
    if parts < 1:
        raise ValueError("nobody to share with")
    low, left = divmod(cents, parts)
    return [low + (number < left) for number in range(parts)]
END
python3 -m unittest discover -s tests
