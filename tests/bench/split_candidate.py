"""The texts of a candidate and of hidden tests, for tests of split oracles: what works, and what is refused."""

CORE = """
import asyncio
import collections
import dataclasses
import json
import logging

VERSION = "1.2"
LIMITS = {"a": 1, 2: [3, (4, 5)], (1, 2): {"x"}}
log = logging.getLogger("shop")


class ShopError(Exception):
    pass


class NotFound(ShopError, LookupError):
    def __init__(self, key):
        super().__init__(f"no {key}")
        self.key = key


Point = collections.namedtuple("Point", "x y")


@dataclasses.dataclass
class Line:
    name: str
    price: int

    def total(self):
        return self.price


class Cart:
    SIZE = 3

    def __init__(self, owner=""):
        self.owner = owner
        self.prices = []

    @classmethod
    def of(cls, *prices):
        cart = cls()
        cart.prices = list(prices)
        return cart

    @property
    def first(self):
        return self.prices[0]

    def add(self, price):
        self.prices.append(price)
        return self

    def copied(self):
        return Cart.of(*self.prices)

    def __len__(self):
        return len(self.prices)

    def __iter__(self):
        return iter(self.prices)

    def __getitem__(self, at):
        return self.prices[at]

    def __contains__(self, price):
        return price in self.prices

    def __eq__(self, other):
        return isinstance(other, Cart) and self.prices == other.prices

    def __lt__(self, other):
        return sum(self.prices) < sum(other.prices)

    def __add__(self, other):
        return Cart.of(*self.prices, *other.prices)

    def __repr__(self):
        return f"Cart({self.prices})"

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        self.prices.clear()
        return kind is ValueError


class Hidden:
    def startswith(self, text):
        return True


def echo(value):
    return value


def double(number):
    return 2 * number


async def later(number):
    await asyncio.sleep(0)
    return 2 * number


def up_to(count):
    for number in range(count):
        yield number


def apply(function, value):
    return function(value)


def find(key):
    raise NotFound(key)


def misread():
    raise json.JSONDecodeError("no", "text", 1)


def leave():
    raise SystemExit(3)


def line(name):
    return Line(name, 3)


def cheaper(line):
    return Line(line.name, line.price - 1)


def point():
    return Point(1, 2)


def moved(point):
    return Point(point.x + 1, point.y)


def size(cart):
    return len(cart)


def hidden():
    return Hidden()
"""

WORKS = """
import asyncio, json, os
import pytest
import shop
from shop import core
from shop.core import Cart, Line, NotFound, Point, ShopError


def test_constants():
    assert core.VERSION == "1.2"
    assert core.LIMITS == {"a": 1, 2: [3, (4, 5)], (1, 2): {"x"}}
    assert shop.__version__ == "9"

def test_exceptions_of_its_own():
    with pytest.raises(NotFound, match="no apple") as caught:
        core.find("apple")
    assert caught.value.key == "apple"
    assert isinstance(caught.value, ShopError) and isinstance(caught.value, LookupError)

def test_exceptions_of_python():
    with pytest.raises(json.JSONDecodeError):
        core.misread()
    with pytest.raises(TypeError):
        core.double()
    with pytest.raises(SystemExit) as caught:
        core.leave()
    assert caught.value.code == 3

def test_names_that_are_not_there():
    with pytest.raises(AttributeError):
        core.nothing
    with pytest.raises(ImportError):
        from shop import nothing

def test_iterators():
    assert list(core.up_to(3)) == [0, 1, 2]
    assert core.up_to(2) != [0, 1]

def test_named_tuples():
    assert core.point() == (1, 2) and core.point().x == 1
    assert core.moved(core.point()) == Point(2, 2)

def test_data_classes():
    assert core.line("a") == Line("a", 3) != Line("a", 4)
    assert core.cheaper(core.line("a")).price == 2
    assert isinstance(core.line("a"), Line)

def test_objects():
    cart = Cart("me")
    assert cart.add(3).add(4) is cart
    assert (len(cart), list(cart), cart[1], cart.first, cart.owner) == (2, [3, 4], 4, 3, "me")
    assert 3 in cart and 5 not in cart
    assert repr(cart) == "Cart([3, 4])"
    assert isinstance(cart, Cart) and Cart.SIZE == 3 and core.size(cart) == 2
    cart.owner = "you"
    assert cart.owner == "you"

def test_objects_and_operators():
    cart = Cart.of(3, 4)
    assert cart == Cart.of(3, 4) and cart != Cart.of(3) and Cart.of(1) < cart
    assert list(cart + Cart.of(1)) == [3, 4, 1]
    with cart as entered:
        assert entered is cart
    assert len(cart) == 0
    with cart:
        raise ValueError("taken")
    with pytest.raises(KeyError):
        with cart:
            raise KeyError("not taken")

def test_async():
    assert asyncio.run(core.later(4)) == 8

def test_its_own_functions_as_arguments():
    assert core.apply(core.double, 4) == 8

def test_a_module_that_only_the_change_has():
    from brandnew import answer
    assert answer() == 42

def test_nothing_of_its_code_is_here():
    texts = [open(os.path.join(folder, name), errors="replace").read()
             for folder, _, names in os.walk(".") for name in names if name.endswith(".py") and "test" not in name]
    assert not any("def double" in text or "return 42" in text for text in texts)
    assert open("data/words.txt").read() == "one two"
"""

