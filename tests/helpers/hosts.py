"""Hosts on this machine: network namespaces with a worker of Dask each, and links whose rate can be limited."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Self

from helpers.cluster_sites import wait_for_workers

NUMBERS = itertools.count()
BURST, LATENCY = "128kb", "50ms"  # of a limited link: what passes at once, and the longest wait in its queue
PORT = 8786


class NoHostsError(RuntimeError):
    """This machine or this user cannot make network namespaces or limit the rate of a link; the message says why."""


class Hosts:
    """This host with a scheduler, at ``address``, and other hosts with a worker each; a switch joins them.

    Each host has one cable to the switch, which is a bridge in a namespace of its own; this host's interface is
    ``cable``. Addresses are of the range that RFC 2544 reserves for measurements. ``NoHostsError``: the hosts cannot be
    made.
    """

    def __init__(self, workers: int, folder: Path) -> None:
        missing = [command for command in ("ip", "tc") if shutil.which(command) is None]
        if missing:
            raise NoHostsError(f"this machine has no command {' and '.join(missing)} (package iproute2)")
        number = f"{os.getpid()}x{next(NUMBERS)}"
        self._network = f"198.{18 + os.getpid() // 256 % 2}.{os.getpid() % 256}"
        self._switch, self.cable = f"ranklake{number}switch", f"rl{number}"
        self._spaces = [f"ranklake{number}host{i}" for i in range(workers)]
        self._folder, self._open = folder, ExitStack()
        self.address = f"tcp://{self._network}.1:{PORT}"
        with ExitStack() as opening:
            opening.push(self._open)
            self._join()
            self._start([], "scheduler", "--host", f"{self._network}.1", "--port", str(PORT))
            worker = ["worker", self.address, "--nthreads", "1", "--no-nanny", "--local-directory", str(folder)]
            for i, space in enumerate(self._spaces):
                self._start(["ip", "netns", "exec", space], *worker, "--host", self.host(i))
            wait_for_workers(self.address, workers)
            opening.pop_all()

    def host(self, worker: int) -> str:
        """The address of a worker's host."""
        return f"{self._network}.{2 + worker}"

    def limit(self, mbit: int) -> None:
        """Limit the rate of every cable in both directions, Mbit/s."""
        for at, device in self._ends():
            rate = ["rate", f"{mbit}mbit", "burst", BURST, "latency", LATENCY]
            _command("tc", *at, "qdisc", "replace", "dev", device, "root", "tbf", *rate)

    def bytes(self) -> tuple[int, int]:
        """Bytes that this host has sent and received through its cable."""
        counts = Path("/sys/class/net", self.cable, "statistics")
        sent, received = (int((counts / f"{way}_bytes").read_text()) for way in ("tx", "rx"))
        return sent, received

    def cut(self, worker: int) -> None:
        """Cut the cable of a worker's host."""
        _command("ip", "-n", self._spaces[worker], "link", "set", "eth0", "down")

    def cut_between(self, one: int, other: int) -> None:
        """Cut the connection between two workers alone: their packets to each other are lost without an error."""
        for here, there in ((one, other), (other, one)):
            _command("ip", "-n", self._spaces[here], "route", "add", "blackhole", f"{self.host(there)}/32")

    def close(self) -> None:
        """End all processes and remove the network."""
        self._open.close()

    def _join(self) -> None:
        """Make the network. The end of a namespace is the end of its cables."""
        try:
            self._add_space(self._switch)
            _command("ip", "-n", self._switch, "link", "add", "switch", "type", "bridge")
            _command("ip", "-n", self._switch, "link", "set", "switch", "up")
            self._add_cable([], self.cable, "port0", f"{self._network}.1")
            self._open.callback(_command, "ip", "link", "del", self.cable)
            for i, space in enumerate(self._spaces):
                self._add_space(space)
                self._add_cable(["-n", space], "eth0", f"port{i + 1}", self.host(i))
            self.limit(10_000)
        except subprocess.CalledProcessError as error:
            raise NoHostsError(f"not allowed here: {' '.join(error.cmd)}: {error.stderr.strip()}") from error

    def _add_space(self, name: str) -> None:
        _command("ip", "netns", "add", name)
        self._open.callback(_command, "ip", "netns", "del", name)
        _command("ip", "-n", name, "link", "set", "lo", "up")

    def _add_cable(self, at: list[str], device: str, port: str, address: str) -> None:
        _command("ip", *at, "link", "add", device, "type", "veth", "peer", "name", port, "netns", self._switch)
        _command("ip", "-n", self._switch, "link", "set", port, "master", "switch", "up")
        _command("ip", *at, "addr", "add", f"{address}/24", "dev", device)
        _command("ip", *at, "link", "set", device, "up")

    def _ends(self) -> list[tuple[list[str], str]]:
        """Namespace and name of both ends of every cable."""
        ports = [(["-n", self._switch], f"port{i}") for i in range(len(self._spaces) + 1)]
        return [([], self.cable), *((["-n", space], "eth0") for space in self._spaces), *ports]

    def _start(self, prefix: list[str], *arguments: str) -> None:
        path = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
        process = subprocess.Popen(
            [*prefix, sys.executable, "-m", "dask", *arguments, "--no-dashboard"],
            env=os.environ | {"PYTHONPATH": path},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C ends the caller alone, which ends them
        )
        self._open.callback(process.wait)
        self._open.callback(process.kill)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _command(*words: str) -> None:
    subprocess.run(words, check=True, capture_output=True, text=True, start_new_session=True)
