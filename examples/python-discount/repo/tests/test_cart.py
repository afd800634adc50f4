import unittest

from shop.cart import Cart, Line
from shop.pricing import Discount


class CartTotals(unittest.TestCase):
    def test_an_empty_cart_costs_nothing(self):
        self.assertEqual(Cart().total, 0)

    def test_quantities_multiply(self):
        self.assertEqual(Cart([Line("tea", 450, 3)]).total, 1350)

    def test_each_line_has_its_own_discount(self):
        cart = Cart([Line("tea", 450), Line("cup", 1000, 2, Discount("amount", 250))])
        self.assertEqual(cart.total, 1950)

    def test_a_line_without_articles_is_refused(self):
        with self.assertRaises(ValueError):
            Cart().add(Line("tea", 450, 0))


if __name__ == "__main__":
    unittest.main()
