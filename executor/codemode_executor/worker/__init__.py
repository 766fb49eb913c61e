"""The worker process: its zygote, its loop, its isolates. Nothing here runs in the host."""
