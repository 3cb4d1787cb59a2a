"""The console's own tables, one module for each concern.

The runtime's tables are the runtime's; these hold people: what they prefer, how they sign in,
what they did.
"""

from console.models.audit import AuditEntry
from console.models.people import Preferences
from console.models.sessions import SignedIn
from console.models.signin import SigninLink
from console.models.tokens import ApiToken

__all__ = ["ApiToken", "AuditEntry", "Preferences", "SignedIn", "SigninLink"]
