"""The verbs of the command line: each calls what does the work and prints. What is heavy is imported inside."""
