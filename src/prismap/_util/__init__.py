"""What every room may use and no room owns: checks, blocks, threads, seeds. Imports nothing of ours."""
