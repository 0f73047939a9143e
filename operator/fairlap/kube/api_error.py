"""What goes wrong between the operator and the API server."""

import re
from enum import StrEnum
from typing import Final

_OF_A_QUOTA: Final = re.compile(
    r"\b(exceeded|failed|insufficient|unknown for) quota\b(?: to consume)?:? *", re.IGNORECASE
)
"""no name has a blank in it"""


class QuotaRefusal(StrEnum):
    """Why a ResourceQuota refuses an object, by the words of the API server's own admission."""

    EXCEEDED = "exceeded"
    UNSPECIFIED = "failed"
    UNCOVERED = "insufficient"
    UNCOUNTED = "unknown for"


_TOLD: Final = {
    QuotaRefusal.EXCEEDED: "quota exceeded (raise it, or delete what is over)",
    QuotaRefusal.UNSPECIFIED: "a quota asks for what is not set (set it, or change the quota)",
    QuotaRefusal.UNCOVERED: "no quota covers it (create one in the namespace that does)",
    QuotaRefusal.UNCOUNTED: "a quota is not counted yet (wait; if that stays, look at kube-controller-manager)",
}
"""the cure stands first, before what is cut"""


class ApiError(Exception):
    """The API server's answer to a request that it did not carry out; status 0 means that it did not answer."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}" if status else message)
        self.status = status
        self.message = message

    @property
    def final(self) -> bool:
        """Whether the same request would be refused again for what it is."""
        return self.unfit or (self.status == 403 and not self.over_quota and not self.forbidden)

    @property
    def quota(self) -> QuotaRefusal | None:
        """Why a quota refused it, which may have room later; None where none did."""
        found = self._of_a_quota
        return QuotaRefusal(found[1].lower()) if found else None

    @property
    def over_quota(self) -> bool:
        """Whether a quota refused it."""
        return self.quota is not None

    @property
    def quota_words(self) -> str:
        """The sentence about a quota that refused it: what to do, and its name in the API server's words; else ""."""
        found, refusal = self._of_a_quota, self.quota
        return f"{_TOLD[refusal]}: {self.message[found.end() :]}" if found and refusal else ""

    @property
    def unfit(self) -> bool:
        """Whether what was sent was refused for its content, so that something else must be sent."""
        # etcd's own bound comes as a failure of the server.
        too_large = self.status == 500 and ("request is too large" in self.message or "larger than max" in self.message)
        return self.status in (400, 413, 422) or too_large

    @property
    def forbidden(self) -> bool:
        """Whether a permission is missing; an API server that has just started says so of any."""
        return self.status == 403 and " cannot " in self.message and " resource " in self.message

    @property
    def unanswered(self) -> bool:
        """Whether the request may have been carried out all the same: the connection broke, or the server failed."""
        return self.status == 0 or (self.status >= 500 and not self.unfit and not self._by_webhook)

    @property
    def refused(self) -> bool:
        """Whether this was forbidden or a webhook stood in its way, while other requests may be carried out."""
        return self.status == 403 or self._by_webhook

    @property
    def _of_a_quota(self) -> re.Match[str] | None:
        return _OF_A_QUOTA.search(self.message) if self.status == 403 and not self.forbidden else None

    @property
    def _by_webhook(self) -> bool:
        """Whether it ended in an admission webhook, before anything was written: that denied it, or did not answer."""
        denied = "admission webhook" in self.message and "denied the request" in self.message
        return denied or "failed calling webhook" in self.message
