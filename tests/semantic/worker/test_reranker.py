"""The cross-encoder is loaded when it is enabled, not by the first search that needs it."""

import os
import signal
from pathlib import Path

import pytest

from vaultseek.base import limits
from vaultseek.errors import WorkerUnavailable

LOADING = """
ready()
while (frame := pipe.read(incoming)) is not None:
    with open({file!r}, "a") as file:
        print(frame.header["call"], frame.header["model"], file=file)
    send({{"id": frame.header["id"]}})
"""
LEFT = """
ready()
while (frame := pipe.read(incoming)) is not None:
    if frame.header["call"] == "load_reranker":
        send({"id": frame.header["id"]})
    else:
        left = frame.header["until"] - time.monotonic()
        send({"id": frame.header["id"]}, [np.float32([left])])
"""
ENDING = """
ready()
while (frame := pipe.read(incoming)) is not None:
    if frame.header["call"] == "load_reranker":
        os._exit(7)
    vectors(frame)
"""


async def test_what_is_switched_on_is_loaded_at_once_and_in_each_new_child(
    workers, until, tmp_path: Path
) -> None:
    file = tmp_path / "calls"
    file.touch()
    worker = workers.fake(LOADING.format(file=str(file)))
    await worker.ready()
    assert file.read_text() == ""
    worker.keep_reranker("first")
    await until(lambda: file.read_text() == "load_reranker first\n")
    worker.keep_reranker("second")
    await until(lambda: file.read_text().endswith("load_reranker second\n"))
    os.kill(worker.state.pid, signal.SIGKILL)
    await until(lambda: file.read_text().count("load_reranker second\n") == 2)
    worker.keep_reranker(None)
    os.kill(worker.state.pid, signal.SIGKILL)
    await until(lambda: worker.state.restarts == 2 and worker.state.status == "ready")
    assert file.read_text().count("\n") == 3


async def test_the_way_back_of_the_answer_is_part_of_the_limit(workers) -> None:
    worker = workers.fake(LEFT)
    await worker.ready()
    left = await worker.rerank("query", ["text"], "model", deadline=30)
    assert 0 < left[0] <= 30 - limits.RERANK_ANSWER_SECONDS


@pytest.mark.fault("I9")
async def test_a_model_that_ends_the_worker_is_not_tried_for_ever(workers, until) -> None:
    worker = workers.fake(ENDING)
    worker.keep_reranker("heavy")
    await worker.ready()
    await until(lambda: worker.state.restarts >= 2 and worker.state.status == "ready")
    with pytest.raises(WorkerUnavailable, match="choose another") as refused:
        await worker.rerank("query", ["text"], "heavy", deadline=1)
    assert refused.value.cause == "model_unusable"
    assert (await worker.embed(["words go on"])).shape == (1, 2)
    assert worker.state.restarts == 2
