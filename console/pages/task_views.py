"""Views of the task list that people keep: the rail above it, and the forms that change it."""

from dataclasses import dataclass
from typing import Any, Final, cast

from django import forms
from django.db import IntegrityError, transaction
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from console import audit, queries
from console.access import Permission, allowed, needs
from console.actions import account
from console.audit import Act
from console.guard import is_fragment
from console.middleware import preferences, request_id
from console.models import Preferences, SavedView
from console.pages import task_columns, task_filters

LONGEST_NAME: Final = 60
MOST_VIEWS: Final = 50


@dataclass(frozen=True, slots=True)
class View:
    """One view as the rail shows it."""

    id: int
    name: str
    query: str
    columns: tuple[str, ...]
    is_shared: bool
    is_default: bool
    is_mine: bool
    owner: str

    @property
    def address(self) -> str:
        """Where it leads."""
        return address(self.query, self)


class ViewForm(forms.Form):
    """What can be said about a view."""

    name = forms.CharField(max_length=LONGEST_NAME)
    is_shared = forms.BooleanField(required=False)
    is_default = forms.BooleanField(required=False)

    def clean_name(self) -> str:
        """Take a name without characters that no name needs."""
        return " ".join(str(self.cleaned_data["name"]).replace("\x00", "").split())


def address(query: str, view: View | None = None) -> str:
    """Give the address of the list for a filter, shown in a view."""
    parts = QueryDict(query, mutable=True)
    if view is not None:
        parts["view"] = str(view.id)
    if not parts:
        # Without any words the list would open with its reader's first view.
        parts["state"] = task_filters.ATTENTION
    return f"{reverse('tasks')}?{parts.urlencode()}"


def rail(user: Any) -> list[View]:
    """List the views somebody has: their own, then those that others share."""
    rows = SavedView.objects.filter(Q(owner_id=user.pk) | Q(is_shared=True)).select_related("owner")
    found = [_view(row, user) for row in rows.order_by("id")[: MOST_VIEWS * 2]]
    return sorted(found, key=lambda view: not view.is_mine)


def first_seen(user: Any) -> View | None:
    """Give the view that somebody wants to see first."""
    row = SavedView.objects.filter(owner_id=user.pk, is_default=True).first()
    return _view(row, user) if row is not None else None


def chosen(request: HttpRequest) -> View | None:
    """Give the view that an address names, if its reader may see it."""
    number = (request.POST if request.method == "POST" else request.GET).get("view", "")
    if not (number.isascii() and number.isdecimal() and len(number) < 18):  # noqa: PLR2004
        return None
    row = SavedView.objects.filter(Q(owner_id=request.user.pk) | Q(is_shared=True), pk=number)
    found = row.select_related("owner").first()
    return _view(found, request.user) if found is not None else None


def columns_of(request: HttpRequest, view: View | None) -> list[str]:
    """Give the optional columns a page shows: those of its view, else those of its reader."""
    return task_columns.known(list(view.columns) if view else preferences(request).columns)


def _view(row: SavedView, user: Any) -> View:
    return View(
        id=row.pk,
        name=row.name,
        query=row.query,
        columns=tuple(task_columns.known(row.columns)),
        is_shared=row.is_shared,
        is_default=row.is_default and row.owner_id == user.pk,
        is_mine=row.owner_id == user.pk,
        owner=row.owner.get_username(),
    )


@needs(Permission.VIEW_TASKS)
@require_http_methods(["GET", "HEAD", "POST"])
def new_view(request: HttpRequest) -> HttpResponse:
    """Ask for the name of a view; keep it when it comes."""
    given = request.POST if request.method == "POST" else request.GET
    asked = task_filters.read(given.dict(), queries.database_now())
    context = {
        "asked": asked,
        "query": asked.query,
        "parts": asked.parts,
        "may_share": _may_share(request),
    }
    if request.method != "POST":
        return _dialog(request, context | {"form": ViewForm()}, 200)
    form = ViewForm(request.POST)
    if asked.errors:
        form.add_error(None, _("This filter is not complete; correct it first."))
    if SavedView.objects.filter(owner_id=request.user.pk).count() >= MOST_VIEWS:
        form.add_error(None, _("You keep as many views as there can be; delete one first."))
    row = SavedView(owner_id=cast("int", request.user.pk), query=asked.query)
    row.columns = columns_of(request, chosen(request))
    if form.is_valid() and _keep(request, row, form, "view.create"):
        return _go(request, _view(row, request.user).address)
    return _dialog(request, context | {"form": form}, 422)


