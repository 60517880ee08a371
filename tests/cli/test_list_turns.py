"""`rewind list` by turns, as a person sees it."""

from __future__ import annotations

import pytest

from cli.conftest import InProcess
from cli.test_main import on_terminal
from map_scene import Story, afternoon


@pytest.fixture
def story(cli: InProcess) -> Story:
    return afternoon(cli)


def shown(story: Story, columns: int, *args: str, **env: str) -> list[str]:
    return on_terminal(story.cli, "list", *args, **{"NO_COLOR": "1", "COLUMNS": str(columns), **env}).splitlines()


def test_look(story: Story) -> None:
    with open("/tmp/map-look.txt", "w") as f:
        for width in (60, 80, 100, 120, 200):
            print(width, file=f); print("\n".join(shown(story, width)), file=f)
        print("\n".join(shown(story, 120, "--all")), file=f)
        print("\n".join(shown(story, 120, "--checkpoints")), file=f)
        print("\n".join(shown(story, 100, NO_COLOR="")), file=f)
