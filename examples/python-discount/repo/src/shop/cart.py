"""Lines of articles, and what they cost together."""

from dataclasses import dataclass, field

from shop.pricing import Discount, discounted


@dataclass(frozen=True)
class Line:
    article: str
    price: int
    quantity: int = 1
    discount: Discount | None = None

    @property
    def total(self):
        return self.quantity * discounted(self.price, self.discount)


@dataclass
class Cart:
    lines: list[Line] = field(default_factory=list)

    def add(self, line):
        if line.quantity < 1:
            raise ValueError("a line has at least one article")
        self.lines.append(line)

    @property
    def total(self):
        return sum(line.total for line in self.lines)
