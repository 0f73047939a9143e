"""Elasticsearch images laid out as the official ones: the real server, from an integration-test zip or, for old
versions, from the complete distribution."""

import os
import resource
import shutil
import zipfile
from pathlib import Path

from localkube import java, packages
from localkube.cache import Artifact, digest_of, obtain
from localkube.commands import run, succeeds
from localkube.settings import COMPLETE_JAVA, ELASTICSEARCH_JAVA, HERE, Paths

SOURCES = HERE / "elasticsearch"
WANTED_FILES = 65535  # Elasticsearch's bootstrap check

# Modules that are published for 7.17 only: module -> (plugin class, further jars).
MODULES_7 = {
    "percolator": ("org.elasticsearch.percolator.PercolatorPlugin", ()),
    "parent-join": ("org.elasticsearch.join.ParentJoinPlugin", ()),
    "mapper-extras": ("org.elasticsearch.index.mapper.MapperExtrasPlugin", ()),
    "rank-eval": ("org.elasticsearch.index.rankeval.RankEvalPlugin", ()),
    "lang-mustache": (
        "org.elasticsearch.script.mustache.MustachePlugin",
        ("com.github.spullara.mustache.java:compiler:0.9.6:jar",),
    ),
}


def maven(coordinate: str, paths: Paths) -> Path:
    """A file of Maven Central (group:artifact:version:type), by the machine's own Maven settings, its hash checked."""
    pinned = java.pins()[coordinate]
    _, name, version, kind = coordinate.split(":")
    file = f"{name}-{version}.{kind}"

    def download(folder: Path, log: Path) -> None:
        packages.ensure({p: packages.BUILD_PROGRAMS[p] for p in ("javac", "mvn")}, paths)
        argv = ["mvn", "-q", "-B", "dependency:copy", f"-Dartifact={coordinate}", f"-DoutputDirectory={folder}"]
        run(argv, cwd=folder, log=log, hint="see that Maven can download (`mvn` settings, network), then start again")
        java.check(folder / file, pinned, log)

    artifact = Artifact(f"maven-{name}-{version}", {"is": coordinate, "sha256": pinned}, f"{file}", download, 20)
    return obtain(artifact, paths) / file


def needs_nofile() -> bool:
    """Whether this machine's limit on open files is below what Elasticsearch accepts."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    return hard != resource.RLIM_INFINITY and hard < WANTED_FILES


def _unzip(archive: Path, folder: Path) -> None:
    with zipfile.ZipFile(archive) as zipped:
        for info in zipped.infolist():
            target = Path(zipped.extract(info, folder))
            if mode := info.external_attr >> 16:
                target.chmod(mode & 0o777)


def _descriptor(version: str, name: str, class_name: str, java_version: str) -> str:
    values = {
        "name": name,
        "description": f"{name} for stand-in images",
        "version": version,
        "elasticsearch.version": version,
        "java.version": java_version,
        "classname": class_name,
    }
    return "".join(f"{key}={value}\n" for key, value in values.items())


def add_stand_in(version: str, home: Path, work: Path, paths: Paths, log: Path) -> None:
    """Compile our small plugin (in `work`) and install it as a module."""
    old = version.startswith("7.")
    against, release = ("7.17.29", "11") if old else ("8.6.1", "17")
    libraries = home / "lib"
    if version != against:
        other = work / "libraries"
        _unzip(maven(coordinate(against), paths), other)
        libraries = next(other.glob("*/lib"))
    classes = work / "classes"
    plugin = SOURCES / "plugin"
    files = sorted([*(plugin / "common").rglob("*.java"), *(plugin / ("v7" if old else "v8")).rglob("*.java")])
    run(["javac", "-nowarn", "--release", release, "-cp", f"{libraries}/*", "-d", classes, *files], log=log)
    module = home / "modules" / "stand-in"
    module.mkdir()
    with zipfile.ZipFile(module / "stand-in.jar", "w", zipfile.ZIP_DEFLATED) as jar:
        for file in sorted(classes.rglob("*.class")):
            jar.write(file, file.relative_to(classes))
        if not old:
            provider = "org.elasticsearch.reservedstate.ReservedClusterStateHandlerProvider"
            jar.writestr(f"META-INF/services/{provider}", "standin.SettingsHandlers\n")
    descriptor = _descriptor(version, "stand-in", "standin.StandInPlugin", release)
    (module / "plugin-descriptor.properties").write_text(descriptor)


def add_modules_7(version: str, home: Path, paths: Paths) -> None:
    """Install MODULES_7 of a 7.17 as modules of the Elasticsearch in `home`."""
    for name, (class_name, further) in MODULES_7.items():
        module = home / "modules" / name
        module.mkdir()
        for coordinate in (f"org.elasticsearch.plugin:{name}-client:{version}:jar", *further):
            shutil.copy(maven(coordinate, paths), module)
        (module / "plugin-descriptor.properties").write_text(_descriptor(version, name, class_name, "1.8"))


def coordinate(version: str) -> str:
    """The archive of a version, as Maven names it."""
    if version in COMPLETE_JAVA:
        return f"org.elasticsearch.distribution.zip:elasticsearch:{version}:zip"
    return f"org.elasticsearch.distribution.integ-test-zip:elasticsearch:{version}:zip"


def java_of(version: str, paths: Paths) -> Artifact:
    """The Java runtime in the image of one version."""
    return java.artifact({**ELASTICSEARCH_JAVA, **COMPLETE_JAVA}[version], paths)


def drop_vector_module(home: Path) -> None:
    """Let the Elasticsearch in `home` start without the JVM's incubator module for vectors."""
    options = home / "config/jvm.options"
    lines = options.read_text().splitlines()
    # The runtimes here are without this incubator module, and the JVM would not start.
    kept = [f"# {line}" if line.strip().endswith("--add-modules=jdk.incubator.vector") else line for line in lines]
    options.write_text("\n".join(kept) + "\n")


