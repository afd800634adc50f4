import unittest

from shop.pricing import Discount, discounted


class Pricing(unittest.TestCase):
    def test_without_a_discount_the_price_stays(self):
        self.assertEqual(discounted(450), 450)

    def test_an_amount_is_taken_off(self):
        self.assertEqual(discounted(450, Discount("amount", 100)), 350)

    def test_a_share_is_taken_off(self):
        self.assertEqual(discounted(2000, Discount("percent", 25)), 1500)

    def test_a_discount_larger_than_the_price_makes_it_free(self):
        self.assertEqual(discounted(500, Discount("amount", 700)), 0)

    def test_a_negative_discount_is_refused(self):
        with self.assertRaises(ValueError):
            Discount("amount", -1)


if __name__ == "__main__":
    unittest.main()
