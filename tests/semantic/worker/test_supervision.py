"""The daemon soon gets an answer or a clear error from any child, and the child is restarted."""

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vaultseek.base import limits
from vaultseek.base.child_process import CRASH_KILLS
from vaultseek.base.model import Reason
from vaultseek.errors import IndexDamaged, WorkerUnavailable
from vaultseek.semantic.inference.embed import HASHING_DIMENSION
from vaultseek.semantic.worker import CHUNKS, supervisor

pytestmark = pytest.mark.slow

SERVE = """
ready()
while (frame := pipe.read(incoming)) is not None:
    if "call" in frame.header:
        vectors(frame)
"""


def has_exited(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except FileNotFoundError:
        return True


async def test_it_starts_on_demand_and_reports_it(workers: Any) -> None:
    worker = workers.real()
    assert worker.state.status == "down"
    vectors = await worker.embed(["one", "two words"])
    assert vectors.shape == (2, 64)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1])
    state = worker.state
    assert (state.status, state.model, state.dimension, state.reason) == ("ready", "hashing", 64, None)
    assert state.computing == "by hashing words"
    assert state.pid is not None
    assert worker.memory_bytes > 1_000_000
    await worker.stop()
    assert [state.status for state in workers.states] == ["starting", "ready", "down"]
    assert worker.state.pid is None


@pytest.mark.fault("I6")
async def test_urgent_calls_do_not_wait_for_the_start(workers: Any, tmp_path: Path) -> None:
    worker = workers.real()
    with pytest.raises(WorkerUnavailable, match="starting"):
        await worker.embed(["now"], urgent=True)
    with pytest.raises(WorkerUnavailable, match="starting"):
        await worker.query(tmp_path, "now", 5)
    await worker.ready()
    assert (await worker.embed(["now"], urgent=True)).shape == (1, 64)


async def test_stopping_and_starting_again(workers: Any) -> None:
    worker = workers.real()
    await worker.stop()
    with pytest.raises(WorkerUnavailable, match="down"):
        await worker.ready()
    await worker.start()
    await worker.ready()
    first = worker.state.pid
    await worker.stop()
    await worker.stop()
    with pytest.raises(WorkerUnavailable, match="stopped"):
        await worker.embed(["x"])
    await worker.start()
    await worker.ready()
    assert worker.state.pid != first


@pytest.mark.fault("A9")
async def test_a_kill_fails_the_call_with_its_signal_and_the_next_one_works(workers: Any, until: Any) -> None:
    worker = workers.fake(
        """
        ready()
        while (frame := pipe.read(incoming)) is not None:
            if frame.header["texts"] != ["hang"]:
                vectors(frame)
        """
    )
    await worker.ready()
    call = asyncio.create_task(worker.embed(["hang"]))
    await until(lambda: worker.state.doing == "embedding 1 passage")
    os.kill(worker.state.pid, signal.SIGKILL)
    with pytest.raises(WorkerUnavailable, match="signal 9"):
        await call
    assert (await worker.embed(["fine"])).shape == (1, 2)
    assert worker.state.restarts == 1


@pytest.mark.fault("A11")
async def test_a_hung_call_is_killed_and_the_next_one_works(workers: Any) -> None:
    worker = workers.fake(
        """
        ready()
        frame = pipe.read(incoming)
        if "hang" in frame.header["texts"]:
            time.sleep(60)
        vectors(frame)
        pipe.read(incoming)
        """,
        embed_seconds=1.0,
    )
    with pytest.raises(WorkerUnavailable, match="hung while embedding 1 passage"):
        await worker.embed(["hang"])
    assert (await worker.embed(["fine"])).shape == (1, 2)


