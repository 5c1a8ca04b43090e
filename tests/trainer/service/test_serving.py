"""What a service does about the process that it has for itself."""

from __future__ import annotations

import asyncio
import gc
import threading

import pytest

from halfmask.trainer.service._app import application
from halfmask.trainer.service._serving import settle
from trainer.service.stage import OPTIONS  # type: ignore[import-not-found] # beside, no package


@pytest.mark.slow
def test_the_search_for_circles_passes_over_what_is_there_for_good():
    gc.unfreeze()  # what the tests' own start froze

    settle()

    assert gc.get_freeze_count() > 1_000


def test_it_is_told_once_that_models_are_back(tmp_path):
    found, has_told = [], threading.Event()

    def opened():
        found.append(app.state.service.store.ready)
        has_told.set()

    async def lives():
        async with app.router.lifespan_context(app):
            assert await asyncio.to_thread(has_told.wait, 60)

    app = application(tmp_path / "t", OPTIONS, opened=opened)
    asyncio.run(lives())

    assert found == [True]
