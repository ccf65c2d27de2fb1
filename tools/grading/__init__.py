"""Grade the exercises of students' notebooks: `make grade`."""