@pytest.mark.fault("A11")
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says how long a process waited to run")
async def test_a_child_that_gets_no_processor_does_not_count_as_hung(workers: Any) -> None:
    processor = min(os.sched_getaffinity(0))
    spinning = f"import os; os.sched_setaffinity(0, {{{processor}}})\nwhile True: pass"
    worker = workers.fake(
        f"""
        ready()
        frame = pipe.read(incoming)
        os.sched_setaffinity(0, {{{processor}}})
        os.nice(19)
        began, needed = time.monotonic(), time.process_time() + 0.03
        while time.process_time() < needed or time.monotonic() < began + 2.5:
            pass
        vectors(frame)
        pipe.read(incoming)
        """,
        embed_seconds=1.0,
    )
    await worker.ready()
    spinner = await asyncio.create_subprocess_exec(sys.executable, "-c", spinning)
    try:
        assert (await worker.embed(["slow"])).shape == (1, 2)
        assert worker.state.restarts == 0
    finally:
        spinner.kill()
        await spinner.wait()


async def test_a_child_that_starts_no_request_is_killed(workers: Any) -> None:
    worker = workers.fake("ready(); time.sleep(60)", answer_seconds=0.3)
    await worker.ready()
    with pytest.raises(WorkerUnavailable, match="hung"):
        await worker.embed(["x"] * 20, urgent=True)


async def test_the_callers_deadline_does_not_kill_a_child_at_work(workers: Any) -> None:
    worker = workers.fake(
        """
        ready()
        frame = pipe.read(incoming)
        time.sleep(0.5)
        vectors(frame)
        assert pipe.read(incoming).header["cancel"]
        frame = pipe.read(incoming)
        vectors(frame)
        pipe.read(incoming)
        """
    )
    await worker.ready()
    pid = worker.state.pid
    with pytest.raises(WorkerUnavailable, match="in time"):
        await worker.embed(["slow"], deadline=0.05)
    assert (await worker.embed(["next"])).shape == (1, 2)
    assert worker.state.pid == pid


async def test_abandoned_requests_are_cancelled(workers: Any, tmp_path: Path, until: Any) -> None:
    worker = workers.fake(
        f"""
        ready()
        for _ in range(2):
            frame = pipe.read(incoming)
        open({str(tmp_path / "cancelled")!r}, "w").write(str(frame.header["cancel"]))
        pipe.read(incoming)
        """
    )
    await worker.ready()
    call = asyncio.create_task(worker.embed(["x"]))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await until((tmp_path / "cancelled").exists)


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (
            "outgoing.write(b'hello, this is not a frame at all'); outgoing.flush(); time.sleep(60)",
            "invalid data",
        ),
        ("sys.exit(7)", "code 7"),
        ("raise OSError('the last line of the trace')", "the last line of the trace"),
        ("os.abort()", "signal 6"),
        (
            "outgoing.write(pipe.pack({'id': 1})[:9]); outgoing.flush(); outgoing.close(); os._exit(0)",
            "cut off",
        ),
        ("send({'nonsense': 1}); time.sleep(60)", "an invalid message"),
    ],
)
async def test_a_child_that_never_works_opens_the_breaker(workers: Any, script: str, reason: str) -> None:
    worker = workers.fake(script, backoff_seconds=(0.0, 0.0, 0.0, 0.0, 60.0))
    attempts = supervisor.WORKER_BREAKER_FAILURES
    with pytest.raises(WorkerUnavailable, match=reason):
        await worker.embed(["x"])
    assert worker.state.status == "broken"
    assert worker.state.restarts == attempts - 1
    with pytest.raises(WorkerUnavailable, match="broken"):
        await worker.embed(["x"])


async def test_the_breaker_lets_one_through_after_a_while(workers: Any, tmp_path: Path, until: Any) -> None:
    worker = workers.fake(
        f"if not os.path.exists({str(tmp_path / 'well')!r}): sys.exit(1)\n" + SERVE,
        backoff_seconds=(0.0, 0.4),
    )
    with pytest.raises(WorkerUnavailable):
        await worker.ready()
    (tmp_path / "well").touch()
    await until(lambda: worker.state.status == "ready")
    assert (await worker.embed(["x"])).shape == (1, 2)


async def test_a_child_that_is_killed_while_nothing_is_asked_comes_back_before_the_longest_pause(
    workers: Any, until: Any
) -> None:
    worker = workers.fake(SERVE, backoff_seconds=(0.0, 0.2, 600.0))
    for _ in range(supervisor.WORKER_BREAKER_FAILURES + 2):
        await worker.ready(30)
        os.kill(worker.state.pid, signal.SIGKILL)
        await until(lambda: worker.state.status != "ready")
        await until(lambda: worker.state.status == "ready")
    assert (await worker.embed(["x"])).shape == (1, 2)


