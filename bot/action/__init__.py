"""The Action's side: its inputs, the runner's files and commands, and what a pull request has bumped."""
