"""What the status says of the machines: what they did, and what held the data."""

from typing import Annotated

from fairlap.api.base import Answer, AtMost, Text


class SettingsEvidence(Answer):
    """How a machine was set up, by its kernel's files; an absent part is unknown, as most are on virtual machines."""

    governors: Annotated[list[Text], AtMost(10)] = []
    """What sets the clock of the processors (cpufreq), each once."""
    turbo: bool | None = None
    """Whether processors may run faster than their nominal clock."""
    smt_active: bool | None = None
    """Whether some cores run several threads at a time."""
    smt_control: Text | None = None
    """The kernel's switch for it: on, off, forceoff, notsupported or notimplemented."""
    whole_cores: bool | None = None
    """Whether the container had each core that it may use with all threads of it."""
    huge_pages: Text | None = None
    """When the kernel gives transparent huge pages: always, madvise or never."""
    huge_pages_defrag: Text | None = None
    """Who waits until memory is compacted for one: always, defer, defer+madvise, madvise or never."""
    numa_nodes: int | None = None
    """Number of NUMA nodes of the machine, whatever the container may use of them."""
    swap_bytes: int | None = None
    """Swap of the machine; 0 for none."""
    swappiness: int | None = None
    """The kernel's vm.swappiness."""


class MachineEvidence(Answer):
    """The machine that an Elasticsearch node, or the load generator, ran on; an empty part could not be had."""

    node: Text
    """Name of the node, or load generator."""
    machine: Text = ""
    """The machine's name in Kubernetes."""
    cpu_model: Text = ""
    """Model of its CPU."""
    processors: int | None = None
    """Number of its processors, as far as the container sees."""
    memory_bytes: int | None = None
    """Memory of the whole machine."""
    numa_nodes: int | None = None
    """Number of NUMA nodes whose memory the container may use."""
    kernel: Text = ""
    """Version of its kernel."""
    cpus: Text = ""
    """Processors that the container may use, as the kernel lists them."""
    cpu_numa_nodes: Text = ""
    """NUMA nodes that these processors are of, as the kernel lists them; remarked on where they are its own and of
    several nodes."""
    exclusive_cpus: bool | None = None
    """Whether these are the container's alone, as the kubelet's static CPU manager policy gives whole cores."""
    settings: SettingsEvidence | None = None
    """How it was set up where that decides how steady numbers are; absent where nothing told it."""


class StorageEvidence(Answer):
    """What really held the data of one Elasticsearch node; an empty part could not be had, or does not exist."""

    node: Text
    """Name of the node."""
    kind: Text = ""
    """volumeClaim or emptyDir."""
    claim: Text = ""
    """The PersistentVolumeClaim."""
    class_name: Text = ""
    """The claim's StorageClass."""
    provisioner: Text = ""
    """The class's provisioner."""
    parameters: Annotated[dict[str, Text], AtMost(50)] = {}
    """The class's parameters."""
    reclaim_policy: Text = ""
    """What happens to the volume without its claim."""
    binding_mode: Text = ""
    """When the class binds volumes."""
    persistent_volume: Text = ""
    """The PersistentVolume."""
    capacity: Text = ""
    """The volume's capacity as Kubernetes has it."""
    source: Text = ""
    """Kind of the volume's source, and what identifies it."""
    source_kind: Text = ""
    """The kind alone, for example csi: later races are compared by it."""
    file_system: Text = ""
    """Type of the file system, as the kernel mounted it (else as Elasticsearch sees it)."""
    device: Text = ""
    """What the file system is on."""
    mount_options: Text = ""
    """Mount options in effect when the node started (else those asked for)."""
    total_bytes: int | None = None
    """Size of the file system, as Elasticsearch sees it."""
    available_bytes: int | None = None
    """What Elasticsearch may still use of it at the end of the race."""
    fill: float | None = None
    """Share of it in use at the end of the race, by whatever (0 to 1)."""
    remarks: Annotated[list[Text], AtMost(10)] = []
    """What could not be found out, and why."""


class MachineUse(Answer):
    """What one Elasticsearch node, or the load generator, did during a race: medians over the valid races.

    An absent number could not be had. Each task's numbers are in resources.json.gz of the race's record.
    """

    name: Text
    """The node's name without that of the race, or load-generator."""
    role: Text
    """elasticsearch or load-generator."""
    races: int
    """Valid races with numbers of this machine."""
    sources: Annotated[list[Text], AtMost(5)] = []
    """Where the numbers come from: prometheus, nodeStats (Elasticsearch's own), cgroup (the pod's own)."""
    missing: Annotated[list[Text], AtMost(10)] = []
    """Groups of numbers that could not be had at all."""
    cpu_limit_cores: float | None = None
    """Cores that the container may use at most."""
    memory_limit_bytes: float | None = None
    """Memory that the container may use at most."""
    cpu_mean_cores: float | None = None
    """Mean CPU use from the first request to the last."""
    cpu_peak_cores: float | None = None
    """Highest CPU use between two samples."""
    throttled_periods: float | None = None
    """Scheduling periods in which the CPU limit held it back."""
    memory_peak_bytes: float | None = None
    """Most memory charged to the container, page cache included."""
    working_set_peak_bytes: float | None = None
    """Most memory without the page cache that can be dropped."""
    page_cache_mean_bytes: float | None = None
    """Mean page cache charged to the container."""
    minor_faults_per_minute: float | None = None
    """Page faults answered from memory."""
    major_faults_per_minute: float | None = None
    """Page faults that had to read the disk."""
    disk_read_bytes: float | None = None
    """Bytes read from block devices."""
    disk_reads: float | None = None
    """Read operations."""
    disk_write_bytes: float | None = None
    """Bytes written to block devices."""
    disk_writes: float | None = None
    """Write operations."""
    network_received_bytes: float | None = None
    """Bytes received."""
    network_sent_bytes: float | None = None
    """Bytes sent."""
    cpu_waiting_share: float | None = None
    """Share of the time in which something waited for CPU (PSI, 0 to 1)."""
    memory_waiting_share: float | None = None
    """Share of the time in which something waited for memory (PSI)."""
    io_waiting_share: float | None = None
    """Share of the time in which something waited for the disk (PSI)."""
    heap_peak_bytes: float | None = None
    """Most JVM heap in use."""
    young_gc_millis: float | None = None
    """Milliseconds in young collections."""
    old_gc_millis: float | None = None
    """Milliseconds in old collections."""