@needs(Permission.VIEW_TASKS)
@require_http_methods(["GET", "HEAD", "POST"])
def saved_view(request: HttpRequest, view_id: int) -> HttpResponse:
    """Show what a view is called and does; change or delete it."""
    row = SavedView.objects.filter(pk=view_id, owner_id=request.user.pk).first()
    if row is None:
        raise Http404
    given = request.POST if request.method == "POST" else request.GET
    asked = task_filters.read(given.dict(), queries.database_now())
    shown = task_filters.read(QueryDict(row.query).dict(), queries.database_now())
    context: dict[str, Any] = {
        "saved": row,
        "asked": asked,
        "query": asked.query,
        "parts": shown.parts,
        "is_other": asked.query != row.query,
        "may_share": _may_share(request),
    }
    if request.method != "POST":
        initial = {"name": row.name, "is_shared": row.is_shared, "is_default": row.is_default}
        return _dialog(request, context | {"form": ViewForm(initial)}, 200)
    if "delete" in request.POST:
        _delete(request, row)
        return _go(request, address(asked.query))
    form = ViewForm(request.POST)
    if "take" in request.POST and not asked.errors:
        row.query = asked.query
    if form.is_valid() and _keep(request, row, form, "view.change"):
        return _go(request, _view(row, request.user).address)
    return _dialog(request, context | {"form": form}, 422)


def _keep(request: HttpRequest, row: SavedView, form: ViewForm, action: str) -> bool:
    """Write a view; what others see of it is written to the audit along with it."""
    was_shared = row.is_shared
    row.name = form.cleaned_data["name"]
    row.is_default = form.cleaned_data["is_default"]
    row.is_shared = form.cleaned_data["is_shared"] and _may_share(request)
    try:
        with transaction.atomic():
            if row.is_default:
                mine = SavedView.objects.filter(owner_id=request.user.pk, is_default=True)
                mine.exclude(pk=row.pk).update(is_default=False)
            row.save()
            if was_shared or row.is_shared:
                _record(request, row, action)
    except IntegrityError:
        form.add_error("name", _("You have a view of this name already."))
        return False
    return True


def _delete(request: HttpRequest, row: SavedView) -> None:
    with transaction.atomic():
        if row.is_shared:
            _record(request, row, "view.delete")
        row.delete()


def _record(request: HttpRequest, row: SavedView, action: str) -> None:
    what = Act(
        actor=account(request.user),
        action=action,
        object=f"view:{row.pk}",
        request_id=request_id(request),
    )
    shared = "shared" if row.is_shared else "not shared"
    audit.record(what, "done", f"{row.name} ({shared}): {row.query}")


@needs(Permission.VIEW_TASKS)
@require_http_methods(["GET", "HEAD", "POST"])
def columns(request: HttpRequest) -> HttpResponse:
    """Ask which columns the list shows; keep it for the account, or for the view that is open."""
    given = request.POST if request.method == "POST" else request.GET
    asked = task_filters.read(given.dict(), queries.database_now())
    view = chosen(request)
    if request.method != "POST":
        return _column_dialog(request, asked, view, columns_of(request, view))
    names = task_columns.known(request.POST.getlist("column"))
    for field, step in (("left", -1), ("right", 1)):
        if field in request.POST:
            # Only the dialog is put in order; it is kept with "Keep".
            in_order = task_columns.moved(names, request.POST[field], step)
            return _column_dialog(request, asked, view, in_order)
    if view is not None and view.is_mine:
        SavedView.objects.filter(pk=view.id, owner_id=request.user.pk).update(columns=names)
        return _go(request, address(asked.query, view))
    Preferences.objects.update_or_create(pk=request.user.pk, defaults={"columns": names})
    return _go(request, address(asked.query))


def _column_dialog(
    request: HttpRequest, asked: task_filters.Asked, view: View | None, shown: list[str]
) -> HttpResponse:
    context = {
        "choices": task_columns.choices(shown),
        "number": len(shown),
        "is_moved": request.method == "POST",
        "is_dialog": is_fragment(request),
        "asked": asked,
        "query": asked.query,
        "view": view,
    }
    part = "#dialog" if is_fragment(request) else ""
    return render(request, f"tasks/columns.html{part}", context)


def _may_share(request: HttpRequest) -> bool:
    return allowed(request.user, Permission.ACT_ON_TASKS)


def _dialog(request: HttpRequest, context: dict[str, Any], status: int) -> HttpResponse:
    part = "#dialog" if is_fragment(request) else ""
    return render(request, f"tasks/view.html{part}", context, status=status)


def _go(request: HttpRequest, to: str) -> HttpResponse:
    if not is_fragment(request):
        return HttpResponseRedirect(to)
    response = HttpResponse(status=204)
    response["HX-Redirect"] = to
    return response