REFUSED = """
import pytest
from shop import core
from shop.core import Cart

def test_a_callback():
    core.apply(lambda number: number, 1)

def test_patching_a_constant(monkeypatch):
    monkeypatch.setattr(core, "VERSION", "2")

def test_patching_a_function(monkeypatch):
    monkeypatch.setattr("shop.core.double", lambda number: 1)

def test_a_path(tmp_path):
    core.echo(tmp_path)

def test_comparing_an_object_with_data():
    assert Cart.of(3) == 3

def test_comparing_an_object_with_data_the_other_way():
    assert [3] != Cart.of(3)

def test_deriving_a_class():
    class Mine(Cart):
        pass

def test_an_object_that_is_not_listed():
    assert core.hidden().startswith("x")

def test_an_object_that_is_not_listed_is_no_error_of_its_own():
    with pytest.raises(Exception):
        core.hidden()

def test_a_method_of_what_arrived_as_data():
    core.line("a").total()

def test_data_without_an_end():
    around = []
    around.append(around)
    core.echo(around)

def test_importing_whatever_there_is():
    exec("from shop.core import *", {})

def test_a_module_of_somebody_else():
    core.json.dumps(1)
"""

AROUND = """
import time
import candidate
import pytest

def test_a_program():
    done = candidate.run(["sh", "tool.sh", "a b"], stdin="hi\\n", env={"X": "1"})
    assert done == candidate.ProgramResult(3, b"a b 1 hi\\n", b"err\\n")

def test_a_signal():
    assert candidate.run(["sh", "-c", "kill -TERM $$"]).signal == 15

def test_files():
    candidate.write("in/data.txt", "text")
    assert candidate.read("in/data.txt") == b"text" and candidate.list("in") == ["data.txt"]
    assert candidate.run(["pwd"], cwd="in").stdout.endswith(b"/in\\n")
    assert candidate.exists("in") and not candidate.exists("out")
    with pytest.raises(FileNotFoundError):
        candidate.read("out")

def test_no_program():
    with pytest.raises(FileNotFoundError):
        candidate.run(["./nothing"])

def test_a_slow_program():
    with pytest.raises(TimeoutError):
        candidate.run(["sleep", "60"], timeout_s=0.2)

def test_http():
    with candidate.start(["python3", "server.py"]):
        for _ in range(2000):
            try:
                got = candidate.http("POST", "/x", b"abc", headers={"X-Word": "w"}, port=8123)
                break
            except ConnectionRefusedError:
                time.sleep(0.05)
        assert (got.status, got.headers["x-word"], got.body) == (201, "w", b"ABC")
    with pytest.raises(ConnectionRefusedError):
        candidate.http("GET", "/", port=8123)

def test_call():
    assert candidate.call("shop.core:double", 3) == 6

def test_reset():
    counted = [candidate.call("counter:count") for _ in range(2)]
    candidate.reset()
    assert (counted, candidate.call("counter:count")) == ([1, 2], 1)

def test_what_is_not_there():
    assert not candidate.exists("tests") and not candidate.exists("candidate")
"""

SERVER = """
import http.server

class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        self.send_response(201)
        self.send_header("X-Word", self.headers["x-word"])
        self.end_headers()
        self.wfile.write(body.upper())

    def log_message(self, *words):
        pass

http.server.HTTPServer(("127.0.0.1", 8123), Handler).serve_forever()
"""

TREE = {
    "shop/__init__.py": "__version__ = '9'\n",
    "shop/core.py": CORE,
    "counter.py": "times = 0\n\n\ndef count():\n    global times\n    times += 1\n    return times\n",
    "tool.sh": 'read word; echo "$1 $X $word"; echo err >&2; exit 3\n',
    "server.py": SERVER,
    "data/words.txt": "one two",
    "tests/test_visible.py": "from shop.core import double\n\ndef test_visible():\n    assert double(2) == 4\n",
}
CHANGE = {"brandnew.py": "def answer():\n    return 42\n", "pytest.py": "raise SystemExit(0)\n"}
OBJECTS = ("shop.core:Cart*",)
