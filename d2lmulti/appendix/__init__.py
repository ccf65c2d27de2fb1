"""The appendix: the parts of an engine that a student writes."""
