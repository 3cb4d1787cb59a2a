"""What one person wants: theme, density, time zone; and the way to password and second factor."""

from typing import Any
from zoneinfo import available_timezones

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from console.access import Permission, needs
from console.middleware import preferences
from console.models import Preferences
from console.models.people import DENSITIES, THEMES


class PreferencesForm(forms.Form):
    """The choices as a form."""

    theme = forms.ChoiceField(choices=THEMES)
    density = forms.ChoiceField(choices=DENSITIES)
    zone = forms.CharField(required=False, max_length=100)

    def clean_zone(self) -> str:
        """Take a zone that this machine knows, or none."""
        zone = str(self.cleaned_data["zone"]).strip()
        if zone and zone not in available_timezones():
            message = "There is no such time zone; take one like Europe/Berlin."
            raise forms.ValidationError(message)
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
    return redirect("settings")


def _form(request: HttpRequest) -> PreferencesForm:
    mine = preferences(request)
    initial: dict[str, Any] = {"theme": mine.theme, "density": mine.density, "zone": mine.zone}
    return PreferencesForm(initial=initial)


def _page(request: HttpRequest, form: PreferencesForm, status: int) -> HttpResponse:
    zones = sorted(available_timezones())
    return render(request, "settings.html", {"form": form, "zones": zones}, status=status)
