"""Light or dark: the person's own choice (`ui.theme`), else the terminal's background."""

from __future__ import annotations

import os

from rewind.cli.output.terminal import is_light
from rewind.controller import CONFIG_FILE, load_usable
from rewind.paths import rewind_home


def light_wanted() -> bool:
    """A file with problems is told of by whatever needs it; the colours do not."""
    theme = load_usable(rewind_home(), None)[0].get("ui.theme")
    return is_light() if theme == "auto" else bool(theme == "light")


def remember_light(light: bool) -> None:
    from rewind.controller import set_value

    set_value(os.path.join(rewind_home(), CONFIG_FILE), "ui.theme", "light" if light else "dark", False)
