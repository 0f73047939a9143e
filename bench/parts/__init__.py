"""What several of the scripts beside this folder need; import its modules, which import nothing of the scripts."""