async def test_a_child_that_is_killed_whenever_it_appears_comes_back_when_that_ends(
    workers: Any, until: Any
) -> None:
    worker = workers.fake(
        "time.sleep(0.3)\n" + SERVE, backoff_seconds=(0.0, 0.0, 600.0, 600.0), retry_seconds=0.1
    )
    await worker.start()
    for _ in range(supervisor.WORKER_BREAKER_FAILURES + 2):
        await until(lambda: worker.state.pid is not None)
        pid = worker.state.pid
        os.kill(pid, signal.SIGKILL)
        await until(lambda pid=pid: worker.state.pid != pid)
    await until(lambda: worker.state.status == "ready")
    assert (await worker.embed(["x"])).shape == (1, 2)


async def test_a_request_cuts_the_pause_of_the_breaker_off(workers: Any, tmp_path: Path, until: Any) -> None:
    worker = workers.fake(
        f"if not os.path.exists({str(tmp_path / 'well')!r}): sys.exit(1)\n" + SERVE,
        backoff_seconds=(0.0, 0.0, 0.0, 0.0, 600.0),
        retry_seconds=0.3,
    )
    with pytest.raises(WorkerUnavailable):
        await worker.ready()
    await until(lambda: worker.state.status == "broken")
    (tmp_path / "well").touch()

    async def answers() -> bool:
        try:
            worker.want()
            return worker.state.status == "ready" and (await worker.embed(["x"])).shape == (1, 2)
        except WorkerUnavailable:
            return False

    async with asyncio.timeout(60):
        while not await answers():
            await asyncio.sleep(0.02)


async def test_a_model_that_cannot_be_used_is_not_tried_again_soon(workers: Any) -> None:
    worker = workers.real("no/such-model", backoff_seconds=(0.0, 60.0))
    with pytest.raises(WorkerUnavailable, match="'no/such-model' is not on this machine; fetch it"):
        await worker.embed(["x"])
    assert (worker.state.status, worker.state.restarts) == ("broken", 0)


async def test_a_processor_that_lacks_instructions_is_named_at_once(workers: Any) -> None:
    worker = workers.fake("os.kill(os.getpid(), signal.SIGILL)", backoff_seconds=(0.0, 60.0))
    with pytest.raises(WorkerUnavailable, match="CPU lacks instructions") as raised:
        await worker.embed(["x"])
    assert "search by word still works" in str(raised.value)
    assert raised.value.cause == "model_unusable"
    assert (worker.state.status, worker.state.restarts) == ("broken", 0)


async def test_the_same_signal_at_work_is_a_crash(workers: Any) -> None:
    worker = workers.fake("ready(); pipe.read(incoming); os.kill(os.getpid(), signal.SIGILL)")
    with pytest.raises(WorkerUnavailable, match="signal 4"):
        await worker.embed(["x"])
    await worker.ready()


@pytest.mark.fault("A9", "L4")
@pytest.mark.parametrize("end", ["os.kill(os.getpid(), signal.SIGSEGV)", "sys.exit(1)"])
async def test_starts_are_in_vain_until_a_child_is_ready(
    workers: Any, tmp_path: Path, until: Any, end: str
) -> None:
    well = tmp_path / "well"
    worker = workers.fake(f"if not os.path.exists({str(well)!r}): {end}\n" + SERVE, retry_seconds=0.05)
    await worker.start()
    assert not worker.state.in_vain, "the first start may take long"
    await until(lambda: worker.state.restarts > 1)
    assert worker.state.in_vain
    again = [state.reason.text for state in workers.states if state.status == "starting"][1:]
    assert all("again after a failed start: the process" in text for text in again)
    well.touch()
    await worker.ready()
    assert not worker.state.in_vain


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says what a process does")
async def test_a_start_gets_the_time_while_it_does_something(workers: Any) -> None:
    worker = workers.fake(
        "end = time.process_time() + 6\nwhile time.process_time() < end: pass\n" + SERVE, start_seconds=3.0
    )
    await worker.ready(60)
    assert worker.state.restarts == 0


