module fairlap.dev/localkube/pause

go 1.24.0
