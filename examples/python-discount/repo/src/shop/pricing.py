"""What one article costs after its discount."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Discount:
    kind: str  # "amount" (cents) or "percent"
    value: int

    def __post_init__(self):
        if self.kind not in ("amount", "percent"):
            raise ValueError(f"unknown discount: {self.kind}")
        if self.value < 0:
            raise ValueError("a discount is not negative")


def discounted(price, discount=None):
    """The price in cents after the discount."""
    if discount is None:
        return price
    if discount.kind == "amount":
        return price - discount.value
    return int(price * (1 - discount.value / 100))
