"""The console's own tables, one module for each concern.

The runtime's tables are the runtime's; these hold people: what they prefer, how they sign in,
what they did.
"""

from console.models.audit import AuditEntry
from console.models.bulk import BulkItem, BulkRun
from console.models.people import Preferences
from console.models.sessions import SignedIn
from console.models.signin import SigninLink
from console.models.tokens import ApiToken
from console.models.views import SavedView

__all__ = [
    "ApiToken",
    "AuditEntry",
    "BulkItem",
    "BulkRun",
    "Preferences",
    "SavedView",
    "SignedIn",
    "SigninLink",
]
