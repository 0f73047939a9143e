"""Storage evidence from the kernel's mounts and Kubernetes' objects."""

from fairlap.results.storage import (
    Provisioned,
    mount_of,
    source,
    source_kind,
    storage_evidence,
    with_claim,
    with_mount,
)
from fairlap_race.contract.watched_machines.resources import Volume

DATA = "/usr/share/elasticsearch/data"
MOUNTS = f"""500 400 0:100 / / rw,relatime - overlay overlay rw,lowerdir=/a
510 500 254:0 /volumes/pvc-1 {DATA} rw,noatime master:1 - ext4 /dev/vda rw,errors=remount-ro
511 500 0:50 / {DATA}/inner rw - tmpfs tmpfs rw
nonsense
"""
CLAIM = {
    "metadata": {"name": "elasticsearch-data-es-0"},
    "spec": {"storageClassName": "fast", "volumeName": "pvc-1"},
    "status": {"capacity": {"storage": "1Gi"}},
}
PV = {
    "metadata": {"annotations": {"pv.kubernetes.io/provisioned-by": "ebs.csi.aws.com"}},
    "spec": {
        "capacity": {"storage": "2Gi"},
        "persistentVolumeReclaimPolicy": "Delete",
        "mountOptions": ["noatime"],
        "claimRef": {"name": "x"},
        "nodeAffinity": {"required": {}},
        "csi": {"driver": "ebs.csi.aws.com", "volumeHandle": "vol-7", "fsType": "xfs", "volumeAttributes": {"a": "b"}},
    },
}
CLASS = {"provisioner": "ebs.csi.aws.com", "parameters": {"type": "gp3"}, "volumeBindingMode": "WaitForFirstConsumer"}


def test_the_mount_of_the_data() -> None:
    found = mount_of(MOUNTS)
    assert found is not None
    assert (found.file_system, found.device) == ("ext4", "/dev/vda")
    assert found.options == ("rw", "noatime", "errors=remount-ro")
    assert mount_of("") is None and mount_of(MOUNTS, "/elsewhere") is None
    over = f"{MOUNTS}512 510 0:60 / {DATA} rw - tmpfs tmpfs rw,size=1024k\n"
    assert mount_of(over) == ("tmpfs", "tmpfs", ("rw", "size=1024k"))
    spaced = mount_of("1 2 0:1 / /a\\040b rw - nfs4 host:/x\\040y rw\n", "/a b")
    assert spaced is not None and spaced.device == "host:/x y"


def test_a_claim_with_everything() -> None:
    told = Volume("es-0", DATA, f"{DATA} (/dev/vda)", "ext4", 1000, 250)
    found = with_claim(with_mount(told, MOUNTS), Provisioned(CLAIM, PV, CLASS))
    (line,) = storage_evidence([found])
    assert (line.kind, line.claim, line.class_name) == ("volumeClaim", "elasticsearch-data-es-0", "fast")
    assert (line.provisioner, line.parameters) == ("ebs.csi.aws.com", {"type": "gp3"})
    assert (line.reclaim_policy, line.binding_mode) == ("Delete", "WaitForFirstConsumer")
    assert (line.persistent_volume, line.capacity) == ("pvc-1", "2Gi")
    assert (line.source, line.source_kind) == ("csi ebs.csi.aws.com vol-7 xfs", "csi")
    assert (line.file_system, line.device, line.mount_options) == ("ext4", "/dev/vda", "rw,noatime,errors=remount-ro")
    assert (line.total_bytes, line.available_bytes, line.fill) == (1000, 250, 0.75)
    assert line.remarks == []


def test_what_could_not_be_read_is_said() -> None:
    forbidden = ("PersistentVolume pvc-1 could not be read: forbidden",)
    told = with_mount(Volume("es-0", type="xfs"), None, "pods/log is forbidden")
    (line,) = storage_evidence([with_claim(told, Provisioned(CLAIM, None, None, forbidden))])
    assert (line.class_name, line.capacity, line.provisioner, line.source) == ("fast", "1Gi", "", "")
    assert line.file_system == "xfs" and line.fill is None
    assert line.remarks == ["mount options in effect could not be read: pods/log is forbidden", *forbidden]
    (line,) = storage_evidence([with_claim(told, Provisioned(CLAIM, PV, None))])
    assert (line.provisioner, line.mount_options) == ("ebs.csi.aws.com", "noatime")  # those asked for


def test_sources() -> None:
    assert source({"hostPath": {"path": "/d", "type": "Directory"}, "capacity": {}}) == "hostPath /d"
    assert source({"nfs": {"server": "s", "path": "/x"}}) == "nfs /x s"
    nothing = {"capacity": {"storage": "1"}, "volumeMode": "Filesystem"}
    assert source(nothing) == source_kind(nothing) == ""
    assert source_kind({"nodeAffinity": {}, "local": {}, "capacity": {}}) == source({"local": {}}) == "local"
