"""Ratios against a peer or a limit, measured in one process, interleaved."""