async def test_a_start_that_never_ends_is_killed(workers: Any, until: Any) -> None:
    worker = workers.fake("while True: pass", longest_start_seconds=0.5, backoff_seconds=(60.0,))
    await worker.start()
    await until(lambda: worker.state.reason.text == "the process was not ready in time")


async def test_a_crash_leaves_no_core_dump(workers: Any, tmp_path: Path) -> None:
    limit = tmp_path / "limit"
    script = (
        f"import resource; open({str(limit)!r}, 'w').write(str(resource.getrlimit(resource.RLIMIT_CORE)))"
    )
    start = "from vaultseek.base import child_process\nchild_process.apply_child_limits()\n"
    worker = workers.fake(start + script + SERVE)
    await worker.ready()
    assert limit.read_text() == "(0, 0)"


async def test_a_missing_program(workers: Any) -> None:
    worker = workers.real(command=("/no/such/python",), backoff_seconds=(0.0,))
    with pytest.raises(WorkerUnavailable, match="cannot be started"):
        await worker.ready(5)


async def test_a_model_that_never_finishes_loading_is_killed(workers: Any, until: Any) -> None:
    worker = workers.fake("time.sleep(60)", start_seconds=0.2, backoff_seconds=(60.0,))
    with pytest.raises(WorkerUnavailable):
        await worker.embed(["x"], deadline=0.5)
    await until(
        lambda: worker.state.reason == Reason("worker_unavailable", "the process was not ready in time")
    )


