"""Issues of clusters: which are ours, what is planned from the state, and how the plan is carried out."""
