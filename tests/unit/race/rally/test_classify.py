"""Rally's real words, and the reason that each must become."""

import pytest

from fairlap_race.contract.reasons import Reason
from fairlap_race.rally import classify

TRACK = [
    (
        "Could not load '/t/track.json'. The complete track has been written to '/tmp/x.json' for diagnosis.\n"
        "\t'_ingest' is undefined",
        Reason.TEMPLATE_ERROR,
    ),
    (
        "Could not load '/t/track.json' due to Jinja Syntax Exception. The track file (/tmp/x) likely hasn't been "
        "written.\n\tunexpected '}'",
        Reason.TEMPLATE_ERROR,
    ),
    (
        "Track 'x' is invalid.\n\nError details: 0 is less than the minimum of 1\nInstance: 0\nPath: deque(['a'])",
        Reason.TRACK_INVALID,
    ),
    (
        "Could not load '/t/track.json': Expecting value: line 4 column 13 (char 56). Lines containing the error:",
        Reason.TRACK_INVALID,
    ),
    ("Unused track parameters ['bulk_sizes'].", Reason.UNKNOWN_PARAMETER),
    ("Reserved track parameters ['now'].", Reason.UNKNOWN_PARAMETER),
    ("Unknown challenge [nope] for track [track2]", Reason.UNKNOWN_CHALLENGE),
    ("Track path /t/none does not exist", Reason.TRACK_NOT_FOUND),
    ("something nobody has seen before", Reason.TRACK_INVALID),
]

RACE = [
    (
        "Error in task executor\n\tCannot find [/w/d.json.bz2]. Please disable offline mode and retry.",
        Reason.CORPUS_MISSING,
    ),
    ("Error in task executor\n\tCannot download data because no base URL is provided.", Reason.CORPUS_MISSING),
    (
        "Error in task executor\n\tData in [/w/d.json] for track [t] are invalid. Expected [19999] lines but got "
        "[20000].",
        Reason.CORPUS_COUNT_MISMATCH,
    ),
    (
        "Error in load generator [0]\n\tCannot run task [pp]: Parameter source for operation 'put-pipeline' did not "
        "provide the mandatory parameter 'id'. Add it to your parameter source and try again.",
        Reason.PARAMETER_MISSING,
    ),
    (
        "ConnectionError(<urllib3.connection.HTTPConnection object>: Failed to establish a new connection: [Errno 111] "
        "Connection refused)",
        Reason.CLUSTER_UNREACHABLE,
    ),
    (
        "Failed to establish a new connection: [Errno -3] Temporary failure in name resolution",
        Reason.CLUSTER_UNREACHABLE,
    ),
    (
        "AuthenticationException(401, 'security_exception', 'unable to authenticate user [elastic] for REST request')",
        Reason.AUTHENTICATION_FAILED,
    ),
    ("TlsError… [SSL: WRONG_VERSION_NUMBER] wrong version number", Reason.TLS_UNTRUSTED),
    (
        "ConnectionError caused by: TlsError(CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed "
        "certificate)",
        Reason.TLS_UNTRUSTED,
    ),
    ("Hostname mismatch, certificate is not valid for 'localhost'", Reason.TLS_UNTRUSTED),
    (
        "The client noticed that the server is not Elasticsearch and we do not support this unknown product. "
        "UnsupportedProductError",
        Reason.UNSUPPORTED_PRODUCT,
    ),
    (
        "Error in load generator [0]\n\tCannot run task [s]: Request returned an error. Error type: transport, "
        "Description: Cannot connect to host localhost:19250 ssl:default [Connect call failed ('127.0.0.1', 19250)]",
        Reason.CLUSTER_UNREACHABLE,
    ),
    (
        "Error in load generator [0]\n\tCannot run task [s]: Request returned an error. Error type: api, Description: "
        "{…index_not_found_exception…}, HTTP Status: 404",
        Reason.REQUEST_ERRORS,
    ),
    (
        "Error in load generator [0]\n\tCannot run task [b]: Request returned an error. Error type: bulk, Description: "
        "HTTP status: 403, message: index [small] blocked by: [FORBIDDEN/8/index write (api)];",
        Reason.REQUEST_ERRORS,
    ),
    (
        "Cannot run task [b]: Request returned an error. Error type: bulk, Description: HTTP status: 429, message: "
        "index [small] blocked by: [TOO_MANY_REQUESTS/12/disk usage exceeded flood-stage watermark, index has "
        "read-only-allow-delete block];",
        Reason.DISK_WATERMARK,
    ),
    (
        "Cannot run task [b]: Request returned an error. Error type: api, Description: circuit_breaking_exception "
        "([parent] Data too large, data for [<http_request>] would be)",
        Reason.CIRCUIT_BREAKER,
    ),
    (
        "Cannot run task [bulk]: Request returned an error. Error type: bulk, Description: HTTP status: 400, message: "
        "pipeline with id [nope] does not exist",
        Reason.PIPELINE_MISSING,
    ),
    ("Cannot run task [s]: Expected [hits] to be == [5] but was [10000].", Reason.ASSERTION_FAILED),
    ("Worker [0] has exited prematurely.", Reason.LOAD_GENERATOR_DIED),
    ("Fatal track or load generator indication\n\tChild Aborted", Reason.LOAD_GENERATOR_DIED),
    ("This race ended with a fatal crash.", Reason.LOAD_GENERATOR_DIED),
    (
        "Cannot run task [s]: Request returned an error. Error type: api, Description: script_exception (compile "
        "error: variable [x] is undefined), HTTP Status: 400",
        Reason.REQUEST_ERRORS,
    ),
    ("something nobody has seen before", Reason.RALLY_FAILED),
]


