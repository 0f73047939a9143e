"""The images of the node: which there are, how each is made, and what its name is."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from localkube import buildah, elasticsearch, golang, java, packages
from localkube.cache import Artifact, digest_of, obtain
from localkube.commands import run
from localkube.settings import (
    CHECKOUT,
    COMPLETE_JAVA,
    ECK_VERSION,
    ELASTICSEARCH_JAVA,
    K6_VERSION,
    PROMETHEUS_OPERATOR_VERSION,
    PROMETHEUS_VERSION,
    Paths,
)

OWN_SOURCES = {
    "operator": (
        *("Dockerfile", ".dockerignore", "pyproject.toml", "README.md"),
        *("requirements/build.txt", "requirements/operator.txt", "operator/fairlap", "operator/fairlap_race"),
    ),
    "race": (
        *("Dockerfile", ".dockerignore", "requirements/build.txt", "requirements/race.txt"),
        *("operator/fairlap_race", "tracks"),
    ),
    "race6": (
        *("Dockerfile", ".dockerignore", "requirements/build.txt", "requirements/race6.txt"),
        *("operator/fairlap_race", "tracks"),
    ),
}


@dataclass(frozen=True)
class Image:
    """An image: its name in the cluster, and the artifact that has it as `image.tar`."""

    name: str
    artifact: Artifact

    def file(self, paths: Paths) -> Path:
        """The OCI archive, built when missing."""
        return obtain(self.artifact, paths) / "image.tar"


def _debootstrap(folder: Path, log: Path, paths: Paths, image: str) -> None:
    packages.ensure(packages.PROGRAMS, paths)
    mirror = buildah.debian_mirror(paths)
    root = folder / "root"
    hint = "see that apt works on this machine (`apt-get update`), then start again"
    run(["debootstrap", "--variant=minbase", "bookworm", root, mirror], log=log, hint=hint)
    for cached in (
        "var/cache/apt",
        "var/lib/apt/lists",
        "var/log",
        "usr/share/doc",
        "usr/share/man",
        "usr/share/locale",
    ):
        for path in (root / cached).iterdir():
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    for own in ("etc/hostname", "etc/resolv.conf"):  # debootstrap copies the machine's
        (root / own).unlink(missing_ok=True)
    (root / "etc/dpkg/dpkg.cfg.d/slim").write_text(
        "".join(f"path-exclude /usr/share/{name}/*\n" for name in ("doc", "man", "locale"))
    )
    run(["tar", "-C", root, "--numeric-owner", "-cf", folder / "root.tar", "."], log=log)
    shutil.rmtree(root)
    (folder / "Dockerfile").write_text('FROM scratch\nADD root.tar /\nCMD ["bash"]\n')
    buildah.build(paths, folder, image, log)
    (folder / "root.tar").unlink()
    buildah.export(paths, image, folder / "image.tar", log)


def base(paths: Paths) -> Image:
    """Debian 12 with next to nothing, as debian:bookworm-slim is."""
    inputs = {"suite": "bookworm", "variant": "minbase", "recipe": "1"}

    def build(folder: Path, log: Path) -> None:
        _debootstrap(folder, log, paths, name)

    artifact = Artifact("base", inputs, "Debian base image (debootstrap)", build, 40)
    name = f"localhost/fairlap/base:{artifact.key}"
    return Image(name, artifact)


def _with_base(paths: Paths, log: Path) -> str:
    """The name of the base image, after seeing to it that buildah's storage has it."""
    return _loaded(base(paths), paths, log)


def _scratch(program: golang.Program, name: str, dockerfile: str, paths: Paths, folder: str = "/") -> Image:
    """An image with one static program in `folder` and nothing else."""
    binary = golang.artifact(program, paths)

    def build(place: Path, log: Path) -> None:
        packages.ensure(packages.PROGRAMS, paths)
        context = place / "context"
        context.mkdir()
        shutil.copy(obtain(binary, paths) / "bin" / program.name, context)
        (context / "Dockerfile").write_text(f"FROM scratch\nCOPY {program.name} {folder}\n{dockerfile}\n")
        buildah.build(paths, context, name, log)
        buildah.export(paths, name, place / "image.tar", log)
        shutil.rmtree(context)

    inputs = {"program": binary.key, "dockerfile": dockerfile, "name": name, "recipe": "1"}
    return Image(name, Artifact(f"image-{program.name}", inputs, f"Image {name}", build))


