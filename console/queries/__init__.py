"""What pages read in bulk: frozen rows, never model instances, each a fixed number of queries.

The rest of what pages show comes from `runtime.api`.  Lists page by key, counts are capped, and no
query reads more than its page shows.  One module for each kind of page.
"""

from console.queries.base import COUNTED, NAMESPACE, RECENT, database_now
from console.queries.counting import agents, counts, open_reviews, titles, versions
from console.queries.journey import Journey, travelled
from console.queries.task import (
    SCANNED,
    ArtifactLine,
    EffectLine,
    LeaseView,
    Moment,
    Result,
    ReviewLine,
    TabCounts,
    arguments_of,
    artifacts_of,
    effects_of,
    events_of,
    first_position,
    lease,
    moments,
    place_of,
    results_of,
    reviews_of,
    succeeded,
    tab_counts,
    touched,
)
from console.queries.task_filters import Filter, Sort, Waits
from console.queries.task_lease import Holding, Taking, epochs_of, holdings, takings
from console.queries.task_rows import TaskRow, is_held, names_of, task_rows, worker_names
from console.queries.tasks import (
    BadCursor,
    TaskList,
    TaskPage,
    TooSlow,
    newest_task,
    patiently,
    task_page,
)

__all__ = [
    "COUNTED",
    "NAMESPACE",
    "RECENT",
    "SCANNED",
    "ArtifactLine",
    "BadCursor",
    "EffectLine",
    "Filter",
    "Holding",
    "Journey",
    "LeaseView",
    "Moment",
    "Result",
    "ReviewLine",
    "Sort",
    "TabCounts",
    "Taking",
    "TaskList",
    "TaskPage",
    "TaskRow",
    "TooSlow",
    "Waits",
    "agents",
    "arguments_of",
    "artifacts_of",
    "counts",
    "database_now",
    "effects_of",
    "epochs_of",
    "events_of",
    "first_position",
    "holdings",
    "is_held",
    "lease",
    "moments",
    "names_of",
    "newest_task",
    "open_reviews",
    "patiently",
    "place_of",
    "results_of",
    "reviews_of",
    "succeeded",
    "tab_counts",
    "takings",
    "task_page",
    "task_rows",
    "titles",
    "touched",
    "travelled",
    "versions",
    "worker_names",
]
