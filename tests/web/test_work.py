"""Work is done in threads, each with a controller of its own, and is finished before the server ends."""

from __future__ import annotations

import threading

import pytest

from rewind.controller import Controller
from rewind.errors import RewindError
from rewind.web.server.work import Workshop
from web.scene import Shop


@pytest.fixture
def workshop(shop: Shop) -> Workshop:
    return Workshop(str(shop.cli.project), str(shop.cli.home / ".rewind"))


def test_the_end_waits_for_what_was_begun(workshop: Workshop) -> None:
    begun, go_on, done = threading.Event(), threading.Event(), []

    def job(controller: Controller) -> None:
        begun.set()
        go_on.wait(90)
        done.append(controller.project.root)

    thread = threading.Thread(target=workshop.run_here, args=(job,))
    thread.start()
    assert begun.wait(90)
    workshop.finish(wait=0.01)
    assert not done
    go_on.set()
    workshop.finish()
    assert done
    thread.join()


def test_what_went_wrong_leaves_nothing_behind(workshop: Workshop) -> None:
    def job(controller: Controller) -> None:
        raise RewindError("no")

    for _ in range(3):
        with pytest.raises(RewindError):
            workshop.run_here(job)
    workshop.finish(wait=0)