def _elasticsearch(version: str, paths: Paths) -> Image:
    kind = "elasticsearch-oss" if version in COMPLETE_JAVA else "elasticsearch"
    name = f"docker.elastic.co/elasticsearch/{kind}:{version}"

    def build(folder: Path, log: Path) -> None:
        packages.ensure(packages.PROGRAMS, paths)
        context, work = folder / "context", folder / "work"
        context.mkdir()
        work.mkdir()
        elasticsearch.lay_out(version, context, work, paths, log)
        buildah.build(paths, context, name, log, arguments={"BASE": _with_base(paths, log)}, packages_needed=True)
        buildah.export(paths, name, folder / "image.tar", log)
        shutil.rmtree(context)
        shutil.rmtree(work)

    inputs = {**elasticsearch.inputs(version, paths), "base": base(paths).artifact.key, "recipe": "1"}
    return Image(name, Artifact(f"image-elasticsearch-{version}", inputs, f"Image {name} (stand-in)", build, 35))


def _java(major: str, paths: Paths) -> Image:
    name = f"docker.io/library/eclipse-temurin:{major}-jre"
    runtime = java.artifact(major, paths)

    def build(folder: Path, log: Path) -> None:
        packages.ensure(packages.PROGRAMS, paths)
        context = folder / "context"
        context.mkdir()
        shutil.copytree(obtain(runtime, paths) / "jdk", context / "jdk", symlinks=True)
        (context / "Dockerfile").write_text(
            "ARG BASE\nFROM ${BASE}\nCOPY jdk /opt/java/openjdk\n"
            "ENV JAVA_HOME=/opt/java/openjdk PATH=/opt/java/openjdk/bin:/usr/local/bin:/usr/bin:/bin\n"
        )
        buildah.build(paths, context, name, log, arguments={"BASE": _with_base(paths, log)})
        buildah.export(paths, name, folder / "image.tar", log)
        shutil.rmtree(context)

    inputs = {"java": runtime.key, "base": base(paths).artifact.key, "name": name, "recipe": "1"}
    return Image(name, Artifact(f"image-java-{major}", inputs, f"Image {name} (stand-in)", build, 10))


def k6(paths: Paths) -> Image:
    """The load generator of HTTP targets as its official image has it: the race image takes the program from there."""
    return _scratch(golang.K6, f"localhost/fairlap/k6:{K6_VERSION}", 'ENTRYPOINT ["/usr/bin/k6"]', paths, "/usr/bin/")


def _loaded(image: Image, paths: Paths, log: Path) -> str:
    """The name of an image, after seeing to it that buildah's storage has it."""
    file = image.file(paths)
    if not buildah.has(paths, image.name):
        buildah.load(paths, image.name, file, log)
    return image.name


def _own(target: str, estimate: float, paths: Paths) -> Image:
    """One of the project's own images: a target of its Dockerfile, tagged by the hash of all that goes into it."""
    sources = [CHECKOUT / name for name in OWN_SOURCES[target] if (CHECKOUT / name).exists()]
    inputs = {"sources": digest_of(sources, CHECKOUT), "base": base(paths).artifact.key, "recipe": "1"}
    if target == "race":
        inputs["k6"] = k6(paths).artifact.key

    def build(folder: Path, log: Path) -> None:
        packages.ensure(packages.PROGRAMS, paths)
        arguments = {"BASE": _with_base(paths, log)}
        if target == "race":
            arguments["K6"] = _loaded(k6(paths), paths, log)
        buildah.build(paths, CHECKOUT, name, log, arguments=arguments, target=target, packages_needed=True)
        buildah.export(paths, name, folder / "image.tar", log)

    artifact = Artifact(f"image-{target}", inputs, f"Image of our own: {target}", build, estimate)
    name = f"localhost/fairlap/{target}:{artifact.key}"
    return Image(name, artifact)


