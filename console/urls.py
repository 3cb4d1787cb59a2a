"""The addresses the console answers to; each declares the permission it asks for."""

from collections.abc import Iterable

from allauth.account import urls as account
from allauth.mfa import urls as mfa
from django.urls import URLPattern, URLResolver, include, path

from console.guard import OF_OTHERS
from console.http import api
from console.http.health import healthz, readyz
from console.metrics import metrics
from console.pages import (
    agents,
    event,
    home,
    insights,
    keys,
    new_task,
    overview,
    personal,
    reviews,
    signing,
    task,
    task_bulk,
    task_lever,
    task_list,
    task_views,
    workers,
)


def _chosen(patterns: Iterable[URLPattern | URLResolver]) -> list[URLPattern | URLResolver]:
    """Take from another application's routes those we declare a permission for, and no others."""
    found: list[URLPattern | URLResolver] = []
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            found.append(path(str(pattern.pattern), include(_chosen(pattern.url_patterns))))
        elif pattern.name in OF_OTHERS:
            found.append(pattern)
    return found


urlpatterns: list[URLPattern | URLResolver] = [
    path("api/v1/", api.urls),
    path("healthz", healthz, name="healthz"),
    path("readyz", readyz, name="readyz"),
    path("metrics", metrics, name="metrics"),
    path("", overview.overview, name="home"),
    path("overview/parts/", overview.overview_parts, name="overview_parts"),
    path("overview/demo/", overview.start_demo, name="start_demo"),
    path("insights/", insights.insights, name="insights"),
    path("signed-in/", home.signed_in, name="signed_in"),
    path("tasks/", task_list.task_list, name="tasks"),
    path("tasks/rows/", task_list.task_rows, name="task_rows"),
    path("tasks/news/", task_list.task_news, name="task_news"),
    path("tasks/columns/", task_views.columns, name="task_columns"),
    path("tasks/views/new/", task_views.new_view, name="new_view"),
    path("tasks/views/<int:view_id>/", task_views.saved_view, name="saved_view"),
    path("tasks/bulk/", task_bulk.confirm, name="task_bulk"),
    path("tasks/bulk/run/", task_bulk.run, name="task_bulk_run"),
    path("tasks/bulk/<uuid:run_id>/", task_bulk.report, name="task_bulk_report"),
    path("keys/", keys.keys, name="keys"),
    path("tasks/<uuid:task_id>/", task.task, name="task"),
    path("tasks/<uuid:task_id>/parts/", task.task_parts, name="task_parts"),
    path("tasks/<uuid:task_id>/events/<int:seq>/", event.event, name="event"),
    path("tasks/<uuid:task_id>/events/<int:seq>/raw/", event.event_raw, name="event_raw"),
    path("tasks/<uuid:task_id>/artifacts/<uuid:handle>/", event.artifact_raw, name="artifact_raw"),
    path("tasks/<uuid:task_id>/export/", task.task_export, name="task_export"),
    path("tasks/<uuid:task_id>/paper/", task.task_paper, name="task_paper"),
    path("tasks/<uuid:task_id>/force-release/", workers.force_release, name="force_release"),
    path("tasks/<uuid:task_id>/<slug:name>/", task_lever.pull_lever, name="lever"),
    path("reviews/", reviews.review_list, name="reviews"),
    path("reviews/<uuid:review_id>/", reviews.review, name="review"),
    path("reviews/<uuid:review_id>/decide/", reviews.decide, name="review_decide"),
    path("agents/", agents.agents, name="agents"),
    path("agents/<slug:name>/", agents.agent, name="agent"),
    path("new/", new_task.new_task, name="new_task"),
    path("workers/", workers.workers, name="workers"),
    path("workers/<uuid:worker_id>/drain/", workers.drain, name="worker_drain"),
    path("settings/", personal.settings, name="settings"),
    path("settings/sessions/end/", personal.end_sessions, name="end_sessions"),
    path("settings/sessions/<uuid:which>/end/", personal.end_session, name="end_session"),
    path("sign-in/link/<str:token>/", signing.signin_link, name="signin_link"),
    path("sign-in/", include(_chosen(account.urlpatterns))),
    path("sign-in/second-factor/", include(_chosen(mfa.urlpatterns))),
]
