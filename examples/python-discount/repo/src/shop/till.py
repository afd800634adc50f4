"""A cart as JSON on stdin, its receipt as JSON on stdout."""

import json
import sys

from shop.cart import Cart, Line
from shop.pricing import Discount


def read_cart(data):
    cart = Cart()
    for line in data["lines"]:
        discount = Discount(**line["discount"]) if "discount" in line else None
        cart.add(Line(line["article"], line["price"], line.get("quantity", 1), discount))
    return cart


def receipt(cart):
    return {
        "lines": [{"article": line.article, "total": line.total} for line in cart.lines],
        "total": cart.total,
    }


if __name__ == "__main__":
    json.dump(receipt(read_cart(json.load(sys.stdin))), sys.stdout)
