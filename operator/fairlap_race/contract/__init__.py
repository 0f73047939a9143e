"""What the runner and the operator say to each other: the specification, the record, progress, and their words.

Beside these stands what both work out alike from them: whether all documents are there, which rate a search tries next,
which Rally speaks to an Elasticsearch. The operator may import all of it. Nothing here imports another room or needs a
library, and nobody is asked anything; only `secrets` reads files.
From outside: all of it.
"""