@pytest.mark.parametrize(("text", "reason"), TRACK)
def test_track_errors(text, reason):
    assert classify.classify_track(text) is reason


@pytest.mark.parametrize(("text", "reason"), RACE)
def test_race_errors(text, reason):
    assert classify.classify_race(text) is reason


def test_the_kernel_explains_a_death_better_than_rally():
    assert classify.classify_race("Worker [0] has exited prematurely.", True) is Reason.LOAD_GENERATOR_OUT_OF_MEMORY
    assert classify.classify_race("Unknown challenge [x] for track [y]", True) is Reason.UNKNOWN_CHALLENGE


OUTPUT = """
[INFO] Race id is [x]
[WARNING] indexing_total_time is 2518 ms indicating that the cluster is not in a defined clean state.
Running search                      [  2% done][ERROR] Cannot race. Error in load generator [0]
\tCannot run task [search]: Expected [hits] to be == [5] but was [1].

Getting further help:
*********************
* Check the log files in /work/.rally/logs for errors.

--------------------------------
[INFO] FAILURE (took 10 seconds)
"""


def test_words_of_the_output():
    expected = "Error in load generator [0]\n\tCannot run task [search]: Expected [hits] to be == [5] but was [1]."
    assert classify.error_words(OUTPUT) == expected
    assert classify.warnings(OUTPUT) == (
        "indexing_total_time is 2518 ms indicating that the cluster is not in a defined clean state.",
    )
    assert classify.error_words("[INFO] SUCCESS (took 12 seconds)") == ""


def test_warnings_on_tasks_that_were_not_needed_are_left_out():
    found = (
        "No throughput metrics available for [search@1/s].",
        "No request of [search@1/s-down] succeeded.",
        "It is.",
    )
    assert classify.without_warnings_on({"search@1/s"}, found) == found[1:]
    assert classify.without_warnings_on((), found) == found


def test_dropped_samples():
    assert classify.dropped_samples("… WARNING Dropping sample for [bulk] due to a full sampling queue.")
    assert not classify.dropped_samples("Dropping nothing")


def test_every_reason_has_a_cause_and_a_cure():
    for reason in Reason:
        assert reason.cause.endswith(".") and reason.cure.endswith(".")
        assert len(reason.cause) > 20 and len(reason.cure) > 20
