"""Mutation testing of the modules that soundness rests on; docs/mutation.md has the figures."""
