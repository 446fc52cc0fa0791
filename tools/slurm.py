"""Slurm for the tests of clusters: find it, install it where that is allowed, run one node of it.

`make slurm` runs this. It never fails: where there is none and none may be installed, it says which
tests will be skipped, and how to enable them.
"""

from __future__ import annotations

import os
import platform
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch")
#: What a test says that is skipped.
REMEDY = (
    "tests/engine/test_slurm.py needs Slurm, and root to run it: install it (Debian: apt-get "
    "install slurm-wlm munge)"
)
#: Where Debian has daemons.
PATHS = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])
CONFIGURATION = """
ClusterName=wordsway
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
SlurmUser=root
AuthInfo=socket={folder}/munge.socket,cred_expire=5
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SchedulerType=sched/builtin
SchedulerParameters=batch_sched_delay=0,sched_interval=1
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
KillWait=1
NodeName={host} NodeAddr=127.0.0.1 CPUs=4 RealMemory=16000
PartitionName=main Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def find() -> bool:
    """Whether it can be run here."""
    return os.geteuid() == 0 and all(shutil.which(name, path=PATHS) for name in PROGRAMS)


def install() -> bool:
    """Install it where that is allowed: as root, where there is apt-get."""
    manager = shutil.which("apt-get")
    if manager is None or os.geteuid() != 0:
        return False
    quiet = dict(os.environ) | {"DEBIAN_FRONTEND": "noninteractive"}
    packages = ["--no-install-recommends", "slurm-wlm", "munge"]
    for command in (["update", "-qq"], ["install", "-qq", "-y", *packages]):
        done = subprocess.run(
            [manager, *command], env=quiet, stdout=subprocess.DEVNULL, timeout=900
        )
        if done.returncode:
            break
    return find()


@contextmanager
def running(folder: Path) -> Iterator[dict[str, str]]:
    """One node of Slurm with four processors; the variables with which its commands find it."""
    (folder / "state").mkdir(parents=True)
    (folder / "spool").mkdir()
    key = folder / "munge.key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o600)
    host = platform.node().partition(".")[0]
    configuration = folder / "slurm.conf"
    configuration.write_text(
        CONFIGURATION.format(host=host, folder=folder, ports=(_free_port(), _free_port()))
    )
    variables = {"SLURM_CONF": str(configuration), "PATH": PATHS}
    munge = [f"--{name}-file={folder}/munge.{name}" for name in ("key", "pid", "log", "seed")]
    daemons = {
        "munge": ["munged", "--force", *munge, f"--socket={folder}/munge.socket"],
        "slurmctld": ["slurmctld", "-c", "-f", str(configuration)],
        "slurmd": ["slurmd", "-f", str(configuration), "-N", host],
    }
    try:
        for command in daemons.values():
            subprocess.run(command, env=os.environ | variables, check=True, timeout=60)
        _until_idle(os.environ | variables)
        yield variables
    finally:
        for name in reversed(daemons):
            _end(folder / f"{name}.pid")


def _until_idle(environment: dict[str, str]) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        command = ["sinfo", "--noheader", "--format=%T"]
        if subprocess.run(command, env=environment, capture_output=True).stdout.strip() == b"idle":
            return
        time.sleep(0.2)
    raise TimeoutError("the node of Slurm did not become idle within a minute")


def _end(pid: Path) -> None:
    """End the daemon whose number is in a file, and wait for it."""
    with suppress(OSError, ValueError):
        number = int(pid.read_text())
        os.kill(number, signal.SIGTERM)
        for _ in range(100):
            time.sleep(0.1)
            os.kill(number, 0)
        os.kill(number, signal.SIGKILL)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


if __name__ == "__main__":
    found = find() or install()
    print("slurm: found" if found else f"skipped: {REMEDY}", file=sys.stderr)
