"""A project whose files are worth looking at: several turns wrote one of them, and a person a line."""

from __future__ import annotations

from pathlib import Path

from shop import Agent, open_shop

CART = '''"""The cart of the shop."""


class Cart:
    """Keeps what a customer wants to buy."""

    def __init__(self):
        self.items = []

    def add(self, item, count=1):
        self.items.append((item, count))

    def remove(self, item):
        self.items = [one for one in self.items if one[0] != item]
'''
TOTAL = '''
    def total(self):
        return sum(item.price * count for item, count in self.items)
'''
CHECK = """        if count < 1:
            raise ValueError(f"not a count: {count}")
"""
ADD = "        self.items.append((item, count))\n"
MERGE = "        self.items = merged(self.items, item, count)\n"


def furnish_files(home: Path, project: Path) -> Agent:
    agent = open_shop(home, project)
    checked = CART.replace(ADD, CHECK + ADD) + TOTAL
    agent.turn("Put the cart back without the database, as a plain list",
               {"src/shop/cart.py": CART, "src/shop/__init__.py": "", "db/schema.sql": None})
    agent.turn("Add a total in cents", {"src/shop/cart.py": CART + TOTAL,
                                        "tests/test_cart.py": "def test_total():\n    assert True\n"})
    agent.turn("Refuse counts below one, with a clear error", {"src/shop/cart.py": checked})
    agent.turn("Add an item twice, and it is one line with a count of two",
               {"src/shop/cart.py": checked.replace(ADD, MERGE).replace("count < 1", "count <= 0")})
    path = project / "src/shop/cart.py"
    path.write_text(path.read_text().replace("in self.items)\n", "in self.items)  # cents\n"))
    return agent
