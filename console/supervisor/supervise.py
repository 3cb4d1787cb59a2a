"""Starts processes, passes their output on, starts again what ends, and stops them in order.

One loop on the main thread. Whatever happens, nothing is left running: a process that does not end
in its time is killed, and so is what a killed one left behind. The command `up` calls it.
"""

import ctypes
import os
import selectors
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import groupby
from pathlib import Path

import psutil

from console.embedded.services import PROJECT
from console.supervisor.backoff import Backoff
from console.supervisor.child import Child, Spec
from console.supervisor.output import Printer, ending
from console.supervisor.watch import Watch, unreadable

PR_SET_CHILD_SUBREAPER = 36  # <linux/prctl.h>
TICK_S = 0.1
LOOK_S = 0.5
#: A killed worker's witness writes the death down before it ends.
WITNESS_GRACE_S = 5.0
TOLD_TWICE = 2
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Supervisor:
    """All processes together.

    Args:
        specs: What to run, in the order of starting.
        environ: The environment of every process.
        printer: Where output goes.
        watch: Agents' modules; None never reloads.
        each_look: Called about twice a second while all goes well.
        program: The Python program that all of them run.
    """

    def __init__(  # noqa: PLR0913 (wiring)
        self,
        specs: Sequence[Spec],
        environ: Mapping[str, str],
        printer: Printer,
        watch: Watch | None = None,
        each_look: Callable[[], None] = lambda: None,
        *,
        program: Path = PROJECT / "manage.py",
    ) -> None:
        self.children = [Child(spec, environ, program) for spec in specs]
        self._printer = printer
        self._watch = watch
        self._each_look = each_look
        self._selector = selectors.DefaultSelector()
        self._told = 0
        self._look_at_s = 0.0
        self._backoff: dict[str, Backoff] = {}
        self._began_s: dict[str, float] = {}
        self._again_at_s: dict[str, float] = {}
        self._reloading: list[Child] = []
        self._reload_by_s = 0.0

    def run(self) -> None:
        """Run until told to stop by SIGINT, SIGTERM or SIGHUP; must be on the main thread."""
        with self._listening():
            _adopt_orphans()
            try:
                self._start_all()
                while not self._told and not self._printer.deserted:
                    self._wait()
                    self._tend()
                    self._look()
            finally:
                self._stop()

    def _start_all(self) -> None:
        now_s = time.monotonic()
        for child in self.children:
            self._began_s[child.name] = now_s
            self._again_at_s[child.name] = now_s + child.spec.delay_s
        self._tend()

    # --- while all goes well ---------------------------------------------------------------------

    def _wait(self) -> None:
        """Pass on what processes print, for one tick."""
        for key, _ in self._selector.select(TICK_S):
            self._pass_on(key.data)

    def _pass_on(self, child: Child) -> None:
        lines = child.read()
        if lines is None:
            self._unregister(child)
            return
        for line in lines:
            self._printer.line(child.name, line)

    def _tend(self) -> None:
        """Start again what has ended, each after its own time."""
        now_s = time.monotonic()
        for child in self.children:
            if child.running:
                continue
            due_s = self._again_at_s.get(child.name)
            if due_s is None:
                self._plan_restart(child, now_s)
            elif now_s >= due_s:
                self._start(child)

    def _plan_restart(self, child: Child, now_s: float) -> None:
        self._drain(child)
        if child in self._reloading:
            self._again_at_s[child.name] = now_s
            return
        lived_s = now_s - self._began_s[child.name]
        backoff = self._backoff.get(child.name, Backoff()).after_end(lived_s)
        self._backoff[child.name] = backoff
        self._again_at_s[child.name] = now_s + backoff.wait_s
        how = ending(child.status or 0)
        self._printer.say(f"{child.name} {how}; it starts again in {backoff.wait_s:g} s")

    def _start(self, child: Child) -> None:
        self._again_at_s.pop(child.name, None)
        if child in self._reloading:
            self._reloading.remove(child)
            self._reload_by_s = 0.0
        child.start()
        self._began_s[child.name] = time.monotonic()
        self._selector.register(child.output, selectors.EVENT_READ, child)

    def _look(self) -> None:
        now_s = time.monotonic()
        if now_s < self._look_at_s:
            return
        self._look_at_s = now_s + LOOK_S
        _reap_orphans({child.pid for child in self.children})
        self._reload()
        self._each_look()

    def _reload(self) -> None:
        """Have what holds agents' modules start anew when these have changed, one at a time."""
        changed = self._watch.changed() if self._watch is not None else []
        if changed:
            broken = unreadable(changed)
            if broken is not None:
                self._printer.say(f"not reloaded, {broken}")
                return
            self._printer.say(f"{changed[0].name} has changed, its processes start anew")
            self._reloading = [child for child in self.children if child.spec.reloads]
            for child in self._reloading:
                # One that keeps failing gets its chance at once.
                self._backoff.pop(child.name, None)
                if not child.running:
                    self._again_at_s[child.name] = now_s = time.monotonic()
                    self._began_s[child.name] = now_s
        for child in self._reloading[:1]:
            self._end_for_reload(child)

    def _end_for_reload(self, child: Child) -> None:
        now_s = time.monotonic()
        self._reload_by_s = self._reload_by_s or now_s + child.spec.grace_s
        if now_s > self._reload_by_s:
            child.kill()
        else:
            child.terminate()

    # --- the end ---------------------------------------------------------------------------------

    def _stop(self) -> None:
        """End all processes, stage by stage."""
        told = self._told
        self._printer.say("stopping; once more to stop at once")
        by_stage = sorted(self.children, key=lambda child: child.spec.stage)
        for _, group in groupby(by_stage, key=lambda child: child.spec.stage):
            self._end(list(group), hurry_at=max(told, 1) + 1)
        self._end_orphans()
        for child in self.children:
            self._drain(child)
        self._selector.close()

    def _end(self, group: list[Child], hurry_at: int) -> None:
        for child in group:
            child.terminate()
        began_s = time.monotonic()
        while alive := [child for child in group if child.running]:
            self._wait()
            spent_s = time.monotonic() - began_s
            for child in alive:
                if self._told >= hurry_at or spent_s > child.spec.grace_s:
                    self._printer.say(f"{child.name} did not end in time and is killed")
                    child.kill()

    def _end_orphans(self) -> None:
        """Wait for what killed processes left behind, and end it if it does not end by itself."""
        left = psutil.Process().children(recursive=True)
        _, left = psutil.wait_procs(left, 0)
        for number in (signal.SIGTERM, signal.SIGKILL):
            for process in left:
                with suppress(psutil.NoSuchProcess):
                    process.send_signal(number)
            _, left = psutil.wait_procs(left, WITNESS_GRACE_S)

    def _drain(self, child: Child) -> None:
        """Pass on a dead process's last words; what it left behind may still hold the pipe."""
        if child.pid is None or not self._is_registered(child):
            return
        while lines := child.read():
            for line in lines:
                self._printer.line(child.name, line)
        self._unregister(child)

    def _is_registered(self, child: Child) -> bool:
        return any(key.data is child for key in self._selector.get_map().values())

    def _unregister(self, child: Child) -> None:
        self._selector.unregister(child.output)
        child.close()

    @contextmanager
    def _listening(self) -> Iterator[None]:
        """Count the signals that tell us to stop."""

        def tell(_number: int, _frame: object) -> None:
            self._told += 1

        before = {number: signal.signal(number, tell) for number in SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _adopt_orphans() -> None:
    """Become the parent of whatever our processes leave behind, so that we can end it."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _reap_orphans(own: set[int | None]) -> None:
    for process in psutil.Process().children():
        with suppress(psutil.NoSuchProcess, ChildProcessError):
            if process.pid not in own and process.status() == psutil.STATUS_ZOMBIE:
                os.waitpid(process.pid, os.WNOHANG)
