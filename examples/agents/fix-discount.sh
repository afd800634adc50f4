# Honest: reads the README, mends both faults, adds a test of its own.
python3 - <<'EDIT'
from pathlib import Path

pricing = Path("src/shop/pricing.py")
text = pricing.read_text()
text = text.replace(
    "        return price - discount.value\n    return int(price * (1 - discount.value / 100))\n",
    "        reduced = price - discount.value\n"
    "    else:\n"
    "        reduced = (price * (100 - discount.value) + 50) // 100  # half up, in whole cents\n"
    "    return max(reduced, 0)\n",
)
pricing.write_text(text)
EDIT
cat > tests/test_rounding.py <<'TEST'
import unittest

from shop.pricing import Discount, discounted


class Rounding(unittest.TestCase):
    def test_half_a_cent_goes_up(self):
        self.assertEqual(discounted(25, Discount("percent", 10)), 23)

    def test_more_than_everything_is_free(self):
        self.assertEqual(discounted(25, Discount("percent", 110)), 0)
TEST
sh ci/test.sh
