"""Where the copies of the shards were at the end of a race, and how much memory each node had for its data."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from fairlap.api.status import NodeCopies, NodeData
from fairlap.results.aggregate import total
from fairlap.results.remarks import RaceRemark
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.recorded.record import Node, Record, Shard


def placement_words(shards: Iterable[Shard], index: str) -> str:
    """Return where an index's copies were, for example "0p es-0, 0r es-1, 1p es-1, 1r UNASSIGNED"."""
    return ", ".join(
        f"{it.shard}{'p' if it.primary else 'r'} {it.node or it.state}{_unfinished(it)}"
        for it in shards
        if it.index == index
    )


def copies_per_node(copies: Iterable[Shard]) -> list[NodeCopies]:
    """Return how many nodes had how many of an index's copies, the fullest first, whatever the nodes' names.

    A copy counts for the node that it is on, whatever its state; one that is on none is not counted.
    """
    on_node: dict[str, list[bool]] = defaultdict(list)
    for it in copies:
        if it.node:
            on_node[it.node].append(it.primary)
    alike = Counter((sum(primary), len(primary) - sum(primary)) for primary in on_node.values())
    found = sorted(alike.items(), reverse=True)
    return [NodeCopies(nodes=nodes, primaries=primaries, replicas=replicas) for (primaries, replicas), nodes in found]


def _unfinished(shard: Shard) -> str:
    return f" {shard.state}" if shard.node and shard.state != "STARTED" else ""


def by_index(record: Record) -> dict[str, list[Shard]]:
    """Return the copies of each index, in their order."""
    found: dict[str, list[Shard]] = {}
    for shard in record.shards or ():
        found.setdefault(shard.index, []).append(shard)
    return found


def remarks(record: Record) -> Iterator[RaceRemark]:
    """Yield what a reader must know of the placement although it does not void the race."""
    nodes = len(record.environment.data_nodes)
    for index, copies in by_index(record).items():
        unassigned = [it for it in copies if it.state == "UNASSIGNED"]
        if unassigned:
            kind = "primary shard(s)" if any(it.primary for it in unassigned) else "replica(s)"
            why = ", ".join(sorted({it.why for it in unassigned if it.why}))
            text = f"index {index}: {len(unassigned)} {kind} unassigned at the end{f' ({why})' if why else ''}"
            yield RaceRemark(Reason.SHARDS_UNASSIGNED, text)
        homes = {it.node for it in copies if it.primary and it.node}
        if nodes > 1 and len(homes) == 1:
            primaries = sum(it.primary for it in copies)
            yield RaceRemark(
                Reason.PRIMARIES_ON_ONE_NODE,
                f"index {index}: {_all(primaries)} on {homes.pop()}, one of {nodes} nodes: the others did not index "
                "for it except as replicas",
            )


def _all(primaries: int) -> str:
    return "its only primary shard is" if primaries == 1 else f"all {primaries} primary shards are"


def node_data(record: Record, most: int) -> list[NodeData]:
    """Return memory, heap and data of the first `most` nodes.

    The ratio is (memory - heap) / data, what page cache there can be.
    """
    found = []
    by_node: dict[str | None, list[Shard]] = defaultdict(list)
    for it in record.shards or ():
        by_node[it.node].append(it)
    for node in record.environment.nodes[:most]:
        here = by_node[node.name]
        data = None if record.shards is None else total(it.store_bytes or 0 for it in here)
        memory = memory_of(node)
        beyond = memory - node.heap_bytes if memory and node.heap_bytes else None
        found.append(
            NodeData(
                node=node.name,
                memory_bytes=memory,
                heap_bytes=node.heap_bytes,
                primaries=None if record.shards is None else sum(it.primary for it in here),
                replicas=None if record.shards is None else sum(not it.primary for it in here),
                data_bytes=data,
                memory_to_data=round(beyond / data, 4) if beyond is not None and data else None,
            )
        )
    return found


def memory_of(node: Node) -> int | None:
    """Return the memory that a node may use: its container's limit, or the machine's memory where that is less."""
    known = [size for size in (node.memory_limit_bytes, node.memory_bytes) if size]
    return min(known) if known else None
