"""Messages between the supervisor and its processes, and their framing."""
