"""Pictures of maps and of trained models."""
