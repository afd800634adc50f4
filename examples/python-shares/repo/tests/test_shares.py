import unittest

from till.shares import share


class Shares(unittest.TestCase):
    def test_even(self):
        self.assertEqual(share(100, 4), [25, 25, 25, 25])

    def test_nobody(self):
        with self.assertRaises(ValueError):
            share(100, 0)


if __name__ == "__main__":
    unittest.main()
