"""What one person wants, may do, and where they are signed in."""

from typing import Any
from uuid import UUID
from zoneinfo import available_timezones

from django import forms
from django.contrib import messages
from django.contrib.auth import logout
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import translation
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST

from console import audit, sessions
from console.access import Permission, needs
from console.actions import account
from console.audit import Act
from console.middleware import preferences, request_id
from console.models import Preferences, SignedIn
from console.models.people import DENSITIES, LANGUAGES, THEMES, TIMES
from console.pages.devices import device
from console.pages.rights import rights_of


class PreferencesForm(forms.Form):
    """The choices as a form."""

    language = forms.ChoiceField(choices=LANGUAGES, required=False)
    zone = forms.CharField(required=False, max_length=100)
    times = forms.ChoiceField(choices=TIMES)
    theme = forms.ChoiceField(choices=THEMES)
    density = forms.ChoiceField(choices=DENSITIES)
    shortcuts = forms.BooleanField(required=False)

    def clean_zone(self) -> str:
        """Take a zone that this machine knows, or none."""
        zone = str(self.cleaned_data["zone"]).strip()
        if zone and zone not in available_timezones():
            raise forms.ValidationError(
                _("There is no such time zone; take one like Europe/Berlin.")
            )
        return zone


@needs(Permission.SIGNED_IN)
@require_http_methods(["GET", "HEAD", "POST"])
def settings(request: HttpRequest) -> HttpResponse:
    """Show the choices; keep them when they come."""
    if request.method != "POST":
        return _page(request, _form(request), 200)
    form = PreferencesForm(request.POST)
    if not form.is_valid():
        return _page(request, form, 422)
    Preferences.objects.update_or_create(pk=request.user.pk, defaults=form.cleaned_data)
    chosen = form.cleaned_data["language"] or translation.get_language_from_request(request)
    with translation.override(chosen):
        messages.success(request, _("Kept."))
    return redirect("settings")


@needs(Permission.SIGNED_IN)
@require_POST
def end_session(request: HttpRequest, which: UUID) -> HttpResponse:
    """Sign the person out in one of their browsers."""
    user: Any = request.user
    if _is_here(request, which):
        return _out(request, "session.end")
    if sessions.end(user, which):
        _record(request, "session.end")
        messages.success(request, _("Signed out there; its open pages close."))
    else:
        messages.success(request, _("That one was signed out already."))
    return redirect("settings")


@needs(Permission.SIGNED_IN)
@require_POST
def end_sessions(request: HttpRequest) -> HttpResponse:
    """Sign the person out everywhere, here too."""
    return _out(request, "session.end_all", everywhere=True)


def _out(request: HttpRequest, action: str, *, everywhere: bool = False) -> HttpResponse:
    user: Any = request.user
    _record(request, action)
    ended = sessions.end_all(user) if everywhere else 1
    logout(request)
    if everywhere:
        said = ngettext(
            "You are signed out in %(count)s browser.",
            "You are signed out in %(count)s browsers.",
            ended,
        )
        messages.success(request, said % {"count": ended})
    return redirect("account_login")


def _record(request: HttpRequest, action: str) -> None:
    user: Any = request.user
    act = Act(
        actor=account(user),
        action=action,
        object=f"account:{user.get_username()}",
        request_id=request_id(request),
    )
    audit.record(act, "done")


def _is_here(request: HttpRequest, which: UUID) -> bool:
    mine: SignedIn | None = getattr(request, "signed_in", None)
    return mine is not None and mine.pk == which


def _form(request: HttpRequest) -> PreferencesForm:
    mine = preferences(request)
    return PreferencesForm(initial={name: getattr(mine, name) for name in _FIELDS})


_FIELDS = tuple(PreferencesForm.base_fields)


def _page(request: HttpRequest, form: PreferencesForm, status: int) -> HttpResponse:
    user: Any = request.user
    context = {
        "form": form,
        "zones": sorted(available_timezones()),
        "rights": rights_of(user),
        "sessions": [
            (row, device(row.agent), _is_here(request, row.pk)) for row in sessions.of(user)
        ],
    }
    return render(request, "settings.html", context, status=status)
