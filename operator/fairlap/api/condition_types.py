"""The conditions of Benchmarks and Comparisons and the words that give their reasons: closed lists, part of the API."""

from enum import StrEnum


class ConditionType(StrEnum):
    """Every condition that a Benchmark may have; what each means is in docs/concepts.md."""

    ACCEPTED = "Accepted"
    CLUSTER_READY = "ClusterReady"
    CLUSTER_KEPT = "ClusterKept"
    TARGET_CHECKED = "TargetChecked"
    SETTINGS_VERIFIED = "SettingsVerified"
    RACES_VALID = "RacesValid"
    LOAD_GENERATOR_SHARED = "LoadGeneratorShared"
    LOAD_GENERATOR_SATURATED = "LoadGeneratorSaturated"
    SCHEDULE_NOT_KEPT = "ScheduleNotKept"
    CRD_OUTDATED = "CRDOutdated"
    COMPLETE = "Complete"
    FAILED = "Failed"


class ConditionReason(StrEnum):
    """Why a condition is as it is when nothing is wrong; else it has a reason of the closed list of the contract."""

    BUILTIN_TRACK = "BuiltinTrack"
    TRACK_RENDERED = "TrackRendered"
    REQUESTS_READ = "RequestsRead"
    CHECKED_BY_OTHER = "CheckedByOther"
    TRACK_WILL_CHANGE = "TrackWillChange"
    TARGET_ANSWERS = "TargetAnswers"
    PROVISIONING = "Provisioning"
    CLUSTER_READY = "ClusterReady"
    CLEANING_UP = "CleaningUp"
    CLUSTER_REMOVED = "ClusterRemoved"
    CLUSTER_KEPT = "ClusterKept"
    AS_ASKED = "AsAsked"
    ALL_CHECKS_PASSED = "AllChecksPassed"
    NOT_REMARKED = "NotRemarked"
    RACES_VALID = "RacesValid"
    REHEARSED = "Rehearsed"


class ComparisonCondition(StrEnum):
    """Every condition that a Comparison may have."""

    ACCEPTED = "Accepted"
    FAIR = "Fair"
    COMPARED = "Compared"
    GATE_PASSED = "GatePassed"
    CRD_OUTDATED = "CRDOutdated"
    COMPLETE = "Complete"
    FAILED = "Failed"


class ComparisonReason(StrEnum):
    """Why a condition of a Comparison is as it is, and why one failed; verdicts are reasons, too."""

    PREPARED = "Prepared"
    INVALID_SPEC = "InvalidSpec"
    INVALID_VARIANT = "InvalidVariant"
    UNKNOWN_TASK = "UnknownTask"
    PREPARATION_FAILED = "PreparationFailed"
    RACING = "Racing"
    ONLY_DECLARED_DIFFERS = "OnlyDeclaredDiffers"
    MORE_DIFFERS = "MoreDiffers"
    ALL_GATES_PASSED = "AllGatesPassed"
    GATE_NOT_PASSED = "GateNotPassed"
    INCONCLUSIVE = "Inconclusive"
    NOT_COMPARABLE = "NotComparable"
    NOTHING_TO_DECIDE = "NothingToDecide"
    RACES_INVALID = "RacesInvalid"
    DEADLINE = "DeadlineReached"
    INTERNAL_ERROR = "InternalError"
