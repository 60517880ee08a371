"""Work is done in threads, each with a controller of its own, and is finished before the server ends."""

from __future__ import annotations

import threading

import pytest

from rewind.controller import Controller
from rewind.errors import RewindError
from rewind.web.server.work import JobRunner
from web.scene import Shop


@pytest.fixture
def runner(shop: Shop) -> JobRunner:
    return JobRunner(str(shop.cli.project), str(shop.cli.home / ".rewind"))


def test_the_end_waits_for_what_was_begun(runner: JobRunner) -> None:
    begun, go_on, done = threading.Event(), threading.Event(), []

    def job(controller: Controller) -> None:
        begun.set()
        go_on.wait(90)
        done.append(controller.project.root)

    thread = threading.Thread(target=runner.run_here, args=(job,))
    thread.start()
    assert begun.wait(90)
    runner.finish(wait=0.01)
    assert not done
    go_on.set()
    runner.finish()
    assert done
    thread.join()


def test_what_went_wrong_leaves_nothing_behind(runner: JobRunner) -> None:
    def job(controller: Controller) -> None:
        raise RewindError("no")

    for _ in range(3):
        with pytest.raises(RewindError):
            runner.run_here(job)
    runner.finish(wait=0)
