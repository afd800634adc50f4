import unittest
from pathlib import Path


class Outputs(unittest.TestCase):
    def test_the_file_says_hello(self) -> None:
        self.assertEqual(Path("/app/hello.txt").read_text(), "Hello, world!\n")


if __name__ == "__main__":
    unittest.main()
