"""An ordinary test. With `oracle.mode: split` the `share` that it calls is in another sandbox."""

import unittest

from till.shares import share


class Shares(unittest.TestCase):
    def test_one_cent_too_many(self):
        self.assertEqual(share(100, 3), [34, 33, 33])

    def test_several_cents_too_many(self):
        self.assertEqual(share(1003, 4), [251, 251, 251, 250])

    def test_more_friends_than_cents(self):
        self.assertEqual(share(2, 5), [1, 1, 0, 0, 0])

    def test_nothing_is_lost_and_nobody_is_favoured(self):
        for cents, parts in ((0, 3), (7, 2), (999, 10), (12345, 7)):
            got = share(cents, parts)
            self.assertEqual(sum(got), cents)
            self.assertLessEqual(max(got) - min(got), 1)

    def test_nobody(self):
        with self.assertRaises(ValueError):
            share(10, 0)


if __name__ == "__main__":
    unittest.main()
