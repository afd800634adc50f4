"""What a cart costs, line by line, as its receipt shows it."""

import unittest

from shop.till import read_cart, receipt


def totals(*lines):
    cart = {"lines": [{"article": f"article {at}", **line} for at, line in enumerate(lines)]}
    printed = receipt(read_cart(cart))
    return [line["total"] for line in printed["lines"]], printed["total"]


def amount(price, value, quantity=1):
    return {"price": price, "quantity": quantity, "discount": {"kind": "amount", "value": value}}


def percent(price, value, quantity=1):
    return {"price": price, "quantity": quantity, "discount": {"kind": "percent", "value": value}}


class Discounts(unittest.TestCase):
    def test_a_discount_larger_than_the_price_makes_the_article_free(self):
        self.assertEqual(totals(amount(320, 321), amount(1, 99_999)), ([0, 0], 0))

    def test_one_free_article_does_not_make_the_others_cheaper(self):
        self.assertEqual(totals(amount(200, 900, 3), {"price": 450}), ([0, 450], 450))

    def test_more_than_all_of_the_price_is_free_too(self):
        self.assertEqual(totals(percent(640, 130)), ([0], 0))

    def test_a_discount_of_exactly_the_price_is_free(self):
        self.assertEqual(totals(amount(777, 777), percent(777, 100)), ([0, 0], 0))

    def test_half_a_cent_is_rounded_up(self):
        self.assertEqual(totals(percent(1005, 50), percent(1003, 50)), ([503, 502], 1005))

    def test_shares_are_rounded_to_the_nearest_cent(self):
        self.assertEqual(totals(percent(98, 33), percent(1999, 15)), ([66, 1699], 1765))

    def test_no_cent_is_lost_to_binary_fractions(self):
        self.assertEqual(totals(percent(100, 90), percent(100, 67)), ([10, 33], 43))

    def test_the_discounted_article_is_rounded_not_the_line(self):
        self.assertEqual(totals(percent(1005, 50, 2)), ([1006], 1006))

    def test_ordinary_discounts_stay_as_they_were(self):
        self.assertEqual(totals(amount(450, 100, 2), percent(2000, 25)), ([700, 1500], 2200))

    def test_quantities_multiply(self):
        self.assertEqual(totals({"price": 450, "quantity": 3}), ([1350], 1350))

    def test_a_line_without_articles_is_refused(self):
        with self.assertRaises(ValueError):
            totals({"price": 450, "quantity": 0})
