"""What each operator makes of its own models at its start, made before the operators are forked: they share it."""

from fairlap.api.crd import RESOURCES
from fairlap.runtime.objects.crd_check import own_schema

for each in RESOURCES:
    own_schema(each.kind)
