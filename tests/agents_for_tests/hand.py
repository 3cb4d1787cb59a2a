"""A worker's hand on one task: it claims, decides and writes as a worker does, calling no tool."""

from typing import Any, Self
from uuid import UUID

from runtime.core import commands as c
from runtime.core.effects import Effect
from runtime.core.keys import arguments_digest, digest, operation_id
from runtime.core.payloads import encode, summarise
from runtime.core.retry import ErrorKind, Failure, RetryPolicy
from runtime.core.reviews import Kind
from runtime.engine.desk import Desk
from runtime.engine.loading import sit_down
from runtime.engine.ports import Hints, NoHints, Ports
from runtime.store import claims, leases
from runtime.store.commits import Attached
from runtime.store.leases import Incarnation
from runtime.store.tasks import database_now


class Hand:
    """Holds one task.

    Args:
        task_id: The task; must be free.
        lease_s: How long the worker's lease lasts.
        slots: How many tasks the worker says it can hold.
        hints: Who is told what it does; nobody, unless somebody looks on.
    """

    def __init__(
        self,
        task_id: UUID,
        *,
        lease_s: float = 60.0,
        slots: int = 10,
        hints: Hints | None = None,
    ) -> None:
        self.ports = Ports(hints=hints or NoHints())
        self.ports.clock.hear(database_now())
        self.worker = self.ports.chance.uuid7(self.ports.clock.now())
        leases.register(
            Incarnation(self.worker, "testhost", 4711, "worker", ["default"], slots, "1"), lease_s
        )
        self.desk = self._sit(task_id)

    def _sit(self, task_id: UUID) -> Desk:
        claimed = claims.claim_one(self.worker, task_id)
        assert claimed is not None, "somebody holds the task"
        return sit_down(self.ports, claimed, f"worker:{self.worker}")

    def again(self) -> Self:
        """Take the task again after it was parked."""
        self.desk = self._sit(self.desk.claimed.id)
        return self

    def do(self, command: c.Command, attached: Attached | None = None) -> Self:
        """Decide a command and write it."""
        assert self.desk.write(self.desk.decide(command), attached or Attached())
        return self

    def start(self) -> Self:
        """Start the task."""
        return self.do(c.Start(str(self.worker)))

    def decided(self, tool: str, effect: Effect, **arguments: Any) -> c.Decided:
        """Name a call as the driver does."""
        desk = self.desk
        marks = arguments_digest(desk.key, encode(arguments).text)
        named = None
        if effect is not Effect.READ:
            named = operation_id(
                desk.key,
                task_id=desk.claimed.id,
                branch=desk.at.branch,
                step=desk.at.step + 1,
                ordinal=0,
                tool=tool,
                arguments_digest=marks,
            )
        return c.Decided(tool, effect, marks, arguments, named)

    def read(self, tool: str = "look", result: object = "seen") -> Self:
        """Make a read that succeeds at once."""
        decided = self.decided(tool, Effect.READ, order_id="A1")
        payload = encode(result)
        command = c.Succeeded(
            decided, digest(self.desk.key, "result", payload.text), summarise(result), 5
        )
        arguments = encode(dict(decided.arguments)).text
        return self.do(command, Attached(result=payload.text, arguments=arguments))

    def begin(self, tool: str = "pay", effect: Effect = Effect.KEYED) -> Self:
        """Write the intent of a call."""
        return self.do(c.Begin(self.decided(tool, effect, order_id="A1")))

    def succeed(self, result: object = "paid") -> Self:
        """Write the success of the pending call."""
        payload = encode(result)
        mark = digest(self.desk.key, "result", payload.text)
        return self.do(c.Succeeded(None, mark, summarise(result), 7), Attached(result=payload.text))

    def fail(self, message: str = "no answer", *, kind: ErrorKind = ErrorKind.RETRYABLE) -> Self:
        """Write a failed attempt of the pending call."""
        failure = Failure(kind, None, message, "Retryable")
        return self.do(c.Failed(None, failure, RetryPolicy(attempts=3, first_s=60, cap_s=60)))

    def doubt(self) -> Self:
        """Say that nobody knows whether the pending call happened."""
        return self.do(c.Doubted("the connection was lost"))

    def ask(self, question: str = "Which one?") -> Self:
        """Ask a person."""
        return self.do(c.AskHuman(question))

    def escalate(self, kind: Kind) -> Self:
        """Hand the task to a person."""
        return self.do(c.Escalate(kind, "it ended its worker three times"))

    def finish(self, result: object = "done") -> Self:
        """End the task."""
        payload = encode(result)
        mark = digest(self.desk.key, "result", payload.text)
        return self.do(
            c.Finish(mark, summarise(result)),
            Attached(
                end_result=payload.text,
                end_reason=summarise(result),
                end_search=summarise(result),
            ),
        )

    def give_back(self) -> Self:
        """Release the task, so that anybody can go on at once."""
        self.desk.release()
        return self
