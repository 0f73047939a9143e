"""An image is known by its digest, whatever else a kubelet tells of it."""

import pytest

from fairlap.api.image_digest import image_digests


@pytest.mark.parametrize(
    ("told", "digests"),
    [
        (["es:9 registry.example.com:5000/es@sha256:a1"], ["@sha256:a1"]),
        (["es:9 docker-pullable://es@sha256:a1", "mirror/es:9.0 mirror/es@sha256:a1"], ["@sha256:a1"]),
        (["es:9 sha256:c1"], ["sha256:c1"]),
        (["sha256:c1 sha256:c1", "es:9 docker://sha256:c1"], ["sha256:c1"]),
        (["b@sha256:b1", "a@sha256:a1", "sha256:c1"], ["@sha256:a1", "@sha256:b1", "sha256:c1"]),
        (["@sha256:a1"], ["@sha256:a1"]),
        (["es@sha512:a1"], ["@sha512:a1"]),
        (["es:9"], ["es:9"]),
        ([""], [""]),
        ([], []),
        (["es:9 docker.io/library/import-2024-05-01@sha256:a1"], ["sha256:a1"]),
        (["import-2024-05-01@sha256:a1", "es:9 r/es@sha256:a1"], ["@sha256:a1", "sha256:a1"]),
        (["es:9 r/import-tool@sha256:a1", "r/import-2024-05-01/es@sha256:b1"], ["@sha256:a1", "@sha256:b1"]),
    ],
)
def test_the_digest_of_what_is_told(told: list[str], digests: list[str]) -> None:
    assert image_digests(told) == digests
