"""Find, fetch and verify data sets; the bundled parts are beside."""
