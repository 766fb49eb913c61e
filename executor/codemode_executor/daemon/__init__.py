"""The engine behind a WebSocket: ``codemode-executor serve``."""