def own(paths: Paths) -> dict[str, Image]:
    """The project's own images."""
    return {"operator": _own("operator", 40, paths), "race": _own("race", 60, paths), "race6": _own("race6", 60, paths)}


EXAMPLES = {"groonga": (CHECKOUT / "examples/groonga-clients/image", "localhost/fairlap/groonga:13")}
"""Images of engines that examples race on: where each is made from, and its name in their manifests."""


def example(engine: str, paths: Paths) -> Image:
    """The image of an engine of the examples; made only when it is asked for."""
    context, name = EXAMPLES[engine]
    inputs = {"sources": digest_of([context], CHECKOUT), "base": base(paths).artifact.key, "recipe": "1"}

    def build(folder: Path, log: Path) -> None:
        packages.ensure(packages.PROGRAMS, paths)
        arguments = {"BASE": _with_base(paths, log)}
        buildah.build(paths, context, name, log, arguments=arguments, packages_needed=True)
        buildah.export(paths, name, folder / "image.tar", log)

    return Image(name, Artifact(f"image-{engine}", inputs, f"Image of an example: {engine}", build, 40))


PAUSE_NAME = "localhost/localkube/pause:1"
COREDNS_NAME = "localhost/localkube/coredns:1"
PROVISIONER_NAME = "localhost/localkube/local-path-provisioner:1"
PROMETHEUS_OPERATOR_NAME = f"quay.io/prometheus-operator/prometheus-operator:v{PROMETHEUS_OPERATOR_VERSION}"
CONFIG_RELOADER_NAME = f"quay.io/prometheus-operator/prometheus-config-reloader:v{PROMETHEUS_OPERATOR_VERSION}"
PROMETHEUS_NAME = f"quay.io/prometheus/prometheus:v{PROMETHEUS_VERSION}"


def system(paths: Paths) -> list[Image]:
    """What the node itself needs."""
    scratch: list[tuple[golang.Program, str, str]] = [
        (golang.PAUSE, PAUSE_NAME, 'USER 65535:65535\nENTRYPOINT ["/pause"]'),
        (golang.COREDNS, COREDNS_NAME, 'ENTRYPOINT ["/coredns"]'),
        (golang.PROVISIONER, PROVISIONER_NAME, 'ENTRYPOINT ["/local-path-provisioner"]'),
        (
            golang.ECK,
            f"docker.elastic.co/eck/eck-operator:{ECK_VERSION}",
            'USER 1001:0\nENTRYPOINT ["/elastic-operator"]\nCMD ["manager"]',
        ),
    ]
    monitoring = (
        (golang.PROMETHEUS_OPERATOR, PROMETHEUS_OPERATOR_NAME),
        (golang.CONFIG_RELOADER, CONFIG_RELOADER_NAME),
        (golang.PROMETHEUS, PROMETHEUS_NAME),
    )
    return [
        base(paths),
        *(_scratch(program, name, text, paths) for program, name, text in scratch),
        *(
            _scratch(program, name, f'ENTRYPOINT ["/bin/{program.name}"]', paths, folder="/bin/")
            for program, name in monitoring
        ),
    ]


def stand_ins(paths: Paths) -> list[Image]:
    """Elasticsearch and Java images under their official names."""
    return [
        *(_elasticsearch(version, paths) for version in (*ELASTICSEARCH_JAVA, *COMPLETE_JAVA)),
        *(_java(major, paths) for major in java.MAJORS),
    ]


def everything(paths: Paths) -> list[Image]:
    """All images of the node."""
    return [*system(paths), *stand_ins(paths), *own(paths).values()]


def superseded(paths: Paths, keep: int = 5) -> list[tuple[str, Path]]:
    """Names and folders of the project's own images that are older than the newest `keep` of each."""
    old = []
    for target in OWN_SOURCES:
        folders = sorted(paths.built.glob(f"image-{target}-*"), key=lambda folder: -folder.stat().st_mtime)
        old += [(f"localhost/fairlap/{target}:{folder.name.rpartition('-')[2]}", folder) for folder in folders[keep:]]
    return old