def _open_to_group(home: Path) -> None:
    for path in [home, *home.rglob("*")]:
        path.chmod(0o775 if path.is_dir() or (os.access(path, os.X_OK) and path.stat().st_mode & 0o100) else 0o664)


def lay_out(version: str, context: Path, work: Path, paths: Paths, log: Path) -> None:
    """Fill an image's build context: elasticsearch/, jdk/, local/ and the Dockerfile; `work` is for scratch."""
    packages.ensure({p: packages.BUILD_PROGRAMS[p] for p in ("javac", "mvn")}, paths)
    _unzip(maven(coordinate(version), paths), context / "unzipped")
    home = context / "elasticsearch"
    next((context / "unzipped").glob("elasticsearch-*")).rename(home)
    (context / "unzipped").rmdir()
    for name in ("data", "logs", "plugins", "config/jvm.options.d"):
        (home / name).mkdir(exist_ok=True)
    for unneeded in [*(home / "bin").glob("*.exe"), *(home / "bin").glob("*.bat")]:
        unneeded.unlink()
    if version not in COMPLETE_JAVA:
        add_stand_in(version, home, work, paths, log)
        drop_vector_module(home)
    if version.startswith("7."):
        add_modules_7(version, home, paths)
    _open_to_group(home)
    shutil.copytree(obtain(java_of(version, paths), paths) / "jdk", context / "jdk", symlinks=True)
    local = context / "local"
    (local / "bin").mkdir(parents=True)
    (local / "lib").mkdir()
    shutil.copy(SOURCES / "docker-entrypoint.sh", local / "bin")
    if needs_nofile():
        compiling: list[str | Path] = ["gcc", "-shared", "-fPIC", "-O2", "-o", local / "lib/nofile.so"]
        if not succeeds([*compiling, SOURCES / "nofile.c"]):
            packages.install(["gcc", "libc6-dev"], paths)
            run([*compiling, SOURCES / "nofile.c"], log=log)
    # ES_JAVA_HOME, and the JDK beside lib/ as the default, came with version 7.
    java_home = "ENV JAVA_HOME=/usr/share/elasticsearch/jdk\n" if version in COMPLETE_JAVA else ""
    (context / "Dockerfile").write_text((SOURCES / "Dockerfile").read_text() + java_home)


def inputs(version: str, paths: Paths) -> dict[str, str]:
    """What decides the content of the image of one version."""
    return {
        "version": version,
        "java": java_of(version, paths).key,
        "sources": digest_of([SOURCES], SOURCES),
        "nofile": str(needs_nofile()),
        "recipe": "1",
        **({"java_home": "set"} if version in COMPLETE_JAVA else {}),
    }
