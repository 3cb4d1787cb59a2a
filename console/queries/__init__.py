"""What pages read in bulk: frozen rows, never model instances, each a fixed number of queries.

The rest of what pages show comes from `runtime.api`.  Lists page by key, counts are capped, and no
query reads more than its page shows.  One module for each kind of page.
"""

from console.queries.base import COUNTED, NAMESPACE, RECENT, database_now
from console.queries.counting import agents, counts, open_reviews, titles, versions
from console.queries.task import (
    PATH_EVENTS,
    LeaseView,
    ReviewLine,
    Travelled,
    arguments_of,
    first_position,
    lease,
    reviews_of,
    travelled,
)
from console.queries.tasks import (
    BadCursor,
    Filter,
    TaskPage,
    TaskRow,
    newest_task,
    news,
    task_page,
    task_rows,
)

__all__ = [
    "COUNTED",
    "NAMESPACE",
    "PATH_EVENTS",
    "RECENT",
    "BadCursor",
    "Filter",
    "LeaseView",
    "ReviewLine",
    "TaskPage",
    "TaskRow",
    "Travelled",
    "agents",
    "arguments_of",
    "counts",
    "database_now",
    "first_position",
    "lease",
    "newest_task",
    "news",
    "open_reviews",
    "reviews_of",
    "task_page",
    "task_rows",
    "titles",
    "travelled",
    "versions",
]
