"""How two variants are told apart by races: ratios within blocks, their noise, and what may be said of them.

Pure arithmetic on numbers, without a library: docs/decisions/statistics.md tells why, docs/statistics.md explains the
method. Knows nothing of Kubernetes, Rally or Elasticsearch.
May be imported by `results`, `comparison.noise`, `comparison.judging`, `comparison_report`,
`plan.comparison`, `runtime` and `cli`.
From outside: all but `distributions`.
"""