@pytest.mark.fault("A17")
async def test_too_much_memory_is_a_reason_to_kill(workers: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    worker = workers.fake("ready(); pipe.read(incoming); time.sleep(60)")
    await worker.ready()
    monkeypatch.setattr(limits, "WORKER_MEMORY_BYTES", 1 << 20)
    with pytest.raises(WorkerUnavailable, match="more than 1 MiB"):
        await worker.embed(["x"])


@pytest.mark.fault("A10")
async def test_a_store_that_crashes_the_child_twice_is_damaged_until_it_is_dropped(
    workers: Any, tmp_path: Path
) -> None:
    worker = workers.fake(
        """
        ready()
        while (frame := pipe.read(incoming)) is not None:
            if frame.header["call"] == "query" and "bad" in frame.header["store"]:
                os.kill(os.getpid(), signal.SIGSEGV)
            send({"id": frame.header["id"], "count": 1})
        """,
        stable_seconds=0.0,
        backoff_seconds=(0.0, 0.0, 600.0),
        retry_seconds=600.0,
    )
    bad = tmp_path / "bad"
    await worker.ready()
    with pytest.raises(WorkerUnavailable):
        await worker.query(bad, "x", 5)
    await worker.ready()
    assert await worker.count(bad, CHUNKS) == 1
    with pytest.raises(IndexDamaged):
        await worker.query(bad, "x", 5)
    with pytest.raises(IndexDamaged):
        await worker.count(bad, CHUNKS)
    assert await worker.count(tmp_path / "good", CHUNKS, deadline=30) == 1, "there was no long pause"
    await worker.drop(bad)
    assert await worker.count(bad, CHUNKS) == 1


@pytest.mark.fault("A17")
async def test_a_text_that_crashes_the_child_is_identified_and_skipped(workers: Any) -> None:
    worker = workers.fake(
        """
        ready()
        while (frame := pipe.read(incoming)) is not None:
            if "poison" in frame.header["texts"]:
                os.abort()
            vectors(frame)
        """
    )
    texts = ["a", "b", "poison", "c"]
    for _ in range(2):
        with pytest.raises(WorkerUnavailable):
            await worker.embed(texts)
    vectors = await worker.embed(texts)
    assert np.isnan(vectors).all(axis=1).tolist() == [False, False, True, False]


@pytest.mark.fault("A9", "A17")
async def test_two_kills_by_another_program_cost_no_text(workers: Any, tmp_path: Path) -> None:
    worker = workers.fake(
        f"""
        ready()
        killed = {str(tmp_path)!r} + "/killed"
        while (frame := pipe.read(incoming)) is not None:
            times = len(open(killed).read()) if os.path.exists(killed) else 0
            if times < 3:
                open(killed, "a").write(".")
                os.kill(os.getpid(), signal.SIGKILL)
            vectors(frame)
        """
    )
    texts = ["a", "b", "c"]
    for _ in range(3):  # with the batch, and twice with only the first text
        with pytest.raises(WorkerUnavailable, match="signal 9"):
            await worker.embed(texts)
    assert np.isfinite(await worker.embed(texts)).all()


@pytest.mark.fault("A17")
async def test_a_text_for_which_the_system_has_no_memory_is_skipped_after_some_kills(workers: Any) -> None:
    worker = workers.fake(
        """
        ready()
        while (frame := pipe.read(incoming)) is not None:
            if "huge" in frame.header["texts"]:
                os.kill(os.getpid(), signal.SIGKILL)
            vectors(frame)
        """
    )
    texts = ["a", "b", "huge", "c"]
    for _ in range(1 + CRASH_KILLS):
        with pytest.raises(WorkerUnavailable, match="signal 9"):
            await worker.embed(texts)
    vectors = await worker.embed(texts)
    assert np.isnan(vectors).all(axis=1).tolist() == [False, False, True, False]


@pytest.mark.fault("A10")
async def test_a_store_is_damaged_after_more_kills_by_another_program_than_crashes(
    workers: Any, tmp_path: Path
) -> None:
    worker = workers.fake(
        """
        ready()
        while (frame := pipe.read(incoming)) is not None:
            if frame.header["call"] == "query":
                os.kill(os.getpid(), signal.SIGKILL)
            send({"id": frame.header["id"], "count": 1})
        """,
        stable_seconds=0.0,
    )
    for _ in range(supervisor.WORKER_STORE_CRASHES * CRASH_KILLS - 1):
        await worker.ready()
        with pytest.raises(WorkerUnavailable, match="signal 9"):
            await worker.query(tmp_path, "x", 5)
    assert await worker.count(tmp_path, CHUNKS) == 1
    with pytest.raises(IndexDamaged):
        await worker.query(tmp_path, "x", 5)


async def test_stopping_it_at_a_text_does_not_count_against_the_text(workers: Any, until: Any) -> None:
    worker = workers.fake(
        """
        ready()
        while (frame := pipe.read(incoming)) is not None:
            if frame.header["queue"] == "answer":
                vectors(frame)
        """
    )
    for _ in range(2):
        await worker.start()
        await worker.ready()
        call = asyncio.create_task(worker.embed(["a text"]))
        await until(lambda: worker.state.doing == "embedding 1 passage")
        await worker.stop()
        with pytest.raises(WorkerUnavailable):
            await call
    await worker.start()
    await worker.ready()
    assert np.isfinite(await worker.embed(["a text"], urgent=True)).all()


@pytest.mark.fault("J3")
async def test_output_of_the_child_goes_to_a_capped_log(
    workers: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, until: Any
) -> None:
    monkeypatch.setattr(limits, "LOG_BYTES", 10_000)
    log = tmp_path / "worker.log"
    noise = "for i in range(2000): print('noise', i, file=sys.stderr, flush=True)\n"
    worker = workers.fake(noise + SERVE, log=log)
    await worker.ready()

    def written() -> str:  # the first output may come after the child is ready, and be split anywhere
        return "".join(file.read_text() for file in (log.with_name("worker.log.1"), log) if file.exists())

    await until(lambda: "noise 1999" in written())
    files = {file.name: file.stat() for file in log.parent.glob("worker.log*")}
    assert set(files) == {"worker.log", "worker.log.1"}
    assert all(stat.st_size <= 10_000 and stat.st_mode & 0o077 == 0 for stat in files.values())


async def test_output_of_libraries_does_not_disturb_the_frames(workers: Any, tmp_path: Path) -> None:

    script = textwrap.dedent(
        """
        import os, sys
        import vaultseek.semantic.inference.embed as embed
        plain = embed.HashingEncoder.encode
        def encode(self, texts, **options):
            print("a library prints", flush=True)
            os.write(1, b"native code prints")
            return plain(self, texts, **options)
        embed.HashingEncoder.encode = encode
        from vaultseek.semantic.worker.main import main
        main()
        """
    )
    log = tmp_path / "worker.log"
    worker = workers.real(command=(sys.executable, "-c", script), log=log)
    assert (await worker.embed(["x"])).shape == (1, 64)
    await worker.stop()
    assert "a library prints" in log.read_text()
    assert "native code prints" in log.read_text()


@pytest.mark.fault("G10")
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child of its parent's death")
@pytest.mark.parametrize("frozen", [False, True])
async def test_the_child_dies_with_the_daemon(until: Any, frozen: bool) -> None:
    script = textwrap.dedent(
        """
        import asyncio
        from types import SimpleNamespace
        from vaultseek.semantic.worker import SemanticWorker, WorkerSettings

        async def main():
            model = SimpleNamespace(name="hashing", directory=None, fault=None, service=None)
            worker = SemanticWorker(model)
            await worker.ready()
            print(worker.state.pid, flush=True)
            await asyncio.sleep(60)

        asyncio.run(main())
        """
    )
    daemon = await asyncio.create_subprocess_exec(sys.executable, "-c", script, stdout=subprocess.PIPE)
    assert daemon.stdout is not None
    child = int(await daemon.stdout.readline())
    if frozen:
        os.kill(child, signal.SIGSTOP)
    daemon.kill()
    await daemon.wait()
    await until(lambda: has_exited(child))


@pytest.mark.fault("J4")
async def test_a_worker_that_nobody_asks_ends_and_the_next_request_starts_it(
    workers: Any, until: Any, tmp_path: Path
) -> None:
    worker = workers.real(idle_seconds=0.5, stable_seconds=0.0)
    await worker.embed(["some text"])
    pid = worker.state.pid
    await until(lambda: has_exited(pid))
    await until(lambda: worker.state.pid is None)
    assert (worker.state.status, worker.state.reason) == ("ready", None)
    with pytest.raises(WorkerUnavailable, match="being loaded") as error:
        await worker.query(tmp_path, "a question", 3)
    assert error.value.cause == "loading"
    assert worker.state.status == "starting"
    assert (await worker.embed(["some text"])).shape == (1, HASHING_DIMENSION)
    assert worker.state.pid not in (None, pid)
    await until(lambda: worker.state.pid is None)
    await worker.stop()
    await worker.start()
    for _ in range(2):
        assert (await worker.embed(["some text"])).shape == (1, HASHING_DIMENSION)


async def test_a_worker_at_work_is_not_idle(workers: Any) -> None:
    worker = workers.fake(
        """
        ready()
        frame = pipe.read(incoming)
        time.sleep(1.0)
        vectors(frame)
        pipe.read(incoming)
        """,
        idle_seconds=0.3,
        stable_seconds=0.0,
    )
    assert (await worker.embed(["slow"])).shape == (1, 2)


async def test_an_idle_worker_costs_nothing(workers: Any) -> None:
    worker = workers.real()
    await worker.embed(["x"])
    await asyncio.sleep(0)
    timers = [handle for handle in asyncio.get_running_loop()._scheduled if not handle.cancelled()]  # type: ignore[attr-defined]
    assert len([handle for handle in timers if handle.when() < asyncio.get_running_loop().time() + 10]) <= 1


def test_a_program_that_exits_at_once_leaves_no_process_and_does_not_hang(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import asyncio, sys\n"
        "from vaultseek.semantic.models.catalogue import find_model\n"
        "from vaultseek.semantic.worker import SemanticWorker\n"
        "async def main():\n"
        "    worker = SemanticWorker(find_model('hashing'))\n"
        "    try:\n"
        "        await worker.ready(30)\n"
        "        asyncio.get_running_loop().call_soon(sys.exit, 7)\n"
        "        await asyncio.sleep(60)\n"
        "    finally:\n"
        "        await worker.stop()\n"
        "asyncio.run(main())\n"
    )
    done = subprocess.run([sys.executable, str(program)], timeout=30, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (7, "")
