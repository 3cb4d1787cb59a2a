"""The facade of the runtime: what other packages import, and nothing else of it.

Every function is one transaction, takes keywords, and gives frozen rows.  Errors are those of
``runtime.core.errors``; each says in one sentence what happened and what to do.
"""

from runtime.api.account import NotPermitted, account, act_as
from runtime.api.acting import cancel, decide, pause, resume, retry
from runtime.api.charting import Counts, Series, series, stuck_tasks
from runtime.api.crew import NotInTheseHands, UnknownWorker, drain, force_release
from runtime.api.describing import AgentDescription, ToolDescription, agent, agents
from runtime.api.measuring import Measure, backlogs, measure, sweep_age_s
from runtime.api.operating import (
    Broker,
    BrokerStand,
    Dead,
    DeadLetter,
    DeadLetters,
    NothingToRequeue,
    Readiness,
    Requeued,
    broker,
    dead,
    queues,
    readiness,
    refusals,
    requeue,
    set_dead_letters,
    verify,
    workers,
)
from runtime.api.past import FARTHEST_FOLD, checkpoint, checkpoints_at
from runtime.api.process import observe, set_hints
from runtime.api.reading import (
    Why,
    callback,
    effects,
    events,
    review,
    reviews,
    step_results,
    task,
    tasks,
    versions,
    why,
)
from runtime.api.submitting import submit
from runtime.core.errors import (
    Ambiguous,
    Permanent,
    Retryable,
    SignalboxError,
    WrongUsage,
)
from runtime.core.manifest import Manifest
from runtime.core.plans import Plan
from runtime.engine.context import PlanContext
from runtime.store.callbacks import CallbackView
from runtime.store.measures import Backlog
from runtime.store.operations import QueueView, RefusalView, WorkerView
from runtime.store.stuck import StuckView
from runtime.store.verify import Problem, Verdict
from runtime.store.views import (
    EffectEvent,
    EffectView,
    EventView,
    Page,
    ReviewView,
    StepView,
    TaskDetail,
    TaskView,
)
from runtime.tools.agents import Agent, discover, get_agent
from runtime.tools.registry import tool

__all__ = [
    "FARTHEST_FOLD",
    "Agent",
    "AgentDescription",
    "Ambiguous",
    "Backlog",
    "Broker",
    "BrokerStand",
    "CallbackView",
    "Counts",
    "Dead",
    "DeadLetter",
    "DeadLetters",
    "EffectEvent",
    "EffectView",
    "EventView",
    "Manifest",
    "Measure",
    "NotInTheseHands",
    "NotPermitted",
    "NothingToRequeue",
    "Page",
    "Permanent",
    "Plan",
    "PlanContext",
    "Problem",
    "QueueView",
    "Readiness",
    "RefusalView",
    "Requeued",
    "Retryable",
    "ReviewView",
    "Series",
    "SignalboxError",
    "StepView",
    "StuckView",
    "TaskDetail",
    "TaskView",
    "ToolDescription",
    "UnknownWorker",
    "Verdict",
    "Why",
    "WorkerView",
    "WrongUsage",
    "account",
    "act_as",
    "agent",
    "agents",
    "backlogs",
    "broker",
    "callback",
    "cancel",
    "checkpoint",
    "checkpoints_at",
    "dead",
    "decide",
    "discover",
    "drain",
    "effects",
    "events",
    "force_release",
    "get_agent",
    "measure",
    "observe",
    "pause",
    "queues",
    "readiness",
    "refusals",
    "requeue",
    "resume",
    "retry",
    "review",
    "reviews",
    "series",
    "set_dead_letters",
    "set_hints",
    "step_results",
    "stuck_tasks",
    "submit",
    "sweep_age_s",
    "task",
    "tasks",
    "tool",
    "verify",
    "versions",
    "why",
    "workers",
]
