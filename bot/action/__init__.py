"""The Action's side: its inputs, the runner's files and commands, and the versions that a pull request changes."""
