"""Signals to a sweep and to its workers, at random moments, until as many as asked for have hit.

After each run that was hit: does a process survive for five seconds, how long was the longest
silence, and, once the sweep is done, is its table that of an undisturbed run?
"""

from __future__ import annotations

import contextlib
import random
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import psutil

#: Cells of some hundredths of a second, more than a run does before it is hit: what takes time is
#: restarting Python after each signal.
GRID = """trials = 150
[[grid]]
map = "rf"
n = 3
d = 4
[[grid]]
map = "raf"
n = 3
d = 4
trials = 6
"""
#: Seconds after which nothing may live on, and after which a silent run counts as hanging.
ORPHANED, SILENT = 5.0, 15.0
SIGNALS = {"KILL": signal.SIGKILL, "TERM": signal.SIGTERM, "INT": signal.SIGINT}


@dataclass
class Struck:
    """What became of the runs that were hit."""

    what: str
    hits: int = 0
    orphans: int = 0
    longest_silence: float = 0.0
    longest_end: float = 0.0
    tables: int = 0
    same: int = 0
    faults: list[str] = field(default_factory=list)

    @property
    def held(self) -> bool:
        return not (self.orphans or self.faults) and self.tables == self.same > 0


class Running:
    """A sweep in a separate process group, and the time of its last output."""

    def __init__(self, study: Path, out: Path, *options: str) -> None:
        command = [sys.executable, "-m", "wordsway", "sweep", str(study), "--out", str(out)]
        self.process = subprocess.Popen(
            [*command, "--retry-failed", *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.out = out
        self.lines: list[str] = []
        self.said = time.monotonic()
        self.silence = 0.0
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._heard()
            self.lines.append(line)

    def _heard(self) -> None:
        now = time.monotonic()
        self.silence, self.said = max(self.silence, now - self.said), now

    def family(self) -> list[psutil.Process]:
        try:
            return psutil.Process(self.process.pid).children(recursive=True)
        except psutil.Error:
            return []

    def workers(self) -> list[psutil.Process]:
        """The processes that run jobs."""
        found = []
        for child in self.family():
            try:
                command = " ".join(child.cmdline())  # a worker of ours, or of Dask
                ours = "workers import serve" in command or "spawn_main" in command
                if ours and not child.children():
                    found.append(child)
            except psutil.Error:
                continue
        return found

    def cells(self) -> int:
        """Cells that were stored."""
        segments = self.out.glob("store/segments/*.log")
        return sum(path.read_bytes().count(b"\n") for path in segments)

    def progressed(self, by: int = 1, most: float = 120.0) -> bool:
        """Wait until ``count`` more cells are stored; False if the run ends first."""
        before, deadline = self.cells(), time.monotonic() + most
        while self.process.poll() is None and time.monotonic() < deadline:
            if self.cells() >= before + by:
                return True
            time.sleep(0.05)
        return False

    def finish(self, most: float = 300.0) -> int:
        """Wait for its end; one that does not come is a fault, and forced."""
        try:
            status = self.process.wait(timeout=most)
        except subprocess.TimeoutExpired:
            _kill(self.family())
            self.process.kill()
            status = self.process.wait()
        self._heard()
        return status


def strike_main(study: Path, folder: Path, name: str, times: int, seed: int = 0) -> Struck:
    """Signals to the main process, every third while it starts, the others after its first cells;
    the run is started again until it is done.
    """
    struck, moments, part = Struck(f"{name} of the main process"), random.Random(seed), 0
    while struck.hits < times:
        out = folder / f"main-{name}-{part}"
        running = Running(study, out, "--workers", "2")
        if struck.hits % 3 == 0:
            time.sleep(moments.uniform(0.5, 4.0))
        elif not running.progressed():
            part += running.finish() == 0
            continue
        else:
            time.sleep(moments.uniform(0, 0.7))
        if running.process.poll() is not None:
            part += running.finish() == 0
            continue
        _strike(struck, running, SIGNALS[name])
    _complete(struck, study, [folder / f"main-{name}-{number}" for number in range(part + 1)])
    return struck


def _strike(struck: Struck, running: Running, number: signal.Signals) -> None:
    family = running.family()
    begun = time.monotonic()
    running.process.send_signal(number)
    if number == signal.SIGINT and struck.hits % 2:  # a second one leaves at once
        time.sleep(0.3)
        running.process.send_signal(number)
    running.finish()
    struck.longest_end = max(struck.longest_end, time.monotonic() - begun)
    struck.hits += 1
    _, alive = psutil.wait_procs(family, timeout=ORPHANED)
    struck.orphans += len(alive)
    _kill(alive)
    _note(struck, running)


def _kill(processes: list[psutil.Process]) -> None:
    for process in processes:
        with contextlib.suppress(psutil.Error):
            process.kill()


def strike_workers(
    study: Path, folder: Path, name: str, times: int, seed: int = 0, cluster: str | None = None
) -> Struck:
    """Signals to workers of a run that goes on."""
    where = ("--cluster", cluster) if cluster else ("--workers", "2")
    what = "Dask worker" if cluster else "worker"
    struck, chance, part = Struck(f"{name} of a {what}"), random.Random(seed), 0
    while struck.hits < times:
        running = Running(study, folder / f"{what}-{name}-{part}", *where)
        while struck.hits < times and running.progressed(by=2):
            workers = running.workers()
            if workers:
                victim = chance.choice(workers)
                try:
                    victim.send_signal(SIGNALS[name])
                    struck.hits += 1
                except psutil.Error:
                    continue
        family = running.family()
        # A cell whose workers were hit three times in a row is given up, with a warning.
        given_up = ("worker died", "workers died")
        if running.finish() != 0 and not any(
            why in line for line in running.lines for why in given_up
        ):
            struck.faults.append(f"{struck.what}: exit {running.process.returncode}")
        _, alive = psutil.wait_procs(family, timeout=ORPHANED)
        struck.orphans += len(alive)
        _kill(alive)
        _note(struck, running)
        part += 1
    _complete(struck, study, [folder / f"{what}-{name}-{number}" for number in range(part)])
    return struck


def _note(struck: Struck, running: Running) -> None:
    struck.longest_silence = max(struck.longest_silence, running.silence)
    if running.silence > SILENT:
        struck.faults.append(f"{struck.what}: silent for {running.silence:.0f} s")
    if any("Traceback" in line for line in running.lines):
        struck.faults.append(f"{struck.what}: a traceback")


def _complete(struck: Struck, study: Path, outs: list[Path]) -> None:
    """Every folder goes on to its end, and has the undisturbed table."""
    truth = undisturbed(study, study.parent)
    for out in outs:
        if Running(study, out, "--workers", "2").finish() != 0:
            struck.faults.append(f"{out.name} does not come to its end")
            continue
        struck.tables += 1
        struck.same += (out / "cells.csv").read_bytes() == truth


def undisturbed(study: Path, folder: Path) -> bytes:
    """The table of an undisturbed run."""
    out = folder / "undisturbed"
    if not (out / "cells.csv").exists() and Running(study, out, "--workers", "1").finish() != 0:
        raise RuntimeError("the undisturbed run failed")
    return (out / "cells.csv").read_bytes()
